// PyTorch as a peer: a Python program for each number of threads, kept over all cases.
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>

#include "cpu/case.h"

namespace tang::bench_cpu {

class Torch {
 public:
  // keep_memory: results of earlier calls are used again, as in a long run with a good allocator.
  // Otherwise glibc's defaults hold, and large results cost page faults in each call.
  Torch(std::string script, std::string folder, int threads, bool keep_memory)
      : script_(std::move(script)),
        folder_(std::move(folder)),
        threads_(threads),
        keep_memory_(keep_memory) {}
  ~Torch();
  Torch(const Torch&) = delete;
  Torch& operator=(const Torch&) = delete;

  // "PyTorch 1.13.0", with "(default malloc)" where memory is not kept. An error where
  // python3-torch is not installed.
  Outcome<std::string> version();
  // Makes `c` the program's case. The contender holds until the next one is made.
  Outcome<std::unique_ptr<Contender>> contender(const Case& c, const Inputs& inputs);
  // In f64, of the case that contender() made.
  Outcome<std::vector<double>> reference();

 private:
  friend class TorchContender;

  Outcome<void> start();
  Outcome<nlohmann::json> ask(const nlohmann::json& request);
  template <class T>
  Outcome<std::vector<T>> values(const std::string& what);

  std::string script_, folder_, version_;
  int threads_;
  bool keep_memory_;
  pid_t child_ = 0;
  int to_ = -1, from_ = -1;
  std::string pending_;
};

}  // namespace tang::bench_cpu
