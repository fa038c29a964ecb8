// The device every machine has: C, compiled by the system's compiler and opened with dlopen.
//
// E0901 (exit 3): no compiler. E0902 (exit 3): the compiler's output cannot be written or opened.
// E0999: the compiler refused what tang emitted, with its log. W0901: the cache directory is
// unusable.
#pragma once

#include <mutex>
#include <optional>

#include "run/compiler.h"
#include "run/device.h"
#include "run/threads.h"

namespace tang {

// Thread-safe.
class CDevice : public Device {
 public:
  std::string_view name() const override { return "c"; }

  Result<std::unique_ptr<Executable>> compile(const LoopProgram& program,
                                              const CompileOptions& options,
                                              Diagnostics& warnings) override;

  // Many programs in one translation unit: one run of the compiler.
  Result<std::vector<std::unique_ptr<Executable>>> compile_all(
      std::span<const LoopProgram* const> programs, const CompileOptions& options,
      Diagnostics& warnings);

 private:
  Result<std::shared_ptr<const Compiler>> compiler(const CompileOptions& options);
  std::shared_ptr<ThreadPool> pool(int threads);

  std::mutex mutex_;
  std::shared_ptr<const Compiler> compiler_;
  std::string compiler_key_;  // the options it was found with
  std::shared_ptr<ThreadPool> pool_;
  int pool_threads_ = 0;
};

}  // namespace tang
