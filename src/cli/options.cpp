#include "cli/options.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/version.h"
#include "ir/bind.h"

namespace tang::cli {

namespace {

struct Command {
  const char* name;
  const char* summary;
  const char* example;
  bool file = true;
  bool planned = false;
  const char* details = "";  // below the options
};

constexpr const char* cache_details =
    "Actions:\n"
    "  info         where they lie, how many, how large (the default)\n"
    "  clear        remove them all\n"
    "  prune        remove damaged ones, those not used for 30 days, then the longest unused "
    "until\n"
    "               256 MiB are left\n"
    "  export FILE  all of them as one file with checksums\n"
    "  import FILE  add those of such a file, all or (if it is damaged) none. They are machine "
    "code\n"
    "               that tang will run: import only what you trust. They serve the same compiler "
    "on\n"
    "               the same kind of processor; on others they are not found, and do no harm.\n";

const std::vector<Command>& commands() {
  static const std::vector<Command> list = {
      {"derive", "run the pipeline and print the derivation: each rewrite, its law, the kernels",
       "tang derive examples/attention.tang -D seq=4096"},
      {"run", "execute on a device; prints a line for each output",
       "tang run examples/attention.tang -D seq=512 --in q=q.npy --out o=o.npy"},
      {"check", "run naive and derived programs and compare each kernel with the f64 oracle",
       "tang check examples/attention.tang -D seq=512 --device c"},
      {"emit", "write kernel sources and a manifest; needs no device",
       "tang emit examples/attention.tang -o out"},
      {"bench", "time each kernel and the whole program",
       "tang bench examples/attention.tang -D seq=1024 --vs-naive"},
      {"report",
       "one page to read in a browser: graphs before and after, the derivation, kernels, times and "
       "memory",
       "tang report examples/attention.tang -D seq=512 -o report.html"},
      {"reduce",
       "shrink a program that fails check to a small one that fails in the same way, printed to "
       "stdout with its params bound; what was found goes to stderr. Exit 2 if it passes check",
       "tang reduce examples/attention.tang -D seq=16 --replace o=wrong.loop > small.tang"},
      {"generate",
       "text from a model: a llama2.c checkpoint. The continuation goes to stdout as it is made, "
       "statistics to stderr",
       "tang generate --model stories.bin --tokenizer tok.bin --prompt \"Once upon a time\"",
       false},
      {"rules", "list the rewrite rules: rule, law, theorem, test", "tang rules --json", false},
      {"devices", "what is here, with limits", "tang devices --json", false},
      {"cache", "the compiled programs kept between runs", "tang cache export programs.tangcache",
       false, false, cache_details},
      {"help", "explain a command, or an error by its id", "tang help E0402", false},
      {"tune", "measure candidate schedules and keep the best", "", true, true},
      {"bound", "the traffic bound and the optimal tile", "", true, true},
      {"grad", "print the gradient graph", "", true, true},
  };
  return list;
}

const Command* find_command(const std::string& name) {
  for (const Command& c : commands())
    if (name == c.name) return &c;
  return nullptr;
}

Diagnostic usage(std::string message, std::string hint) {
  return error("E0801", std::move(message), std::move(hint)).value();
}

// Options whose text needs a second look, with what CLI11 put in them.
struct Raw {
  std::vector<std::string> sizes, constant;
  std::string device, seed, tol, math = "real", runs, steps, temperature, budget, threads;
};

CLI::Option* list(CLI::App* app, const std::string& name, std::vector<std::string>& into,
                  const std::string& help, const char* type) {
  return app->add_option(name, into, help)->type_name(type)->type_size(1)->allow_extra_args(false);
}

void add_common(CLI::App* app, Options& o, Raw& raw) {
  list(app, "-D", raw.sizes, "value of a param (repeat)", "NAME=INT");
  app->add_option("--device", raw.device,
                  "c, cuda, opencl, vulkan, webgpu, oracle; check takes a list or all")
      ->type_name("NAME");
  app->add_option("--target", o.target, "language of the kernels: c, cuda, opencl, glsl, wgsl, msl")
      ->type_name("NAME");
  app->add_flag("--json", o.json, "data as JSON on stdout, logs on stderr");
  app->add_option("--threads", raw.threads,
                  "threads that share a kernel; the result has the same bits for any number\n"
                  "(run, bench: one a processor; otherwise 1)")
      ->type_name("N");
  app->add_option("--seed", raw.seed, "of inputs that are not given (0)")->type_name("N");
  app->add_option("--tol", raw.tol, "max abs error / max abs reference; default by output format")
      ->type_name("X");
  app->add_option("--math", raw.math, "ieee, real or fast (real)")->type_name("MODE");
  app->add_flag("--batch-invariant", o.batch_invariant,
                "a row has the same bits in every batch: plans do not follow from extents that\n"
                "nothing sums over (--json names the kernels that vary without it)");
  app->add_flag("--deterministic", o.deterministic,
                "the same bits in every run, as there are without it: no kernel adds atomically");
  app->add_flag("-v,--verbose", o.verbose, "say what is done");
  app->add_flag("-q,--quiet", o.quiet, "no warnings and logs");
  app->add_flag("--trace-rules", o.trace_rules, "print each rewrite as it fires");
  list(app, "--dump-after", o.dump_after, "print the program after a pass (repeat)", "PASS");
  app->add_option("--stop-after", o.stop_after, "stop after a pass")->type_name("PASS");
  app->add_flag("--time-passes", o.time_passes, "print the time of each pass");
}

void add_program(CLI::App* app, Options& o, Raw& raw) {
  app->add_option("FILE", o.file, "a program; - is stdin")->required()->type_name("");
  list(app, "--in", o.in, "an input from a file (repeat)", "[NAME=]FILE[:MEMBER]");
  list(app, "--constant", raw.constant,
       "inputs that are the same in every run: what is packed of them is packed once (repeat)",
       "NAME[,NAME...]");
  list(app, "--store", o.store, "storage format of a definition", "NAME=FORMAT");
  list(app, "--accumulate", o.accumulate, "accumulator format of a definition", "NAME=FORMAT");
  app->add_option("--schedule", o.schedule_in, "pin fields of the schedule")->type_name("FILE");
  app->add_option("--schedule-out", o.schedule_out, "write the schedule")->type_name("FILE");
}

void add_command_options(const std::string& name, CLI::App* app, Options& o, Raw& raw) {
  if (name == "derive") {
    app->add_flag("--naive", o.naive, "stop before rewriting");
    app->add_flag("--text", o.text, "print only the resulting program");
    app->add_option("--dump", o.dump_dir, "write every stage into a directory")->type_name("DIR");
    app->add_flag("--why-not", o.why_not, "rules that nearly applied, and the failed condition");
    app->add_option("--coq", o.coq, "export the instances used")->type_name("FILE");
  } else if (name == "run") {
    app->add_flag("--naive", o.naive, "the program as written");
    list(app, "--out", o.out, "an output to a file (repeat)", "[NAME=]FILE");
  } else if (name == "check") {
    list(app, "--replace", o.replace, "put a loop program in a derived kernel's place",
         "KERNEL=FILE");
    app->add_flag("--vm", o.vm, "run kernels on the virtual machine");
  } else if (name == "reduce") {
    list(app, "--replace", o.replace, "put a loop program in a derived kernel's place",
         "KERNEL=FILE");
    app->add_option("--budget", raw.budget, "time to search, in seconds (60) or as in 5m")
        ->type_name("TIME");
  } else if (name == "emit") {
    app->add_flag("--naive", o.naive, "the program as written");
    app->add_option("-o", o.output_dir, "directory to write into (required)")->type_name("DIR");
    app->add_option("--limits", o.limits, "limits of a device that is absent")->type_name("FILE");
  } else if (name == "bench") {
    app->add_flag("--vs-naive", o.vs_naive, "also time the program as written");
    app->add_flag("--warm", o.warm, "the same buffers in every run (default: rotated)");
    app->add_option("--runs", raw.runs, "number of timed runs")->type_name("N");
  } else if (name == "report") {
    app->add_option("-o", o.output_file, "page to write (required)")->type_name("FILE");
    app->add_flag("--no-run", o.no_run, "leave out the times; params may stay without a value");
    app->add_flag("--warm", o.warm, "the same buffers in every run (default: rotated)");
    app->add_option("--runs", raw.runs, "number of timed runs")->type_name("N");
  } else if (name == "generate") {
    app->add_option("--model", o.model, "a llama2.c checkpoint")->required()->type_name("FILE");
    app->add_option("--tokenizer", o.tokenizer, "its tokenizer")->type_name("FILE");
    app->add_option("--prompt", o.prompt, "the text to continue; - is stdin")->type_name("TEXT");
    app->add_option("--steps", raw.steps, "most new tokens (128)")->type_name("N");
    app->add_option("--temp", raw.temperature, "temperature of sampling (0: the likeliest token)")
        ->type_name("X");
    app->add_flag("--naive", o.naive, "the program as written");
  }
}

struct Parser {
  CLI::App app{"tang derives fast, verified kernels from tensor formulas", "tang"};
  Options options;
  Raw raw;
  bool version = false;

  Parser() {
    app.add_flag("--version", version, "version, commit and licence");
    app.require_subcommand(0, 1);
    app.set_help_flag("-h,--help", "this text");
    for (const Command& c : commands()) {
      CLI::App* sub = app.add_subcommand(
          c.name, std::string(c.summary) + (c.planned ? " (not built yet)" : ""));
      sub->set_help_flag("-h,--help", "this text");
      if (c.planned) {
        sub->allow_extras();
        sub->add_flag("--json", options.json, "data as JSON on stdout");
        continue;
      }
      if (*c.example)
        sub->footer(
            fmt::format("{}{}Example:\n  {}\n", c.details, *c.details ? "\n" : "", c.example));
      if (c.file) add_program(sub, options, raw);
      add_command_options(c.name, sub, options, raw);
      if (std::string(c.name) == "help") {
        sub->add_option("TOPIC", options.words, "a command or an error id")->type_name("");
        sub->add_flag("--json", options.json, "data as JSON on stdout");
      } else if (std::string(c.name) == "cache") {
        sub->add_option("ACTION", options.words, "info, clear, prune, export FILE or import FILE")
            ->type_name("");
        add_common(sub, options, raw);
      } else {
        add_common(sub, options, raw);
      }
      sub->add_flag("--version", version, "version, commit and licence");
    }
  }
};

template <class Number>
bool read_number(const std::string& text, Number& into) {
  const char* end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, into);
  return failed == std::errc() && rest == end && !text.empty();
}

bool is_name(const std::string& text) {
  const auto letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
  };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || std::isdigit(static_cast<unsigned char>(c));
  });
}

void read_sizes(const Raw& raw, Options& o, Diagnostics& errors) {
  for (const std::string& text : raw.sizes) {
    const size_t at = text.find('=');
    const std::string name = text.substr(0, at);
    int64_t value = 0;
    if (at == std::string::npos || !is_name(name) || !read_number(text.substr(at + 1), value)) {
      errors.push_back(usage(fmt::format("-D {}: this is not NAME=INT", text),
                             "write a param and a 64-bit integer, as in -D seq=512"));
    } else if (const auto [it, fresh] = o.sizes.emplace(name, value);
               !fresh && it->second != value) {
      errors.push_back(
          error("E0711", fmt::format("-D {0}={1} and -D {0}={2} disagree", name, it->second, value),
                "give one value")
              .value());
    }
  }
}

void read_generation(const Raw& raw, Options& o, Diagnostics& errors) {
  if (!raw.steps.empty()) {
    int64_t steps = 0;
    if (read_number(raw.steps, steps) && steps >= 0 && steps <= INT32_MAX)
      o.steps = steps;
    else
      errors.push_back(
          usage(fmt::format("--steps {}: this is not a number of tokens", raw.steps), ""));
  }
  if (!raw.temperature.empty() && (!read_number(raw.temperature, o.temperature) ||
                                   !(o.temperature >= 0) || o.temperature > 1e6))
    errors.push_back(
        usage(fmt::format("--temp {}: this is not a number from 0 to 1e6", raw.temperature), ""));
}

// "60", "60s", "5m".
void read_budget(const Raw& raw, Options& o, Diagnostics& errors) {
  if (raw.budget.empty()) return;
  std::string text = raw.budget;
  const double unit = text.ends_with('m') ? 60 : 1;
  if (text.ends_with('m') || text.ends_with('s')) text.pop_back();
  double value = 0;
  if (read_number(text, value) && value > 0 && value * unit <= 1e6)
    o.budget = value * unit;
  else
    errors.push_back(usage(fmt::format("--budget {}: this is not a time", raw.budget),
                           "write seconds or minutes, as in --budget 60s"));
}

void add_parts(const std::string& text, std::vector<std::string>& to) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    to.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

void read_values(const Raw& raw, Options& o, Diagnostics& errors) {
  read_sizes(raw, o, errors);
  add_parts(raw.device, o.devices);
  for (const std::string& names : raw.constant) add_parts(names, o.constant);
  if (!raw.seed.empty() && !read_number(raw.seed, o.seed))
    errors.push_back(
        usage(fmt::format("--seed {}: this is not a number from 0 to 2^64-1", raw.seed), ""));
  if (!raw.tol.empty()) {
    double tol = 0;
    if (read_number(raw.tol, tol) && tol >= 0 && tol < 1e300)
      o.tol = tol;
    else
      errors.push_back(usage(fmt::format("--tol {}: this is not a number from 0 on", raw.tol), ""));
  }
  read_generation(raw, o, errors);
  read_budget(raw, o, errors);
  if (!raw.runs.empty() && (!read_number(raw.runs, o.runs) || o.runs < 1 || o.runs > 1'000'000))
    errors.push_back(
        usage(fmt::format("--runs {}: this is not a number from 1 to 1000000", raw.runs), ""));
  if (!raw.threads.empty() &&
      (!read_number(raw.threads, o.threads) || o.threads < 1 || o.threads > 1024))
    errors.push_back(
        usage(fmt::format("--threads {}: this is not a number from 1 to 1024", raw.threads), ""));
  if (raw.math == "ieee")
    o.math = MathMode::ieee;
  else if (raw.math == "fast")
    o.math = MathMode::fast;
  else if (raw.math != "real")
    errors.push_back(usage(fmt::format("--math {}: there is no such mode", raw.math),
                           "the modes are ieee, real and fast"));
}

std::string version_text() {
  return fmt::format("tang {} ({})\nback ends: c, oracle\nlicence: MIT\n", version, version_commit);
}

// What to do about an error CLI11 found in the arguments.
std::string hint_for(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const std::string& a : arguments) {
    if (a.size() < 2 || a[0] != '-') continue;
    const std::string name = a.substr(0, a.find('='));
    std::vector<std::string> names;
    bool found = false;
    for (const CLI::Option* o : app.get_options()) {
      for (const std::string& l : o->get_lnames()) names.push_back("--" + l);
      for (const std::string& s : o->get_snames()) found |= name.starts_with("-" + s);
    }
    found |= std::find(names.begin(), names.end(), name) != names.end();
    if (!found && name.starts_with("--"))
      if (std::string near = suggestion(name, names); !near.empty()) return near;
  }
  const std::string topic = app.get_name() == "tang" ? "" : " " + app.get_name();
  return fmt::format("`tang help{}` lists what there is", topic);
}

Parsed failed(const std::string& message, const Parser& p,
              const std::vector<std::string>& arguments) {
  const auto subs = p.app.get_subcommands();
  const CLI::App& app = subs.empty() ? p.app : *subs[0];
  Parsed result;
  std::string text = message;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::string hint = hint_for(app, arguments);
  if (subs.empty() && !arguments.empty() && arguments[0][0] != '-') {
    text = fmt::format("there is no command `{}`", arguments[0]);
    const std::string near = suggestion(arguments[0], command_names());
    if (!near.empty()) hint = near;
  }
  result.errors.push_back(usage(text, hint));
  return result;
}

}  // namespace

Parsed parse_arguments(const std::vector<std::string>& arguments) {
  Parser p;
  Parsed result;
  result.json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    p.app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const auto subs = p.app.get_subcommands();
    result.text = subs.empty() ? general_help() : *command_help(subs[0]->get_name());
    return result;
  } catch (const CLI::ParseError& e) {
    if (p.version) {
      result.text = version_text();
      return result;
    }
    Parsed bad = failed(e.what(), p, arguments);
    bad.json = result.json;
    return bad;
  }
  if (p.version) {
    result.text = version_text();
    return result;
  }
  const auto subs = p.app.get_subcommands();
  if (subs.empty()) {
    result.errors.push_back(usage("a command is missing", "`tang help` lists the commands"));
    return result;
  }
  p.options.command = subs[0]->get_name();
  read_values(p.raw, p.options, result.errors);
  if (result.errors.empty()) result.options = std::move(p.options);
  return result;
}

std::string program_arguments(const Options& o) {
  std::string text;
  for (const auto& [name, value] : o.sizes) text += fmt::format(" -D {}={}", name, value);
  for (const std::string& word : o.store) text += " --store " + word;
  return text;
}

std::string input_arguments(const Options& o) {
  std::string text = fmt::format(" --seed {}", o.seed);
  for (const std::string& word : o.in) text += " --in " + word;
  for (const std::string& word : o.replace) text += " --replace " + word;
  for (const std::string& name : o.constant) text += " --constant " + name;
  if (!o.schedule_in.empty()) text += " --schedule " + o.schedule_in;
  if (o.threads > 0) text += fmt::format(" --threads {}", o.threads);
  if (o.tol) text += fmt::format(" --tol {}", *o.tol);
  if (o.math != MathMode::real) text += o.math == MathMode::ieee ? " --math ieee" : " --math fast";
  return text;
}

std::string general_help() {
  std::string text =
      "tang derives fast, verified kernels from tensor formulas.\n\n"
      "Usage: tang COMMAND [FILE] [OPTIONS]\n\nCommands:\n";
  for (const Command& c : commands())
    if (!c.planned) text += fmt::format("  {:<10}{}\n", c.name, c.summary);
  text += "\nNot built yet:\n";
  for (const Command& c : commands())
    if (c.planned) text += fmt::format("  {:<10}{}\n", c.name, c.summary);
  text +=
      "\nVariables: TANG_DEVICE, TANG_CACHE_DIR (default $XDG_CACHE_HOME/tang), TANG_CACHE=0 "
      "(off),\n"
      "  TANG_DEBUG=0..7, TANG_LOG=channel,…, TANG_INTERPRET=1 (the oracle as device), NO_COLOR\n"
      "Exit codes: 0 ok, 1 wrong result, 2 bad usage or input, 3 device missing,\n"
      "  4 target limit exceeded, 5 out of memory, 130 interrupted\n\n"
      "`tang help COMMAND` explains a command, `tang help E0402` an error; `tang --version`.\n";
  return text;
}

std::optional<std::string> command_help(const std::string& command) {
  const Command* c = find_command(command);
  if (!c) return std::nullopt;
  if (c->planned)
    return fmt::format("tang {}: {}.\nThis command is not built yet.\n", command, c->summary);
  Parser p;
  return p.app.get_subcommand(command)->help("tang");
}

const std::vector<std::string>& command_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Command& c : commands()) list.emplace_back(c.name);
    return list;
  }();
  return names;
}

bool is_planned(const std::string& command) {
  const Command* c = find_command(command);
  return c && c->planned;
}

}  // namespace tang::cli
