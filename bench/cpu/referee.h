// One case from its text to a record.
#pragma once

#include "cpu/record.h"
#include "cpu/torch.h"

namespace tang::bench_cpu {

struct RefereeOptions {
  RaceOptions race;
  std::string torch_script;
  std::string folder;  // for files; ours
  int64_t latency_calls = 20000;
  bool torch_keeps_memory = true;
  bool cpu_time = false;  // of races with one thread, single calls excepted
};

class Referee {
 public:
  explicit Referee(RefereeOptions options) : options_(std::move(options)) {}

  // A record for each number of threads. More than one is gated only where the peer gains 1.4 over
  // one thread in the same run.
  std::vector<Record> run(const Case& c, const std::vector<int>& threads);

 private:
  struct Side {
    std::string name;
    std::unique_ptr<Contender> contender;
  };
  Torch& torch(int threads);
  std::vector<Side> peers(const Case& c, const Inputs& inputs, int threads, std::string& why_none);
  Outcome<std::vector<double>> reference(const Case& c, const Inputs& inputs, int threads,
                                         Contender& first);
  Outcome<void> run(const Case& c, Contender& tang, const Inputs& inputs, Record& r);

  RefereeOptions options_;
  std::map<int, std::unique_ptr<Torch>> torch_;
};

}  // namespace tang::bench_cpu
