// Cases: a program, the peers that compute the same, and what is asked of the ratio.
#pragma once

#include <map>
#include <optional>

#include "cpu/contender.h"

namespace tang::bench_cpu {

struct Input {
  std::string name;
  Array array;
};
using Inputs = std::vector<Input>;  // in program order

inline const float* data(const Input& input) {
  return reinterpret_cast<const float*>(input.array.data.data());
}

// Shared by contenders that outlive the call which makes them: the inputs stay where they are.
struct Peer {
  std::string name;
  // Empty: not on this machine.
  std::function<Outcome<std::unique_ptr<Contender>>(const Inputs&, int threads)> make;
};

// What a case's bytes per second are held against, measured in the same rounds.
struct Yardstick {
  enum class Kind : uint8_t {
    none,
    copy,  // memcpy of `bytes`: twice that moved
    read,  // a sum over `bytes` that stay in the caches
  };
  Kind kind = Kind::none;
  int64_t bytes = 0;
  double moved = 0;  // bytes that a call of the case must move
};

struct Case {
  std::string suite, name;
  std::vector<std::string> constants;  // inputs that tang may pack before it is timed
  std::string program;                 // text; sizes are constants; the first output is compared
  std::vector<Peer> peers;
  // A peer and, in f64, the reference: an expression over the inputs' names, after statements that
  // run once. Empty: none.
  std::string torch, torch_setup;
  bool fastest = false;  // the ratio is to the fastest peer; otherwise to the first there is
  std::optional<double> gate;
  Yardstick yardstick;
  std::optional<double> fraction_gate;  // passes as well
  bool latency = false;                 // single calls: p50 and p99.9
  bool one_thread = false;              // more are not tried
  double tol = 1e-4;
  std::map<std::string, double> scales;  // of inputs, drawn as standard normals
  // The values to be had, where torch is not asked.
  std::function<Outcome<std::vector<double>>(const Inputs&)> reference;
  // In place of the compiled program: peers and tang as programs of their own.
  std::function<Outcome<std::unique_ptr<Contender>>()> tang;
};

struct SuiteOptions {
  std::string examples;                 // the folder of examples
  std::string tang;                     // the tang program
  std::string llama, model, tokenizer;  // llama2.c's `run` and what it reads; empty: no such case
};

std::vector<Case> sgemm_suite();
std::vector<Case> attention_suite();
std::vector<Case> rows_suite();
std::vector<Case> conv_suite();
std::vector<Case> policy_suite(const SuiteOptions& options);
std::vector<Case> llama_suite(const SuiteOptions& options);
std::vector<Case> sweep_suite();
std::vector<Case> all_cases(const SuiteOptions& options);

}  // namespace tang::bench_cpu
