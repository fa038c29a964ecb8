// Compiles a loop program with given flags and runs it on vectors.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "loop/builder.h"
#include "run/c_device.h"

namespace tang {

// What the emitted C must be right under: plain C11 without optimisation, GNU mode with all of it
// (no -ffp-contract: the source itself keeps gcc from contracting), and clang.
inline std::vector<CompileOptions> variants() {
  CompileOptions plain, fast, clang;
  plain.use_cache = fast.use_cache = clang.use_cache = false;
  plain.flags = {"-std=c11", "-O0"};
  fast.flags = {"-std=gnu11", "-O3", "-march=native"};
  clang.flags = {"-std=gnu11", "-O2", "-march=native"};
  clang.cc = "clang";
  std::vector<CompileOptions> list = {plain, fast};
  if (find_compiler("clang", clang.path, clang.temp_dir)) list.push_back(clang);
  return list;
}

inline std::unique_ptr<Executable> compile(const LoopProgram& program,
                                           const CompileOptions& options) {
  CDevice device;
  Diagnostics warnings;
  auto executable = device.compile(program, options, warnings);
  EXPECT_TRUE(executable) << (executable ? "" : executable.error().message);
  EXPECT_TRUE(warnings.empty());
  return executable ? std::move(*executable) : nullptr;
}

// Runs with a workspace of the right size, filled with 0xff.
inline Result<RunTimes> run(const Executable& executable, std::vector<void*> buffers,
                            std::vector<int64_t> symbols = {}) {
  const auto bytes = executable.workspace_bytes(symbols);
  if (!bytes) return tl::unexpected(bytes.error());
  const size_t size = (static_cast<size_t>(*bytes) + 63) / 64 * 64 + 64;
  const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(64, size), std::free);
  std::memset(memory.get(), 0xff, size);
  auto result = executable.run(buffers, symbols, memory.get());
  const auto* bytes_after = static_cast<unsigned char*>(memory.get());
  for (size_t k = static_cast<size_t>(*bytes); k < size; ++k) {
    EXPECT_EQ(bytes_after[k], 0xff) << "wrote past the workspace";
  }
  return result;
}

}  // namespace tang
