#include "run/c_device.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/hash.h"
#include "emit/c_source.h"
#include "run/cache.h"

namespace tang {

namespace {

using RunFunction = int (*)(void* const*, const int64_t*, void*);
using KernelFunction = int (*)(int64_t, void* const*, const int64_t*);
using RunPartFunction = int (*)(void* const*, const int64_t*, void*, int64_t, int64_t,
                                void (*)(void*), void*);
using KernelPartFunction = int (*)(int64_t, void* const*, const int64_t*, int64_t, int64_t);
using WorkspaceFunction = size_t (*)(const int64_t*);

// An open shared object, closed with its last executable.
class Library {
 public:
  explicit Library(void* handle) : handle_(handle) {}
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class Function>
  Function find(const std::string& name) const {
    return reinterpret_cast<Function>(dlsym(handle_, name.c_str()));
  }

 private:
  void* handle_;
};

template <class Call>
double milliseconds(Call call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

class CExecutable : public Executable {
 public:
  // `pool`: who shares parallel kernels; null: nobody.
  CExecutable(LoopProgram program, std::shared_ptr<Library> library, const std::string& prefix,
              std::shared_ptr<ThreadPool> pool)
      : program_(std::move(program)),
        library_(std::move(library)),
        pool_(std::move(pool)),
        run_(library_->find<RunFunction>(prefix + "_run")),
        kernel_(library_->find<KernelFunction>(prefix + "_kernel")),
        workspace_(library_->find<WorkspaceFunction>(prefix + "_workspace")) {
    if (!program_.prepares.empty()) prepare_ = library_->find<RunFunction>(prefix + "_prepare");
    if (!pool_) return;
    run_part_ = library_->find<RunPartFunction>(prefix + "_run_part");
    kernel_part_ = library_->find<KernelPartFunction>(prefix + "_kernel_part");
  }

  bool complete() const {
    return run_ && kernel_ && workspace_ && (prepare_ || program_.prepares.empty());
  }
  const LoopProgram& program() const override { return program_; }

  Result<int64_t> workspace_bytes(std::span<const int64_t> symbols) const override {
    if (auto bad = check("symbols", symbols.size(), program_.symbols.size())) return *bad;
    const size_t bytes = workspace_(symbols.data());
    if (bytes == SIZE_MAX) return wrong_size(symbols);
    return static_cast<int64_t>(bytes);
  }

  Result<RunTimes> prepare(std::span<void* const> buffers, std::span<const int64_t> symbols,
                           void* workspace) const override {
    if (!prepare_) return RunTimes{};
    return timed(buffers, symbols,
                 [&] { return prepare_(buffers.data(), symbols.data(), workspace); });
  }

  Result<RunTimes> run(std::span<void* const> buffers, std::span<const int64_t> symbols,
                       void* workspace) const override {
    return timed(buffers, symbols,
                 [&] { return run_all(buffers.data(), symbols.data(), workspace); });
  }

  Result<double> run_kernel(size_t kernel, std::span<void* const> buffers,
                            std::span<const int64_t> symbols) const override {
    if (auto bad = check("symbols", symbols.size(), program_.symbols.size())) return *bad;
    if (auto bad = check("buffers", buffers.size(), program_.buffers.size())) return *bad;
    int status = 0;
    const double ms = milliseconds(
        [&] { status = run_one(static_cast<int64_t>(kernel), buffers.data(), symbols.data()); });
    if (status != 0) return wrong_size(symbols);
    return ms;
  }

 private:
  template <class Call>
  Result<RunTimes> timed(std::span<void* const> buffers, std::span<const int64_t> symbols,
                         Call call) const {
    if (auto bad = check("symbols", symbols.size(), program_.symbols.size())) return *bad;
    if (auto bad = check("buffers", buffers.size(), program_.arguments().size())) return *bad;
    int status = 0;
    RunTimes times;
    times.total_ms = milliseconds([&] { status = call(); });
    if (status != 0) return wrong_size(symbols);
    return times;
  }

  // Calls work(part, parts, barrier) on all threads. All parts give the same status.
  template <class Call>
  int together(Call call) const {
    struct Job {
      const Call& call;
      int status = 0;  // of part 0
    } job{call};
    pool_->run(
        [](void* context, int64_t part, int64_t parts, Barrier& barrier) {
          Job& j = *static_cast<Job*>(context);
          const int status = j.call(part, parts, barrier);
          if (part == 0) j.status = status;
        },
        &job);
    return job.status;
  }

  int run_all(void* const* buffers, const int64_t* symbols, void* workspace) const {
    if (!run_part_) return run_(buffers, symbols, workspace);
    return together([&](int64_t part, int64_t parts, Barrier& barrier) {
      const auto wait = [](void* context) { static_cast<Barrier*>(context)->wait(); };
      return run_part_(buffers, symbols, workspace, part, parts, wait, &barrier);
    });
  }

  int run_one(int64_t kernel, void* const* buffers, const int64_t* symbols) const {
    const bool shared = kernel_part_ && is_parallel(program_.kernels[static_cast<size_t>(kernel)]);
    if (!shared) return kernel_(kernel, buffers, symbols);
    return together([&](int64_t part, int64_t parts, Barrier&) {
      return kernel_part_(kernel, buffers, symbols, part, parts);
    });
  }

  static std::optional<tl::unexpected<Diagnostic>> check(std::string_view what, size_t given,
                                                         size_t wanted) {
    if (given == wanted) return std::nullopt;
    return error("E0701", fmt::format("the program takes {} {}, not {}", wanted, what, given));
  }

  tl::unexpected<Diagnostic> wrong_size(std::span<const int64_t> symbols) const {
    std::string text;
    for (size_t k = 0; k < symbols.size(); ++k) {
      text += fmt::format("{}{} = {}", k ? ", " : "", program_.symbols[k], symbols[k]);
    }
    return error("E0701", fmt::format("a size is negative or too large, or the workspace is "
                                      "missing, at {}",
                                      text.empty() ? "its sizes" : text));
  }

  LoopProgram program_;
  std::shared_ptr<Library> library_;
  std::shared_ptr<ThreadPool> pool_;
  RunFunction run_;
  KernelFunction kernel_;
  WorkspaceFunction workspace_;
  RunFunction prepare_ = nullptr;       // of a program that prepares something
  RunPartFunction run_part_ = nullptr;  // of a program with parallel kernels, if they are shared
  KernelPartFunction kernel_part_ = nullptr;
};

// Holds back SIGINT and SIGTERM while temporary files exist; they arrive when these are removed.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_;
};

// A directory of our own, removed with all in it.
class TempDir {
 public:
  explicit TempDir(const std::string& parent) : path_(parent + "/tang-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TempDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<std::shared_ptr<Library>> open_library(const std::string& file) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return error("E0902",
                 fmt::format("the compiled program cannot be opened: {}",
                             reason ? reason : "unknown reason"),
                 "set TMPDIR to a directory that allows execution", Exit::no_device);
  }
  return std::make_shared<Library>(handle);
}

Hash128 cache_key(const Compiler& compiler, const std::vector<std::string>& flags,
                  const std::string& source) {
  static const std::string processor = processor_key();
  Hasher hasher;
  hasher.add("tang-c-1").add(source).add(compiler.path).add(compiler.version).add(processor);
  for (const std::string& flag : flags) hasher.add(flag);
  return hasher.finish();
}

// Compiles in a directory of its own, stores the object in the cache if there is one, and opens it.
Result<std::shared_ptr<Library>> build(const Compiler& compiler, const std::string& source,
                                       const CompileOptions& options, const Hash128& key,
                                       Diagnostics& warnings) {
  const HeldSignals held;
  const TempDir dir(options.temp_dir);
  if (dir.path().empty()) {
    return error("E0902",
                 fmt::format("no temporary directory can be made in `{}`: {}", options.temp_dir,
                             std::strerror(errno)),
                 "set TMPDIR to a writable directory", Exit::no_device);
  }
  const std::string text = dir.path() + "/program.c", object = dir.path() + "/program.so";
  if (!write_new_file(text, source)) {
    return error("E0902", fmt::format("`{}` cannot be written: {}", text, std::strerror(errno)),
                 "free some space there, raise the file size limit, or set TMPDIR",
                 Exit::no_device);
  }
  auto compiled = compile_c(compiler, options.flags, text, object, options.path, dir.path());
  if (!compiled) return tl::unexpected(compiled.error());
  if (options.use_cache && !options.cache_dir.empty()) {
    const auto stored = ObjectCache(options.cache_dir).insert(key, object);
    if (stored) return open_library(*stored);
    warnings.push_back(stored.error());
  }
  return open_library(object);  // stays usable when the file is removed
}

}  // namespace

Result<std::shared_ptr<const Compiler>> CDevice::compiler(const CompileOptions& options) {
  const std::string key = options.cc + "\n" + options.path;
  const std::lock_guard lock(mutex_);
  if (!compiler_ || compiler_key_ != key) {
    auto found = find_compiler(options.cc, options.path, options.temp_dir);
    if (!found) return tl::unexpected(found.error());
    compiler_ = std::make_shared<const Compiler>(std::move(*found));
    compiler_key_ = key;
  }
  return compiler_;
}

// Executables of one number of threads share them.
std::shared_ptr<ThreadPool> CDevice::pool(int threads) {
  if (threads <= 1) return nullptr;
  const std::lock_guard lock(mutex_);
  if (!pool_ || pool_threads_ != threads) pool_ = std::make_shared<ThreadPool>(threads);
  pool_threads_ = threads;
  return pool_;
}

Result<std::vector<std::unique_ptr<Executable>>> CDevice::compile_all(
    std::span<const LoopProgram* const> programs, const CompileOptions& options,
    Diagnostics& warnings) {
  const auto prefix = [&](size_t k) {
    return programs.size() == 1 ? std::string("tang") : fmt::format("tang{}", k);
  };
  std::string source;
  for (size_t k = 0; k < programs.size(); ++k) {
    source +=
        c_source(*programs[k], {.kernel_entry = true, .prefix = prefix(k), .helpers = k == 0});
  }
  const auto cc = compiler(options);
  if (!cc) return tl::unexpected(cc.error());
  const Hash128 key = cache_key(**cc, options.flags, source);
  std::shared_ptr<Library> library;
  if (options.use_cache && !options.cache_dir.empty()) {
    if (const auto file = ObjectCache(options.cache_dir).find(key)) {
      if (auto opened = open_library(*file)) library = *opened;
    }
  }
  if (!library) {
    auto built = build(**cc, source, options, key, warnings);
    if (!built) return tl::unexpected(built.error());
    library = *built;
  }
  std::vector<std::unique_ptr<Executable>> result;
  for (size_t k = 0; k < programs.size(); ++k) {
    auto one =
        std::make_unique<CExecutable>(*programs[k], library, prefix(k), pool(options.threads));
    if (!one->complete()) {
      return error("E0902", "the compiled program lacks its entries", "clear the cache",
                   Exit::no_device);
    }
    result.push_back(std::move(one));
  }
  return result;
}

Result<std::unique_ptr<Executable>> CDevice::compile(const LoopProgram& program,
                                                     const CompileOptions& options,
                                                     Diagnostics& warnings) {
  const LoopProgram* const one[] = {&program};
  auto all = compile_all(one, options, warnings);
  if (!all) return tl::unexpected(all.error());
  return std::move(all->front());
}

}  // namespace tang
