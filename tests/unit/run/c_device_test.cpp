// The C device: cache, faults of the machine, single kernels, batches.
#include "run/c_device.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "emit/c_source.h"
#include "loop/builder.h"
#include "run/cache.h"

namespace tang {
namespace {

namespace fs = std::filesystem;
using loop::BufferId;
using loop::Builder;
using loop::Role;
using loop::Value;

class CDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "tang-run-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    fs::create_directories(dir_ + "/temp");
    options_.cache_dir = dir_ + "/cache";
    options_.temp_dir = dir_ + "/temp";
    options_.flags = {"-std=gnu11", "-O0"};
  }
  void TearDown() override { fs::remove_all(dir_); }

  // y = t + `add`, t = 2 x, with t in workspace.
  static LoopProgram program(double add) {
    Builder p;
    const BufferId x = p.buffer("x", Format::f32, 4, Role::input);
    const BufferId t = p.buffer("t", Format::f32, 4, Role::workspace);
    const BufferId y = p.buffer("y", Format::f32, 4, Role::output);
    for (int k = 0; k < 2; ++k) {
      p.begin_kernel(k ? "y" : "t");
      p.for_("i", p.integer(0), p.integer(4), [&](Value i) {
        if (k == 0) p.store(t, i, p.mul(p.load(x, i), p.f32(2)));
        if (k == 1) p.store(y, i, p.add(p.load(t, i), p.f32(add)));
      });
      p.end_kernel();
    }
    return *p.finish();
  }

  Result<std::unique_ptr<Executable>> compile(double add = 1) {
    warnings_.clear();
    CDevice device;
    return device.compile(program(add), options_, warnings_);
  }

  static void expect_runs(const Executable& executable, double add = 1) {
    float x[4] = {1, 2, 3, 4}, y[4] = {};
    alignas(64) std::byte workspace[256];
    void* buffers[] = {x, y};
    ASSERT_EQ(*executable.workspace_bytes({}), 64);
    ASSERT_TRUE(executable.run(buffers, {}, workspace));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(y[i], 2 * x[i] + static_cast<float>(add));
  }

  bool temp_is_empty() const { return fs::is_empty(options_.temp_dir); }

  std::string dir_;
  CompileOptions options_;
  Diagnostics warnings_;
};

TEST_F(CDeviceTest, CompilesRunsAndLeavesNothingBehind) {
  options_.use_cache = false;
  const auto executable = compile();
  ASSERT_TRUE(executable) << executable.error().message;
  expect_runs(**executable);
  EXPECT_TRUE(temp_is_empty());
  EXPECT_FALSE(fs::exists(options_.cache_dir));
}

TEST_F(CDeviceTest, RunsSingleKernels) {
  const auto executable = compile();
  ASSERT_TRUE(executable);
  float x[4] = {1, 2, 3, 4}, t[4] = {}, y[4] = {};
  void* buffers[] = {x, t, y};  // by BufferId
  ASSERT_TRUE((*executable)->run_kernel(0, buffers, {}));
  EXPECT_EQ(t[3], 8);
  EXPECT_EQ(y[3], 0);
  t[3] = 100;
  ASSERT_TRUE((*executable)->run_kernel(1, buffers, {}));
  EXPECT_EQ(y[3], 101);
  EXPECT_FALSE((*executable)->run_kernel(2, buffers, {}));
}

TEST_F(CDeviceTest, ResidentsAreTheCallersMemory) {
  const auto executable = compile();
  ASSERT_TRUE(executable);
  float x[4] = {1, 2, 3, 4}, y[4] = {};
  void* buffers[] = {x, y};
  auto resident = (*executable)->resident(buffers, {});
  ASSERT_TRUE(resident) << resident.error().message;
  const auto ms = (*resident)->run(3);
  ASSERT_TRUE(ms) << ms.error().message;
  ASSERT_TRUE((*resident)->download_outputs());
  EXPECT_EQ(y[3], 9);
  x[3] = 0;
  ASSERT_TRUE((*resident)->upload(0));
  ASSERT_TRUE((*resident)->run());
  ASSERT_TRUE((*resident)->download(1));
  EXPECT_EQ(y[3], 1);
  x[3] = 10;
  for (size_t kernel = 0; kernel < 2; ++kernel) {
    const auto one = (*resident)->run_kernel(kernel, 2);
    ASSERT_TRUE(one) << one.error().message;
  }
  EXPECT_EQ(y[3], 21);
}

TEST_F(CDeviceTest, BatchesShareOneCompilation) {
  const LoopProgram a = program(1), b = program(5), c = program(9);
  const LoopProgram* const all[] = {&a, &b, &c};
  CDevice device;
  const auto executables = device.compile_all(all, options_, warnings_);
  ASSERT_TRUE(executables) << executables.error().message;
  expect_runs(*(*executables)[0], 1);
  expect_runs(*(*executables)[1], 5);
  expect_runs(*(*executables)[2], 9);
  EXPECT_EQ(cache_info(options_.cache_dir).entries, 1);
}

TEST_F(CDeviceTest, CacheHitsNeedNoCompiler) {
  ASSERT_TRUE(compile());
  EXPECT_EQ(cache_info(options_.cache_dir).entries, 1);
  CDevice device;
  ASSERT_TRUE(device.compile(program(1), options_, warnings_));
  const auto inode = [&] {
    struct stat status = {};
    stat(fs::directory_iterator(options_.cache_dir)->path().c_str(), &status);
    return status.st_ino;
  };
  const ino_t written = inode();
  const auto executable = device.compile(program(1), options_, warnings_);
  ASSERT_TRUE(executable);
  expect_runs(**executable);
  EXPECT_EQ(inode(), written);
  ASSERT_TRUE(compile(2));
  EXPECT_EQ(cache_info(options_.cache_dir).entries, 2);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(CDeviceTest, DamagedEntriesAreMadeAnew) {
  ASSERT_TRUE(compile());
  const fs::path entry = fs::directory_iterator(options_.cache_dir)->path();
  const auto size = fs::file_size(entry);
  for (uintmax_t cut : {uintmax_t{0}, uintmax_t{10}, size / 2, size - 1}) {
    fs::resize_file(entry, cut);
    const auto executable = compile();
    ASSERT_TRUE(executable) << executable.error().message;
    expect_runs(**executable);
    EXPECT_EQ(fs::file_size(entry), size);
    EXPECT_TRUE(warnings_.empty());
  }
  std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size / 2));
  file.write("damage", 6);
  file.close();
  const auto executable = compile();
  ASSERT_TRUE(executable);
  expect_runs(**executable);
}

TEST_F(CDeviceTest, V38UnusableCacheWarnsOnceAndGoesOn) {
  const auto expect_warning = [&] {
    const auto executable = compile();
    ASSERT_TRUE(executable) << executable.error().message;
    expect_runs(**executable);
    ASSERT_EQ(warnings_.size(), 1u);
    EXPECT_EQ(warnings_[0].id, "W0901");
    EXPECT_NE(warnings_[0].message.find(options_.cache_dir), std::string::npos);
  };
  options_.cache_dir = dir_ + "/file/cache";
  std::ofstream(dir_ + "/file") << "not a directory";
  expect_warning();
  options_.cache_dir = "/proc/tang-cache";
  expect_warning();
  if (geteuid() == 0) return;  // root may write anywhere
  options_.cache_dir = dir_ + "/readonly";
  fs::create_directories(options_.cache_dir);
  fs::permissions(options_.cache_dir, fs::perms::owner_read | fs::perms::owner_exec);
  expect_warning();
}

// In a child with a file size limit (0: one that only the sealed copy exceeds): 0 if the program
// still runs with one warning, 3 if compiling was refused with E0902.
int compile_under_limit(const CompileOptions& options, const LoopProgram& program, rlim_t limit) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit size = {limit, limit};
    setrlimit(RLIMIT_FSIZE, &size);
    CDevice device;
    Diagnostics warnings;
    const auto executable = device.compile(program, options, warnings);
    if (!executable) _exit(executable.error().id == "E0902" ? 3 : 4);
    float x[4] = {1, 2, 3, 4}, y[4] = {};
    alignas(64) std::byte workspace[256];
    void* buffers[] = {x, y};
    const bool ran = (*executable)->run(buffers, {}, workspace) && y[3] == 9;
    _exit(ran && warnings.size() == 1 && warnings[0].id == "W0901" ? 0 : 5);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(CDeviceTest, V38FullCacheAndFileSizeLimit) {
  // Padding makes the object the largest of the files that are written.
  options_.flags = {"-std=gnu11", "-O0", "-Wl,-z,max-page-size=65536", "-Wl,-z,separate-code"};
  ASSERT_TRUE(compile());
  const auto sealed = fs::file_size(fs::directory_iterator(options_.cache_dir)->path());
  fs::remove_all(options_.cache_dir);
  EXPECT_EQ(compile_under_limit(options_, program(1), sealed - 1), 0);
  EXPECT_EQ(cache_info(options_.cache_dir).entries, 0);
  EXPECT_TRUE(fs::is_empty(options_.cache_dir));  // no partial file
  EXPECT_EQ(compile_under_limit(options_, program(1), 4096), 3);
  EXPECT_EQ(compile_under_limit(options_, program(1), 0), 3);
}

TEST_F(CDeviceTest, MissingCompiler) {
  options_.path = dir_;
  auto executable = compile();
  ASSERT_FALSE(executable);
  EXPECT_EQ(executable.error().id, "E0901");
  EXPECT_EQ(executable.error().exit, Exit::no_device);
  EXPECT_NE(executable.error().hint.find("install"), std::string::npos);
  options_ = CompileOptions{};
  options_.cc = "no-such-compiler";
  executable = compile();
  ASSERT_FALSE(executable);
  EXPECT_NE(executable.error().message.find("no-such-compiler"), std::string::npos);
}

TEST_F(CDeviceTest, FindsGccAndClangWithoutCc) {
  fs::create_directories(dir_ + "/bin");
  const CompileOptions usual;
  const auto gcc = find_compiler("gcc", usual.path, usual.temp_dir);
  if (!gcc) GTEST_SKIP() << "no gcc";
  fs::create_symlink(gcc->path, dir_ + "/bin/gcc");
  const auto found = find_compiler("", ":" + dir_ + ":" + dir_ + "/bin", usual.temp_dir);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, dir_ + "/bin/gcc");
}

TEST_F(CDeviceTest, MissingTempDirectory) {
  options_.temp_dir = dir_ + "/nowhere";
  const auto executable = compile();
  ASSERT_FALSE(executable);
  EXPECT_EQ(executable.error().exit, Exit::no_device);
  EXPECT_NE(executable.error().message.find("nowhere"), std::string::npos);
}

TEST_F(CDeviceTest, CompilerThatRefuses) {
  options_.flags = {"-std=gnu11", "-Dtang_size_mul=+"};
  const auto executable = compile();
  ASSERT_FALSE(executable);
  EXPECT_EQ(executable.error().id, "E0999");
  EXPECT_NE(executable.error().message.find("error"), std::string::npos);
  EXPECT_TRUE(temp_is_empty());
}

TEST_F(CDeviceTest, CacheInfoAndClear) {
  EXPECT_EQ(cache_info(options_.cache_dir).entries, 0);
  ASSERT_TRUE(compile(1));
  ASSERT_TRUE(compile(2));
  std::ofstream(options_.cache_dir + "/other.txt") << "mine";
  const CacheInfo info = cache_info(options_.cache_dir);
  EXPECT_EQ(info.entries, 2);
  EXPECT_GT(info.bytes, 1000);
  const CacheInfo gone = cache_clear(options_.cache_dir);
  EXPECT_EQ(gone.entries, 2);
  EXPECT_EQ(gone.bytes, info.bytes);
  EXPECT_EQ(cache_info(options_.cache_dir).entries, 0);
  EXPECT_TRUE(fs::exists(options_.cache_dir + "/other.txt"));
}

}  // namespace
}  // namespace tang
