// fuzz_random_graphs [--seed N] [--count N] [--jobs N] [--verbose]
//
// Random programs, the same for the same seed: the naive program by the oracle, the derived program
// by the oracle, and both compiled to C must agree. A program that fails is shrunk and printed,
// with the command that repeats it. The histogram at the end says what the programs held and which
// rules fired.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fuzz/random_graphs/generator.h"
#include "fuzz/random_graphs/histogram.h"
#include "fuzz/random_graphs/pipeline.h"

namespace tang::fuzz {
namespace {

struct Options {
  uint64_t seed = 1;
  uint64_t count = 500;
  unsigned jobs = 0;  // 0: the machine's cores
  bool verbose = false;
  bool text = false;
};

constexpr int shrink_trials = 250;
constexpr size_t most_shrunk = 5;
constexpr uint64_t progress_step = 1000;  // programs between two lines about how far it is

struct Result {
  uint64_t seed = 0;
  Failure failure;
};

// What one thread did.
struct Worker {
  CDevice device;
  Histogram histogram;
  std::vector<Result> failures;
  uint64_t passed = 0;
  double prepare_s = 0, compile_s = 0, check_s = 0;
};

double since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void check_batch(Worker& w, std::vector<std::unique_ptr<Prepared>>& batch) {
  std::vector<const LoopProgram*> programs;
  for (const auto& p : batch) {
    programs.push_back(&p->naive.program());
    programs.push_back(&p->derived.program());
  }
  const auto begin = std::chrono::steady_clock::now();
  Diagnostics warnings;
  const auto made =
      w.device.compile_all(programs, compile_options(batch[0]->program.seed), warnings);
  w.compile_s += since(begin);
  const auto checking = std::chrono::steady_clock::now();
  for (size_t k = 0; k < batch.size(); ++k) {
    // A file that does not compile is taken apart to find the program at fault.
    const auto bad = made ? check_kernels(*batch[k], *(*made)[2 * k], *(*made)[2 * k + 1])
                          : check_alone(batch[k]->program, w.device);
    if (bad)
      w.failures.push_back({batch[k]->program.seed, *bad});
    else
      ++w.passed;
  }
  w.check_s += since(checking);
  batch.clear();
}

void run_batch(Worker& w, const Options& o, uint64_t first, uint64_t last) {
  std::vector<std::unique_ptr<Prepared>> batch;
  for (uint64_t seed = first; seed < last; ++seed) {
    const auto begin = std::chrono::steady_clock::now();
    const Program program = random_program(seed);
    if (o.verbose) fmt::print(stderr, "seed {}\n", seed);
    auto p = prepare(program);
    w.prepare_s += since(begin);
    if (!p) {
      w.failures.push_back({seed, p.error()});
    } else {
      w.histogram.add((*p)->derivation);
      batch.push_back(std::move(*p));
    }
  }
  if (!batch.empty()) check_batch(w, batch);
}

// Takes batches until none is left. `next` counts batches that are taken; they begin at multiples
// of their size, so that a program is compiled the same way wherever a run begins.
void work(Worker& w, const Options& o, std::atomic<uint64_t>& next) {
  const uint64_t end = o.seed + o.count;
  while (true) {
    const uint64_t begin = (o.seed / batch_size + next.fetch_add(1)) * batch_size;
    if (begin >= end) return;
    run_batch(w, o, std::max(begin, o.seed), std::min(end, begin + batch_size));
    if (begin > o.seed && begin % progress_step == 0)
      fmt::print(stderr, "{} of {}\n", begin - o.seed, o.count);
  }
}

void report(const Result& r, bool shrinking) {
  CDevice device;
  // A text that does not parse has to fail for the same reason: removing lines breaks others.
  const auto reason = [](const Failure& f) {
    const size_t at = f.stage.ends_with("parse") ? f.detail.find("error E") : std::string::npos;
    return f.stage + (at == std::string::npos ? "" : f.detail.substr(at, 11));
  };
  const auto fails = [&](const Program& p) {
    const auto bad = check_alone(p, device);
    return bad && reason(*bad) == reason(r.failure);
  };
  Program program = random_program(r.seed);
  if (shrinking) program = shrink(program, fails, shrink_trials);
  const auto seen = check_alone(program, device);
  fmt::print("FAILED seed {}: {}\n{}\n{}again: fuzz_random_graphs --seed {} --count 1\n\n", r.seed,
             r.failure.stage, seen ? seen->detail : r.failure.detail, program.text(), r.seed);
}

int run(const Options& o) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Worker> workers(o.jobs ? o.jobs : std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<uint64_t> next = 0;
  std::vector<std::thread> threads;
  for (Worker& w : workers) threads.emplace_back([&] { work(w, o, next); });
  for (std::thread& t : threads) t.join();
  Histogram histogram;
  std::vector<Result> failures;
  uint64_t passed = 0;
  for (Worker& w : workers) {
    histogram.merge(w.histogram);
    failures.insert(failures.end(), w.failures.begin(), w.failures.end());
    passed += w.passed;
    if (o.verbose)
      fmt::print("prepare {:.1f} s, compile {:.1f} s, check {:.1f} s\n", w.prepare_s, w.compile_s,
                 w.check_s);
  }
  std::sort(failures.begin(), failures.end(),
            [](const Result& a, const Result& b) { return a.seed < b.seed; });
  for (size_t k = 0; k < failures.size(); ++k) report(failures[k], k < most_shrunk);
  histogram.print();
  // A full run has to reach every rule.
  const std::vector<std::string> unused =
      o.count >= 500 ? histogram.unused_rules() : std::vector<std::string>{};
  if (!unused.empty()) fmt::print("never fired: {}\n", fmt::join(unused, ", "));
  fmt::print("seeds {}…{} in {:.1f} s: {} passed, {} failed\n", o.seed, o.seed + o.count - 1,
             since(begin), passed, failures.size());
  return failures.empty() && unused.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tang::fuzz

int main(int argc, char** argv) {
  tang::fuzz::Options o;
  CLI::App app{"Random programs: oracle, derivation and compiled C must agree"};
  app.add_option("--seed", o.seed, "the first program's seed");
  app.add_option("--count", o.count, "how many programs");
  app.add_option("--jobs", o.jobs, "threads; 0: as many as the machine has cores");
  app.add_flag("--verbose", o.verbose, "name each seed before it runs, and print times");
  app.add_flag("--text", o.text, "print the programs and do nothing else");
  CLI11_PARSE(app, argc, argv);
  if (o.text) {
    for (uint64_t k = 0; k < o.count; ++k)
      fmt::print("{}\n", tang::fuzz::random_program(o.seed + k).text());
    return 0;
  }
  return tang::fuzz::run(o);
}
