// Every example's kernels through the compilers of the languages that groups of threads run. The
// devices of OpenCL, Vulkan and WebGPU run them too (tests/drivers/examples.sh); WGSL is compiled
// there alone.
#include "examples.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/nvrtc.h"
#include "run/ptxas_log.h"

namespace tang {
namespace {

// ---- CUDA ---------------------------------------------------------------------------------------

using Spills = std::map<std::string, int64_t>;  // bytes of "softmax derived y sm_80"

Spills allowed_spills() {
  Spills all;
  std::ifstream file("tests/unit/emission/spills.txt");
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.rfind(' ');
    if (line.empty() || line[0] == '#') continue;
    if (at == std::string::npos)
      ADD_FAILURE() << "spills.txt: " << line;
    else
      all[line.substr(0, at)] = std::stoll(line.substr(at + 1));
  }
  return all;
}

// What the assembler says of matrix units and registers, all of which cost speed, but for C7519: a
// fence that it put in.
void expect_no_advice(const std::string& kernel, const std::string& log) {
  static const std::regex code("C75[0-9][0-9]");
  for (std::sregex_iterator it(log.begin(), log.end(), code), end; it != end; ++it)
    EXPECT_EQ(it->str(), "C7519") << kernel << "\n" << log;
}

// Compiles what `done` does not hold yet.
void compile_cuda(const ExampleKernels& e, const std::string& architecture,
                  std::map<std::string, int64_t>& done, Spills& found) {
  std::vector<GpuFunction> fresh;
  for (const GpuFunction& f : e.source.functions)
    if (!done.contains(f.source)) fresh.push_back(f);
  const auto cubins = nvrtc_compile(fresh, architecture);
  ASSERT_TRUE(cubins) << e.name << ": " << cubins.error().message;
  for (size_t k = 0; k < fresh.size(); ++k) {
    const std::string kernel = fmt::format("{} {} {}", e.name, fresh[k].entry, architecture);
    const GpuModule::Usage& usage = (*cubins)[k].usage;
    EXPECT_GE(usage.spilled_bytes, 0) << kernel << ": the log says nothing of spills";
    expect_no_advice(kernel, (*cubins)[k].log);
    if (usage.spilled_bytes > 0) found[kernel] = usage.spilled_bytes;
    done[fresh[k].source] = usage.spilled_bytes;
  }
}

TEST(ExamplesCompile, cuda) {
  const auto known = nvrtc_architectures();
  if (!known) GTEST_SKIP() << known.error().message;
  if (std::ranges::find(*known, 100) == known->end())
    GTEST_SKIP() << "this NVRTC does not know sm_100";
  Spills found;
  for (const auto& [major, naive] : {std::pair{8, false}, {9, true}, {10, false}}) {
    Capability device = least(Dialect::cuda);
    device.machine = nvidia_machine(major, 0);
    std::map<std::string, int64_t> done;
    for (const ExampleKernels& e : example_kernels(device, naive))
      compile_cuda(e, nvidia_architecture(major, 0), done, found);
  }
  const Spills allowed = allowed_spills();
  for (const auto& [kernel, bytes] : found)
    EXPECT_TRUE(allowed.contains(kernel) && allowed.at(kernel) >= bytes)
        << "`" << kernel << "` spills " << bytes << " bytes";
  for (const auto& [kernel, bytes] : allowed)
    EXPECT_TRUE(found.contains(kernel))
        << "`" << kernel << "` spills no more: spills.txt is to say so (it has " << bytes << ")";
}

// ---- compilers of the command line --------------------------------------------------------------

bool has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

// Writes the kernels of the derived programs, equal sources once, and runs the command with each
// file's name in place of {}.
void expect_compiled(const std::vector<ExampleKernels>& all, const std::string& folder_name,
                     const std::string& command) {
  const std::string folder = testing::TempDir() + folder_name;
  std::filesystem::create_directories(folder);
  std::map<std::string, std::string> files;  // by source
  std::ofstream list(folder + "/list");
  for (const ExampleKernels& e : all)
    for (const GpuFunction& f : e.source.functions) {
      std::string file = fmt::format("{}/{}_{}", folder, e.name, f.entry);
      std::ranges::replace(file, ' ', '_');
      if (!files.emplace(f.source, file).second) continue;
      std::ofstream(file) << f.source;
      list << file << "\n";
    }
  list.close();
  EXPECT_GT(files.size(), 150U);
  const std::string log = folder + "/log";
  const std::string all_files =
      fmt::format("xargs -P 2 -I {{}} sh -c '{}' <{}/list >{} 2>&1", command, folder, log);
  if (std::system(all_files.c_str()) == 0) return;
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  ADD_FAILURE() << text.str().substr(0, 4000);
}

TEST(ExamplesCompile, glsl) {
  if (!has("glslangValidator") || !has("spirv-val"))
    GTEST_SKIP() << "there is no glslangValidator or spirv-val";
  expect_compiled(example_kernels(least(Dialect::glsl), true), "tang_examples_glsl",
                  "glslangValidator -V -S comp --target-env vulkan1.1 {} -o {}.spv && "
                  "spirv-val --target-env vulkan1.1 {}.spv");
}

TEST(ExamplesCompile, opencl) {
  if (!has("clang-14")) GTEST_SKIP() << "there is no clang-14";
  expect_compiled(example_kernels(least(Dialect::opencl), true), "tang_examples_opencl",
                  "clang-14 -x cl -cl-std=CL1.2 -target x86_64-linux-gnu -fsyntax-only "
                  "-Xclang -fdeclare-opencl-builtins -Xclang -finclude-default-header {}");
}

// ---- Metal --------------------------------------------------------------------------------------

// The arguments of an entry, one a string.
std::vector<std::string> arguments(const GpuFunction& f) {
  const std::string head = "kernel void " + f.entry + "(";
  const size_t from = f.source.find(head);
  if (from == std::string::npos) return {};
  const size_t first = from + head.size(), last = f.source.find(") {", first);
  std::stringstream text(f.source.substr(first, last - first));
  std::vector<std::string> all;
  for (std::string part; std::getline(text, part, ',');)
    all.push_back(part.substr(part.find_first_not_of(" \n")));
  return all;
}

// Buffers are numbered as gpu_source.h says, what is only read is const, and each of the launch's
// numbers is asked for once and by its attribute.
void expect_arguments(const LoopProgram& program, const loop::Kernel& kernel,
                      const GpuFunction& f) {
  const std::vector<loop::BufferId> buffers = bindings(program, kernel);
  std::vector<std::string> all = arguments(f);
  ASSERT_EQ(all.size(), buffers.size() + (f.symbols.empty() ? 3 : 4)) << f.source;
  for (size_t k = 0; k < buffers.size(); ++k) {
    const bool writes = std::ranges::any_of(
        kernel.writes, [&](loop::BufferId b) { return program.storage(b) == buffers[k]; });
    const std::regex pattern(
        fmt::format(R"({}device [a-z_]+\* \w+ \[\[buffer\({}\)\]\])", writes ? "" : "const ", k));
    EXPECT_TRUE(std::regex_match(all[k], pattern)) << all[k];
  }
  all.erase(all.begin(), all.begin() + static_cast<long>(buffers.size()));
  if (!f.symbols.empty()) {
    EXPECT_EQ(all[0], fmt::format("constant long* tang_sizes [[buffer({})]]", buffers.size()));
    all.erase(all.begin());
  }
  EXPECT_EQ(all, (std::vector<std::string>{
                     "uint tang_group [[threadgroup_position_in_grid]]",
                     "uint tang_groups [[threadgroups_per_grid]]",
                     "uint tang_thread [[thread_position_in_threadgroup]]",
                 }));
}

TEST(ExamplesCompile, msl) {
  const std::vector<ExampleKernels> all = example_kernels(least(Dialect::msl), true);
  for (const ExampleKernels& e : all) {
    SCOPED_TRACE(e.name);
    for (size_t k = 0; k < e.program.kernels.size(); ++k)
      expect_arguments(e.program, e.program.kernels[k], e.source.functions[e.source.kernels[k]]);
  }
  if (!has("clang-14")) GTEST_SKIP() << "there is no clang-14";
  expect_compiled(all, "tang_examples_msl",
                  "clang-14 -x cl -cl-std=clc++2021 -target x86_64-linux-gnu -fsyntax-only -Werror "
                  "-Wno-unknown-attributes -Wno-unknown-pragmas -Wno-unused "
                  "-I tests/unit/emit/msl {}");
}

}  // namespace
}  // namespace tang
