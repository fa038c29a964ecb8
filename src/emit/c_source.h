// C for a loop program: one file that stands alone (`cc -std=c11 -c`) and needs only libm.
//
// It exports
//     int tang_run(void *const *buffers, const int64_t *symbols, void *workspace);
//     size_t tang_workspace(const int64_t *symbols);
// buffers: inputs, then outputs, in program order, an `into` output repeating its input's pointer.
// tang_run gives 0, or 2 for a size that is negative or too large, or no workspace where one is
// needed; it allocates nothing and starts no threads. tang_workspace gives the bytes of `workspace`
// (best aligned to 64), SIZE_MAX for a wrong size. Of a program with parallel kernels it exports
//     int tang_run_part(void *const *buffers, const int64_t *symbols, void *workspace,
//                       int64_t part, int64_t parts, void (*barrier)(void *context),
//                       void *context);
// too: threads that call it with the parts 0 … parts - 1 of one run do together what tang_run does
// alone, to the same bits. Each calls `barrier` the same number of times; it returns when all have
// called it. Of a program that prepares something it exports
//     int tang_prepare(void *const *buffers, const int64_t *symbols, void *workspace);
// too, which takes what tang_run takes and fills the prepared buffers, which come last in
// `buffers`, once for all runs with these constants and symbols. Kernels that differ in names only
// (the layers of a model) are one function, called with each one's buffers.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "loop/program.h"

namespace tang {

struct CSourceOptions {
  // Also export `int tang_kernel(int64_t kernel, void *const *buffers, const int64_t *symbols)`,
  // which runs one kernel; buffers are all of the program's, workspace included, by BufferId. Of a
  // program with parallel kernels also `tang_kernel_part`, with `int64_t part, int64_t parts` last.
  bool kernel_entry = false;
  // Exported names begin with this: `tang_run`.
  std::string prefix = "tang";
  // The helpers the program needs. Several programs can share a file: the first with helpers, the
  // others without, each with its own prefix.
  bool helpers = true;
};

// The text is the same for the same program. The program must be verified.
std::string c_source(const LoopProgram& program, const CSourceOptions& options = {});

// The function of one kernel as it stands there; that of the first of kernels that are equal.
std::string c_kernel_source(const LoopProgram& program, size_t kernel);

// The header beside it: prototypes, and names for the places of buffers and symbols. `stem` is the
// name of the file without ".h"; the names begin with it.
std::string c_header(const LoopProgram& program, const std::string& stem);

// manifest.json of `tang emit` (language.md "Emission"): the buffers in argument order, the
// symbols, and the kernels with bindings, grid and limits. `file` is the source's name,
// `header` that of its header if there is one.
nlohmann::ordered_json manifest(const LoopProgram& program, const std::string& file,
                                const std::string& header = {});

// The same for the sources of groups, of which each function is a file.
struct GpuSource;
nlohmann::ordered_json manifest(const LoopProgram& program, const GpuSource& source,
                                const std::vector<std::string>& files);

}  // namespace tang
