#include "cpu/torch.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tang::bench_cpu {

class TorchContender : public Contender {
 public:
  explicit TorchContender(Torch& torch) : torch_(torch) {}

  Outcome<double> time(int64_t calls, ClockKind clock) override {
    auto reply = torch_.ask({{"do", "time"}, {"calls", calls}, {"cpu", clock == ClockKind::cpu}});
    if (!reply) return tl::unexpected(reply.error());
    return (*reply)["ms"].get<double>();
  }
  Outcome<std::vector<double>> samples(int64_t calls) override {
    auto reply = torch_.ask({{"do", "samples"}, {"calls", calls}});
    if (!reply) return tl::unexpected(reply.error());
    return (*reply)["ms"].get<std::vector<double>>();
  }
  Outcome<std::vector<float>> output() override { return torch_.values<float>("output"); }

 private:
  Torch& torch_;
};

Torch::~Torch() {
  if (child_ <= 0) return;
  close(to_);
  close(from_);
  waitpid(child_, nullptr, 0);
}

Outcome<void> Torch::start() {
  if (child_ > 0) return {};
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
    return tl::unexpected<std::string>("no pipe to python");
  std::signal(SIGPIPE, SIG_IGN);
  child_ = fork();
  if (child_ == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    const std::string threads = fmt::format("{}", threads_);
    for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"})
      setenv(name, threads.c_str(), 1);
    if (keep_memory_) {
      setenv("MALLOC_MMAP_MAX_", "0", 1);
      setenv("MALLOC_TRIM_THRESHOLD_", "1099511627776", 1);
    }
    // Debian's python3-torch belongs to the system's python.
    execl("/usr/bin/python3", "python3", script_.c_str(), nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  return child_ > 0 ? Outcome<void>{} : tl::unexpected<std::string>("python did not start");
}

Outcome<nlohmann::json> Torch::ask(const nlohmann::json& request) {
  if (auto ok = start(); !ok) return tl::unexpected(ok.error());
  const std::string line = request.dump() + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = write(to_, line.data() + done, line.size() - done);
    if (n <= 0) return tl::unexpected<std::string>("torch: the program ended");
    done += static_cast<size_t>(n);
  }
  size_t end;
  while ((end = pending_.find('\n')) == std::string::npos) {
    char block[65536];
    const ssize_t n = read(from_, block, sizeof block);
    if (n <= 0) return tl::unexpected<std::string>("torch: the program ended");
    pending_.append(block, static_cast<size_t>(n));
  }
  auto reply = nlohmann::json::parse(pending_.substr(0, end), nullptr, false);
  pending_.erase(0, end + 1);
  if (!reply.is_object()) return tl::unexpected<std::string>("torch: no JSON");
  if (reply.contains("error")) return tl::unexpected("torch: " + reply["error"].get<std::string>());
  return reply;
}

Outcome<std::string> Torch::version() {
  if (version_.empty()) {
    auto reply = ask({{"do", "version"}});
    if (!reply) return tl::unexpected(reply.error());
    version_ = "PyTorch " + (*reply)["version"].get<std::string>();
    if (!keep_memory_) version_ += " (default malloc)";
  }
  return version_;
}

Outcome<std::unique_ptr<Contender>> Torch::contender(const Case& c, const Inputs& inputs) {
  nlohmann::json list = nlohmann::json::array();
  for (const Input& input : inputs) {
    const std::string file = fmt::format("{}/{}.f32", folder_, input.name);
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(input.array.data.data()),
               static_cast<std::streamsize>(input.array.data.size()));
    list.push_back({{"name", input.name}, {"shape", input.array.shape}, {"file", file}});
  }
  auto reply =
      ask({{"do", "case"}, {"inputs", list}, {"setup", c.torch_setup}, {"expression", c.torch}});
  if (!reply) return tl::unexpected(reply.error());
  return std::make_unique<TorchContender>(*this);
}

template <class T>
Outcome<std::vector<T>> Torch::values(const std::string& what) {
  const std::string path = fmt::format("{}/{}", folder_, what);
  auto reply = ask({{"do", what}, {"file", path}});
  if (!reply) return tl::unexpected(reply.error());
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<T> all(static_cast<size_t>(std::max<std::streamoff>(file.tellg(), 0)) / sizeof(T));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(all.data()),
            static_cast<std::streamsize>(all.size() * sizeof(T)));
  if (!file) return tl::unexpected(fmt::format("torch: {} cannot be read", path));
  return all;
}

Outcome<std::vector<double>> Torch::reference() { return values<double>("reference"); }

}  // namespace tang::bench_cpu
