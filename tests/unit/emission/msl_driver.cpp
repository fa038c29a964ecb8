#include "msl_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"
#include "msl_threads.h"

namespace tang {

namespace {

constexpr int64_t guard_bytes = 256;
constexpr int guard_byte = 0xff;

class MslMemory : public GpuMemory {
 public:
  explicit MslMemory(int64_t bytes) : data(static_cast<size_t>(bytes)) {}
  std::vector<std::byte> data;
};

class MslModule : public GpuModule {
 public:
  struct Function {
    int64_t threads;
    msl::Entry entry;
    msl::SharedMemory shared;
  };
  MslModule(void* handle, std::vector<Function> of) : functions(std::move(of)), handle_(handle) {}
  MslModule(const MslModule&) = delete;
  MslModule& operator=(const MslModule&) = delete;
  ~MslModule() override { dlclose(handle_); }

  const std::vector<Function> functions;

 private:
  void* const handle_;
};

// A copy of a binding's bytes between guards.
class Guarded {
 public:
  explicit Guarded(const GpuBinding& b)
      : binding_(b),
        size_(static_cast<size_t>(b.bytes)),
        memory_(static_cast<std::byte*>(std::aligned_alloc(
                    256, (static_cast<size_t>(b.bytes + 2 * guard_bytes) + 255) / 256 * 256)),
                std::free) {
    std::memset(memory_.get(), guard_byte, size_ + 2 * guard_bytes);
    std::memcpy(data(), place(), size_);
  }
  std::byte* data() { return memory_.get() + guard_bytes; }
  void give_back() { std::memcpy(place(), data(), size_); }
  bool intact() {
    const auto is_guard = [](std::byte b) { return b == std::byte{guard_byte}; };
    return std::all_of(data() - guard_bytes, data(), is_guard) &&
           std::all_of(data() + size_, data() + size_ + guard_bytes, is_guard);
  }

 private:
  std::byte* place() const {
    return static_cast<MslMemory*>(binding_.memory)->data.data() + binding_.offset;
  }

  GpuBinding binding_;
  size_t size_;
  std::unique_ptr<std::byte, decltype(&std::free)> memory_;
};

class MslSequence : public GpuSequence {
 public:
  MslSequence(const MslModule& module, MslThreads& threads, std::span<const GpuLaunch> launches)
      : module_(module), threads_(threads), launches_(launches.begin(), launches.end()) {}

  Result<double> run(int64_t rounds) override {
    for (int64_t k = 0; k < rounds; ++k)
      for (const GpuLaunch& launch : launches_)
        if (auto ok = run_one(launch); !ok) return tl::unexpected(ok.error());
    return 0.0;
  }

 private:
  Result<void> run_one(const GpuLaunch& launch) {
    std::vector<Guarded> buffers;
    for (const GpuBinding& b : launch.bindings) buffers.emplace_back(b);
    std::vector<void*> pointers;
    for (Guarded& b : buffers) pointers.push_back(b.data());
    if (auto what = run_groups(launch, pointers); !what.empty())
      return error("E0912", fmt::format("kernel {}, {}", launch.kernel, what), "", Exit::no_device);
    for (size_t k = 0; k < buffers.size(); ++k) {
      if (!buffers[k].intact())
        return error("E0912", fmt::format("kernel {} writes past binding {}", launch.kernel, k), "",
                     Exit::no_device);
      buffers[k].give_back();
    }
    return {};
  }

  std::string run_groups(const GpuLaunch& launch, const std::vector<void*>& buffers) {
    const MslModule::Function& f = module_.functions[launch.function];
    const std::vector<long> sizes(launch.symbols.begin(), launch.symbols.end());
    unsigned char *begin = nullptr, *end = nullptr;
    f.shared(&begin, &end);
    for (int64_t g = 0; g < launch.groups; ++g) {
      std::fill(begin, end, guard_byte);
      const auto body = [&](unsigned thread) {
        f.entry(buffers.data(), sizes.data(), static_cast<unsigned>(g),
                static_cast<unsigned>(launch.groups), thread);
      };
      if (auto what = threads_.run_group(f.threads, body); !what.empty())
        return fmt::format("group {}, {}", g, what);
    }
    return {};
  }

  const MslModule& module_;
  MslThreads& threads_;
  std::vector<GpuLaunch> launches_;
};

// A group's arrays are static, in a section of their own; then what is called by the host.
std::string host_source(const GpuFunction& f, size_t number) {
  std::string text = fmt::format(
      "#define TANG_SHARED static __attribute__((section(\"tang_memory_{}\")))\n#line 1\n", number);
  static const std::regex array(R"(^( *(?:alignas\(16\) )?)threadgroup (?=\w+ \w+\[))");
  std::stringstream lines(f.source);
  size_t buffers = 0;
  for (std::string line; std::getline(lines, line);) {
    buffers +=
        line.find("device ") != std::string::npos && line.find("[[buffer(") != std::string::npos;
    text += std::regex_replace(line, array, "$1TANG_SHARED ") + "\n";
  }
  std::string arguments;
  for (size_t k = 0; k < buffers; ++k) arguments += fmt::format("tang_any{{tang_b[{}]}}, ", k);
  if (!f.symbols.empty()) arguments += "tang_s, ";
  text += fmt::format(
      "extern \"C\" {{\n"
      "__attribute__((weak, visibility(\"hidden\"))) extern unsigned char "
      "__start_tang_memory_{0}[], __stop_tang_memory_{0}[];\n"
      "void tang_shared_{0}(unsigned char** begin, unsigned char** end) {{\n"
      "  *begin = __start_tang_memory_{0};\n  *end = __stop_tang_memory_{0};\n}}\n"
      "void tang_entry_{0}(void* const* tang_b, const long* tang_s, uint tang_g, uint tang_n, "
      "uint tang_t) {{\n  ::{1}({2}tang_g, tang_n, tang_t);\n}}\n}}\n",
      number, f.entry, arguments);
  return text;
}

// The flags keep sums of products as they are written. A frame fits a fiber's stack.
constexpr std::string_view flags =
    "-std=c++20 -O1 -w -fPIC -ffp-contract=off -fno-strict-aliasing -fwrapv "
    "-fsanitize=alignment,bounds -Werror=frame-larger-than=131072";

class MslDriver : public GpuDriver {
 public:
  std::string_view name() const override { return "msl"; }
  const Capability& capability() const override { return capability_; }
  int64_t memory_bytes() const override { return 0; }

  Result<std::unique_ptr<GpuModule>> build(const GpuSource& source) override {
    static int count = 0;
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / fmt::format("tang_msl_{}_{}", getpid(), count++);
    std::filesystem::create_directories(folder);
    auto module = build_in(folder, source);
    std::filesystem::remove_all(folder);
    return module;
  }

  Result<std::unique_ptr<GpuMemory>> allocate(int64_t bytes) override {
    return std::make_unique<MslMemory>(bytes);
  }
  Result<void> write(GpuMemory& to, int64_t offset, std::span<const std::byte> from) override {
    std::memcpy(static_cast<MslMemory&>(to).data.data() + offset, from.data(), from.size());
    return {};
  }
  Result<void> read(const GpuMemory& from, int64_t offset, std::span<std::byte> to) override {
    std::memcpy(to.data(), static_cast<const MslMemory&>(from).data.data() + offset, to.size());
    return {};
  }
  Result<std::unique_ptr<GpuSequence>> record(const GpuModule& module,
                                              std::span<const GpuLaunch> launches) override {
    return std::make_unique<MslSequence>(static_cast<const MslModule&>(module), threads_, launches);
  }

 private:
  Result<std::unique_ptr<GpuModule>> build_in(const std::filesystem::path& folder,
                                              const GpuSource& source) {
    for (size_t k = 0; k < source.functions.size(); ++k)
      std::ofstream(folder / fmt::format("{}.cpp", k)) << host_source(source.functions[k], k);
    const std::string command = fmt::format(
        "(ls {0}/*.cpp | xargs -P 2 -I {{}} g++ {1} -I {2} -c {{}} -o {{}}.o && "
        "g++ -shared -o {0}/module.so {0}/*.o) >{0}/log 2>&1",
        folder.string(), flags, std::filesystem::absolute("tests/unit/emission/msl").string());
    if (std::system(command.c_str()) != 0)
      return error(
          "E0999",
          read_file((folder / "log").string(), 1 << 20).value_or("g++ failed").substr(0, 4000));
    void* handle = dlopen((folder / "module.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return error("E0999", dlerror());
    *static_cast<msl::Host*>(dlsym(handle, "tang_host")) = MslThreads::host();
    std::vector<MslModule::Function> functions;
    for (size_t k = 0; k < source.functions.size(); ++k) {
      const auto find = [&](const char* what) {
        return dlsym(handle, fmt::format("tang_{}_{}", what, k).c_str());
      };
      functions.push_back({source.functions[k].threads, reinterpret_cast<msl::Entry>(find("entry")),
                           reinterpret_cast<msl::SharedMemory>(find("shared"))});
    }
    return std::make_unique<MslModule>(handle, std::move(functions));
  }

  const Capability capability_ = least(Dialect::msl);
  MslThreads threads_;
};

}  // namespace

std::unique_ptr<GpuDriver> open_msl() { return std::make_unique<MslDriver>(); }

}  // namespace tang
