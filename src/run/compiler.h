// Finding and running the system's C compiler, without a shell.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace tang {

struct Compiler {
  std::string path;     // absolute
  std::string version;  // what --version prints
};

struct ProcessResult {
  int status = -1;     // exit status; 128 + signal if it was killed; -1 if it did not start
  std::string output;  // stdout and stderr
};

// Runs argv[0] with its arguments, no standard input, and PATH and TMPDIR as given.
ProcessResult run_process(const std::vector<std::string>& argv, const std::string& path,
                          const std::string& temp_dir);

// `cc` if given, otherwise the first of cc, gcc, clang in `path`. E0901 if there is none.
Result<Compiler> find_compiler(const std::string& cc, const std::string& path,
                               const std::string& temp_dir);

// Compiles `source` (a file) to the shared object `object`.
Result<bool> compile_c(const Compiler& compiler, const std::vector<std::string>& flags,
                       const std::string& source, const std::string& object,
                       const std::string& path, const std::string& temp_dir);

// What distinguishes this processor: its model and features.
std::string processor_key();

}  // namespace tang
