// The command line as data. `parse` is the only place that knows CLI11; every command gets the same
// Options and looks at what concerns it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "expr/simplify.h"

namespace tang::cli {

struct Options {
  std::string command;
  std::string file;                // "-" is stdin
  std::vector<std::string> words;  // of help and cache

  std::map<std::string, int64_t> sizes;  // -D
  std::vector<std::string> devices;      // empty: TANG_DEVICE or the best present
  std::string target = "c";
  bool json = false;
  uint64_t seed = 0;
  std::optional<double> tol;
  MathMode math = MathMode::real;
  bool batch_invariant = false;
  bool deterministic = false;  // every kernel is: none adds atomically
  bool verbose = false, quiet = false, trace_rules = false, time_passes = false;
  std::vector<std::string> dump_after;
  std::string stop_after;

  std::vector<std::string> in, out, store, accumulate, replace;
  std::vector<std::string> constant;  // names of inputs
  bool naive = false, text = false, why_not = false, vs_naive = false, warm = false, vm = false;
  bool no_run = false;                // of report: no times
  int threads = 0;                    // 0: all processors for run and bench, otherwise 1
  double budget = 60;                 // of reduce, in seconds
  int runs = 0;                       // of bench and report; 0: as many as time allows
  std::string model, tokenizer;       // of generate
  std::optional<std::string> prompt;  // "-" is stdin
  std::optional<int64_t> steps;       // none: 128, or as many as the context has room for
  double temperature = 0;
  std::string dump_dir, output_dir, output_file, schedule_in, schedule_out, limits, coq;
};

struct Parsed {
  std::optional<Options> options;  // none: print `text` and leave
  std::string text;                // help or version, for stdout
  Diagnostics errors;
  bool json = false;  // --json was among the arguments
};

Parsed parse_arguments(const std::vector<std::string>& arguments);

// The options that say what is computed, as they stand on a command line: " -D seq=4 --store
// y=f16".
std::string program_arguments(const Options& o);
// Those that say on what and how: " --seed 0 --in q=q.npy --math ieee".
std::string input_arguments(const Options& o);

// What `tang help` and `tang help CMD` print; nullopt for an unknown command.
std::string general_help();
std::optional<std::string> command_help(const std::string& command);
// The same text as a manual page, tang(1).
std::string man_page();
const std::vector<std::string>& command_names();  // all, also those not built yet

// Commands of language.md section 2 that are not built yet.
bool is_planned(const std::string& command);

}  // namespace tang::cli
