/* The C interface: rows of a matrix, every other column of which is not theirs, divided by their
 * norms. The result comes back as a tensor that the library made.
 *   norm [DEVICE] */
#include <math.h>
#include <stdio.h>

#include <tang/tang.h>

static const char* text =
    "param n\n"
    "dim i = n, j = 3\n"
    "input x[i, j]\n"
    "y[i, j] = x[i, j] / sqrt(sum[j](x[i, j] * x[i, j]))\n"
    "output y\n";

static int fail(tang_error* error) {
  const int code = tang_error_exit_code(error);
  fputs(tang_error_message(error), stderr);
  tang_error_free(error);
  return code;
}

int main(int count, char** words) {
  const tang_option options[] = {{"device", count > 1 ? words[1] : "best"}, {"param.n", "2"}};
  tang_program* program = NULL;
  tang_error* error = NULL;
  if (tang_compile(text, options, 2, &program, &error) != 0) return fail(error);

  float x[2][6] = {{3, 9, 4, 9, 0, 9}, {1, 9, 2, 9, 2, 9}};
  int64_t shape[] = {2, 3}, strides[] = {6, 2};
  DLManagedTensorVersioned in = {{1, 1}, NULL, NULL, TANG_DLPACK_READ_ONLY,
                                 {x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0}};
  DLManagedTensorVersioned* inputs[] = {&in};
  DLManagedTensorVersioned* outputs[] = {NULL};
  if (tang_program_run_managed(program, inputs, 1, outputs, 1, NULL, &error) != 0)
    return fail(error);

  const float* y = outputs[0]->dl_tensor.data;
  const float expected[] = {0.6f, 0.8f, 0, 1 / 3.0f, 2 / 3.0f, 2 / 3.0f};
  int right = 1;
  for (int k = 0; k < 6; ++k) right = right && fabsf(y[k] - expected[k]) <= 1e-6f;
  printf("norm on %s (tang %s): %s\n", tang_program_device(program), tang_version(),
         right ? "right" : "WRONG");
  outputs[0]->deleter(outputs[0]);
  tang_program_free(program);
  return right ? 0 : 1;
}
