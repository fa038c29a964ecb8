/* tang as a C library: programs from text, run on tensors of the caller.
 *
 *   tang_program* program = NULL;
 *   tang_error* error = NULL;
 *   if (tang_compile(text, NULL, 0, &program, &error) != 0) puts(tang_error_message(error));
 *   tang_program_run(program, inputs, 2, outputs, 1, NULL, &error);
 *   tang_program_free(program);
 *
 * Functions that can fail give 0, or the exit code that `tang` ends with (2 bad input, 3 no device
 * or driver, 4 a limit of the device, 5 out of memory) and, where `error` is not null, an error
 * that the caller frees. All functions are thread-safe, and one program runs in many threads at
 * once.
 *
 * Inputs are not written. An output that is declared `into` an input is computed in place where
 * both tensors are the same memory, and beside it otherwise.
 */
#ifndef TANG_TANG_H
#define TANG_TANG_H

#include <stddef.h>
#include <stdint.h>

#include "dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TANG_API __attribute__((visibility("default")))
#else
#define TANG_API
#endif

typedef struct tang_program tang_program;
typedef struct tang_error tang_error;

/* "0.1.0". */
TANG_API const char* tang_version(void);

/* ---- errors */

/* The message with its place in the text, and what to do; lives as long as the error. */
TANG_API const char* tang_error_message(const tang_error* error);
TANG_API const char* tang_error_id(const tang_error* error); /* "E0401"; `tang help E0401` */
TANG_API int tang_error_exit_code(const tang_error* error);
TANG_API void tang_error_free(tang_error* error); /* null is fine */

/* ---- programs */

/* Keys: device (c, cuda, opencl, vulkan, webgpu, or best: cuda where there is one, otherwise c),
 * threads, cache_dir, cc, path, temp_dir, webgpu_library, math (ieee, real, fast), and param.NAME,
 * the value of a param of the program. */
typedef struct {
  const char* key;
  const char* value;
} tang_option;

/* Compiles a program text. The program is freed by tang_program_free. */
TANG_API int tang_compile(const char* text, const tang_option* options, size_t option_count,
                          tang_program** program, tang_error** error);
TANG_API void tang_program_free(tang_program* program); /* null is fine */

/* What the program takes and gives, in its order; all pointers live as long as the program. */
typedef struct {
  const char* name;
  const char* format; /* "f32" */
  DLDataType type;    /* of its tensors */
  int32_t ndim;
  const int64_t* shape;
  const char* into; /* of an output: the input whose memory it may take, or null */
} tang_port;

TANG_API size_t tang_program_input_count(const tang_program* program);
TANG_API size_t tang_program_output_count(const tang_program* program);
/* Null where there is none of this number. */
TANG_API const tang_port* tang_program_input(const tang_program* program, size_t number);
TANG_API const tang_port* tang_program_output(const tang_program* program, size_t number);
TANG_API const char* tang_program_device(const tang_program* program);

/* Bytes of tang_run_options.workspace, and of inputs, outputs and workspace together. */
TANG_API int64_t tang_program_workspace_bytes(const tang_program* program);
TANG_API int64_t tang_program_peak_bytes(const tang_program* program);

/* ---- runs */

/* Zero what is not needed. */
typedef struct {
  void* stream;            /* of tensors on CUDA: a CUstream; null: the default stream */
  void* workspace;         /* on the device (needed there, aligned to 16) or the host (to 64) */
  int64_t workspace_bytes; /* that it has */
} tang_run_options;

/* Runs with all inputs and outputs, in the order of the program. With host tensors the outputs are
 * there afterwards. With tensors on CUDA kernels are put on the stream, which may be in capture,
 * and nothing is waited for: program, tensors and workspace live until they have run. */
TANG_API int tang_program_run(const tang_program* program, const DLTensor* const* inputs,
                              size_t input_count, const DLTensor* const* outputs,
                              size_t output_count, const tang_run_options* options,
                              tang_error** error);

/* The same with managed tensors, which stay the caller's; their read-only flags are honoured. An
 * output that is null is made, on the host, and is the caller's to delete. */
TANG_API int tang_program_run_managed(const tang_program* program,
                                      DLManagedTensorVersioned* const* inputs, size_t input_count,
                                      DLManagedTensorVersioned** outputs, size_t output_count,
                                      const tang_run_options* options, tang_error** error);

#ifdef __cplusplus
}
#endif

#endif /* TANG_TANG_H */
