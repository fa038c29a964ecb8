// tang-bench-cpu: tang's kernels beside their peers on this machine's processor.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cpu/referee.h"

namespace tang::bench_cpu {
namespace {

struct Options {
  SuiteOptions suites;
  RefereeOptions referee;
  std::vector<std::string> only;  // suites
  std::string part, out;
  std::vector<int> threads = {1, 2};
  bool list = false, print = false;
};

bool chosen(const Options& o, const Case& c) {
  const bool suite = o.only.empty() || std::count(o.only.begin(), o.only.end(), c.suite) > 0;
  return suite && c.name.find(o.part) != std::string::npos;
}

// A folder for a run's files, removed at its end. Memory where the system offers it.
class Scratch {
 public:
  Scratch() {
    std::error_code none;
    const bool memory = std::filesystem::is_directory("/dev/shm", none);
    path_ = std::string(memory ? "/dev/shm" : "/tmp") + "/tang-bench-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Scratch() {
    std::error_code none;
    if (!path_.empty()) std::filesystem::remove_all(path_, none);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int run(Options& o, const std::vector<Case>& cases) {
  const Scratch scratch;
  o.referee.folder = scratch.path();
  std::ofstream file;
  if (!o.out.empty()) file.open(o.out, std::ios::app);
  if (!o.out.empty() && !file) {
    std::cerr << "tang-bench-cpu: " << o.out << " cannot be written\n";
    return 2;
  }
  Referee referee(o.referee);
  std::vector<Record> all;
  for (const Case& c : cases)
    for (Record& r : referee.run(c, o.threads)) {
      const std::string line = to_json(r).dump();
      (o.out.empty() ? std::cout : file) << line << std::endl;
      std::cerr << fmt::format("{} {} threads {}: {}\n", r.suite, r.name, r.threads,
                               r.failure.empty() ? fmt::format("{:.3f}", r.ratio()) : r.failure);
      all.push_back(std::move(r));
    }
  std::cerr << table_of(all);
  const auto wrong = [](const Record& r) { return !r.ok(); };
  return std::any_of(all.begin(), all.end(), wrong) ? 1 : 0;
}

int main_of(int argc, char** argv) {
  Options o;
  const std::string here = std::filesystem::path(argv[0]).parent_path().string();
  o.suites.examples = TANG_BENCH_SOURCE "/examples";
  o.suites.tang = (here.empty() ? "." : here) + "/tang";
  o.referee.torch_script = TANG_BENCH_SOURCE "/bench/cpu/torch_peer.py";
  CLI::App app("tang's kernels beside their peers: one JSON line a case, then a table on stderr");
  app.add_option("--suite", o.only, "sgemm attention rows conv2d policy llama sweep (all)")
      ->delimiter(',');
  app.add_option("--case", o.part, "part of a case's name");
  app.add_option("--threads", o.threads, "numbers of threads, 1 first (1,2)")->delimiter(',');
  app.add_option("--rounds", o.referee.race.rounds, "turns of each side (9)");
  app.add_option("--round-ms", o.referee.race.round_ms, "length of a turn, at least (20)");
  app.add_option("--limit", o.referee.race.limit_s, "seconds for a race, after 3 rounds (30)");
  app.add_flag("--cpu-time", o.referee.cpu_time,
               "one thread: count its processor time, for a machine that others use");
  app.add_flag("!--default-malloc", o.referee.torch_keeps_memory,
               "torch as it comes: page faults in each call that makes large results");
  app.add_option("--out", o.out, "append the lines to this file, not stdout");
  app.add_option("--llama", o.suites.llama, "llama2.c's run, for the suite llama");
  app.add_option("--model", o.suites.model, "stories260K.bin");
  app.add_option("--tokenizer", o.suites.tokenizer, "tok512.bin");
  app.add_option("--tang", o.suites.tang, "the tang program (beside this one)");
  app.add_flag("--list", o.list, "names of the cases");
  app.add_flag("--print", o.print, "the programs of the cases");
  CLI11_PARSE(app, argc, argv);
  std::vector<Case> cases;
  for (Case& c : all_cases(o.suites))
    if (chosen(o, c)) cases.push_back(std::move(c));
  if (!o.list && !o.print) return run(o, cases);
  for (const Case& c : cases) {
    fmt::print("{}{} {}\n", o.print ? "# " : "", c.suite, c.name);
    if (o.print) fmt::print("{}\n", c.program);
  }
  return 0;
}

}  // namespace
}  // namespace tang::bench_cpu

int main(int argc, char** argv) { return tang::bench_cpu::main_of(argc, argv); }
