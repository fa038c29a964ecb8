#include "cli/session.h"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "cli/schedule_file.h"
#include "cli/text.h"
#include "emit/c_source.h"
#include "eval/random_inputs.h"
#include "front/array_file.h"
#include "front/elaborate.h"
#include "front/render.h"
#include "ir/print.h"
#include "loop/text.h"
#include "schedule/batch.h"
#include "tile/text.h"

namespace tang::cli {

namespace {

constexpr int64_t largest_program = int64_t{1} << 28;

Result<Source> read_source(const std::string& file) {
  const bool standard = file == "-";
  auto text = read_file(standard ? "/dev/stdin" : file, largest_program);
  if (!text) return tl::unexpected(text.error());
  return Source(standard ? "stdin" : file, std::move(*text));
}

nlohmann::json error_json(const Diagnostic& d) {
  return {{"id", d.id},           {"file", d.where.file},
          {"line", d.where.line}, {"col", d.where.col},
          {"message", d.message}, {"hint", d.hint},
          {"label", d.label},     {"exit", static_cast<int>(d.exit)}};
}

}  // namespace

void report(const Diagnostics& diagnostics, const Source* source, bool color, bool json,
            std::string& out) {
  if (diagnostics.empty()) return;
  const std::string text = render(diagnostics, source, color);
  std::fwrite(text.data(), 1, text.size(), stderr);
  if (!json) return;
  nlohmann::json all = nlohmann::json::array();
  for (const Diagnostic& d : diagnostics) all.push_back(error_json(d));
  const nlohmann::json value = {{"schema", 1}, {"error", all[0]}, {"errors", all}};
  out += value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Outcome<void> Session::check_passes() const {
  std::vector<std::string> names = {"parse", "bind", "derive", "schedule", "tile", "lower", "emit"};
  for (const Rule& r : rules()) names.emplace_back(r.name);
  std::vector<std::string> asked = options.dump_after;
  if (!options.stop_after.empty()) asked.push_back(options.stop_after);
  for (const std::string& pass : asked)
    if (std::find(names.begin(), names.end(), pass) == names.end()) {
      const std::string near = suggestion(pass, names);
      return fail(error("E0802", fmt::format("there is no pass `{}`", pass),
                        near.empty() ? fmt::format("passes are {}", fmt::join(names, ", ")) : near)
                      .value());
    }
  return {};
}

Outcome<void> Session::load(bool require_all) {
  if (auto ok = check_passes(); !ok) return ok;
  if (!options.accumulate.empty())
    return fail(error("E0806", "--accumulate is not built yet", "leave it out").value());
  auto read = read_source(options.file);
  if (!read) return fail(read.error());
  source = std::move(*read);
  auto graph = parse(*source);
  if (!graph) return fail(graph.error());
  naive = std::move(*graph);
  if (auto stored = store_formats(); !stored) return stored;
  constants = options.constant;
  if (auto known = constant_inputs(naive, constants); !known) return fail(known.error());
  if (passed("parse", [&] { return print(naive); })) return stop();
  Bindings bindings;
  bindings.flags = options.sizes;
  bindings.require_all = require_all;
  if (auto ok = read_inputs(bindings); !ok) return ok;
  if (Diagnostics bad = bind(naive, bindings); !bad.empty()) return fail(std::move(bad));
  for (const auto& [t, path] : raw_) {
    const std::vector<int64_t> shape = bound_shape(naive, t);
    auto array = read_raw(path, naive[t].storage(), shape);
    if (!array) return fail(array.error());
    for (size_t k = 0; k < given_.size(); ++k)
      if (inputs_of(naive)[k] == t) given_[k] = std::move(*array);
  }
  if (passed("bind", [&] { return print(naive); })) return stop();
  return {};
}

Outcome<void> Session::adopt(Graph graph) {
  if (auto ok = check_passes(); !ok) return ok;
  naive = std::move(graph);
  if (passed("parse", [&] { return print(naive); })) return stop();
  if (Diagnostics bad = bind(naive, {}); !bad.empty()) return fail(std::move(bad));
  if (passed("bind", [&] { return print(naive); })) return stop();
  return {};
}

std::map<std::string, Array> Session::given_arrays() const {
  std::map<std::string, Array> named;
  const std::vector<TensorId> ids = inputs_of(naive);
  for (size_t k = 0; k < given_.size(); ++k)
    if (given_[k]) named.emplace(naive[ids[k]].name, *given_[k]);
  return named;
}

void Session::give(const std::map<std::string, Array>& named) {
  const std::vector<TensorId> ids = inputs_of(naive);
  given_.resize(ids.size());
  for (size_t k = 0; k < ids.size(); ++k) {
    const auto it = named.find(naive[ids[k]].name);
    if (it != named.end() && it->second.format == naive[ids[k]].storage() &&
        it->second.shape == bound_shape(naive, ids[k]))
      given_[k] = it->second;
  }
}

Outcome<void> Session::store_formats() {
  for (const std::string& word : options.store) {
    const size_t at = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, at);
    const auto format = at < word.size() ? parse_format(word.substr(at + 1)) : std::nullopt;
    if (!format || is_block(*format))
      return fail(
          error("E0801", fmt::format("--store {}: this is not NAME=FORMAT", word),
                "formats are f64 f32 tf32 bf16 f16 f8e4m3 f8e5m2, i64 i32 i8 u8 i4 u4, bool")
              .value());
    const auto t = naive.find_tensor(name);
    if (!t || naive[*t].role != Role::definition) {
      std::vector<std::string> names;
      for (const Tensor& other : naive.tensors)
        if (other.role == Role::definition) names.push_back(other.name);
      return fail(error("E0803",
                        fmt::format("--store {}: the program has no definition `{}`", word, name),
                        suggestion(name, names))
                      .value());
    }
    if (kind(*format) != naive[*t].kind)
      return fail(error("E0803",
                        fmt::format("--store {}: `{}` is {}, and {} is a format of kind {}", word,
                                    name, tang::name(naive[*t].kind), tang::name(*format),
                                    tang::name(kind(*format))),
                        "choose a format of the same kind")
                      .value());
    for (const Output& o : naive.outputs)
      if (o.tensor == *t && o.into != TensorId::none && naive[o.into].storage() != *format)
        return fail(
            error("E0404",
                  fmt::format("--store {}: `{}` takes the buffer of `{}`, which is {}", word, name,
                              naive[o.into].name, tang::name(naive[o.into].storage())),
                  "an output and the input it goes into have one format")
                .value());
    naive[*t].format = *format;
  }
  return {};
}

std::vector<Array*> Session::inputs() {
  std::vector<Array*> result;
  for (Array& a : arrays) result.push_back(&a);
  return result;
}

Given Session::given() const {
  Given result;
  const std::vector<TensorId> ids = inputs_of(naive);
  for (size_t k = 0; k < arrays.size(); ++k) result[ids[k]] = &arrays[k];
  return result;
}

Outcome<void> Session::draw_inputs() {
  const std::vector<TensorId> ids = inputs_of(naive);
  const std::vector<int64_t> params = bound_params(naive);
  given_.resize(ids.size());
  for (size_t k = 0; k < ids.size(); ++k) {
    if (!given_[k]) {
      auto array = random_input(naive, ids[k], params, options.seed);
      if (!array) return fail(array.error());
      given_[k] = std::move(*array);
    }
    arrays.push_back(std::move(*given_[k]));
  }
  given_.clear();
  return {};
}

Outcome<Derivation> Session::derive_program() {
  DeriveOptions o;
  o.math = options.math;
  o.keep_texts = options.command == "derive" || options.command == "report";  // they print them
  Derivation d = derive(naive, o);
  // A rule's name stops after its first round, or dumps the program after its last application.
  const auto after = [&](const std::string& rule, bool last) {
    int count = -1;
    for (size_t k = 0; k < d.log.size(); ++k)
      if (d.log[k].rule == rule && (last || count < 0)) count = static_cast<int>(k) + 1;
    DeriveOptions partial = o;
    partial.stop_after = std::max(0, count);
    return derive(naive, partial);
  };
  if (!options.schedule_in.empty()) {
    auto file = read_schedule(options.schedule_in);
    if (!file) return fail(file.error());
    splits_ = std::move(file->splits);
    pins_ = std::move(file->pins);
  }
  for (const Split& s : splits_)
    if (auto ok = split_fold(d, s); !ok) return fail(ok.error());
  for (const Rule& r : rules()) {
    const std::string rule(r.name);
    if (std::find(options.dump_after.begin(), options.dump_after.end(), rule) !=
        options.dump_after.end())
      passed(rule, [&] { return print(after(rule, true).derived); });
    if (options.stop_after == rule) d = after(rule, false);
  }
  if (options.trace_rules || logs("rewrites"))
    for (const LogEntry& e : d.log)
      log(options.trace_rules ? "" : "rewrites",
          fmt::format("{}: {} ({})", e.rule, e.summary, e.law));
  if (passed("derive", [&] { return print(d.derived); }) && options.command != "derive")
    return stop();
  return d;
}

Outcome<Variant> Session::lower_program(const Graph& g, bool as_written) {
  PlanOptions o;
  o.contract = options.math != MathMode::ieee;
  o.threads = threads();
  o.constants = constants;
  o.batch_invariant = options.batch_invariant;
  if (!machine.empty())
    o.machine = machine;
  else if (options.target != "c")
    o.machine = least(parse_dialect(options.target).value_or(Dialect::opencl)).machine;
  if (as_written) o = naive_plan(o);
  if (!as_written) o.pins = pins_;
  auto v = make_variant(fixes_sizes() ? with_bound_params(g) : g, o);
  if (!v) return fail(v.error());
  if (options.json) mark_batch_invariant(v->graph, v->schedule, o);
  if (passed("schedule", [&] { return schedule_of(*v); })) return stop();
  if (passed("tile", [&] { return tile::print(v->lowered.tiles); })) return stop();
  if (passed("lower", [&] { return loop::print(v->program()); })) return stop();
  if (logs("sources")) log("sources", c_source(v->program()));
  if (!as_written && !options.schedule_out.empty())
    if (auto written = write_file(options.schedule_out, schedule_of(*v)); !written)
      return fail(written.error());
  return std::move(*v);
}

// Drivers compile for the sizes of a run, where these stay: masks and strides become constants.
bool Session::fixes_sizes() const {
  const std::string& command = options.command;
  return current_ != &device_ && (command == "run" || command == "check" || command == "bench");
}

std::string Session::schedule_of(const Variant& v) const {
  return schedule_text(v.graph, v.schedule, splits_);
}

CompileOptions Session::compile_options() const {
  CompileOptions o;
  o.cache_dir = environment.cache_dir;
  o.use_cache = environment.use_cache;
  o.path = environment.path;
  o.temp_dir = environment.temp_dir;
  o.threads = threads();
  return o;
}

int Session::threads() const {
  if (options.threads > 0) return options.threads;
  const bool fast = options.command == "run" || options.command == "bench";
  return fast ? processors() : 1;
}

Outcome<std::unique_ptr<Executable>> Session::compile(const LoopProgram& program) {
  Diagnostics warnings;
  auto made = current_->compile(program, compile_options(), warnings);
  for (const Diagnostic& w : warnings) warn(w);
  if (!made) return fail(made.error());
  passed("compile", [] { return std::string(); });
  return std::move(*made);
}

bool Session::has_compiler() {
  return find_compiler("", environment.path, environment.temp_dir).has_value();
}

void Session::print_json(const nlohmann::json& value) {
  out += value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void Session::warn(const Diagnostic& d) {
  if (options.quiet) return;
  static std::vector<std::string> said;
  if (std::find(said.begin(), said.end(), d.message) != said.end()) return;
  said.push_back(d.message);
  std::string ignored;
  report({d}, nullptr, environment.color_err, false, ignored);
}

bool Session::logs(std::string_view channel) const {
  if (options.quiet) return false;
  for (const Channel& c : channels())
    if (channel == c.name)
      return environment.debug >= c.level || environment.log.contains(c.name) ||
             (options.verbose && c.level == 1);
  return channel.empty();
}

void Session::log(std::string_view channel, const std::string& text) {
  if (!logs(channel)) return;
  const std::string line = text + (text.ends_with('\n') ? "" : "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool Session::passed(const std::string& pass, const std::function<std::string()>& text) {
  const auto now = std::chrono::steady_clock::now();
  times_.emplace_back(pass, std::chrono::duration<double, std::milli>(now - since_).count());
  log("passes", fmt::format("{}  {}", pass, duration(times_.back().second)));
  const bool dumped = std::find(options.dump_after.begin(), options.dump_after.end(), pass) !=
                      options.dump_after.end();
  const char* channel = pass == "schedule" ? "schedules"
                        : pass == "tile"   ? "tiles"
                        : pass == "lower"  ? "loops"
                                           : "graphs";
  if (dumped)
    log("", fmt::format("# after {}\n{}", pass, text()));
  else if (pass != "compile" && logs(channel))
    log(channel, fmt::format("# after {}\n{}", pass, text()));
  since_ = std::chrono::steady_clock::now();
  if (options.stop_after != pass) return false;
  if (!dumped && options.command != "derive")
    out += text();
  else if (!dumped && (pass == "parse" || pass == "bind"))
    out += text();
  return pass == "parse" || pass == "bind" || options.command != "derive";
}

void Session::print_times() {
  if (!options.time_passes || options.quiet) return;
  std::vector<std::vector<std::string>> rows;
  for (const auto& [pass, ms] : times_) rows.push_back({pass, duration(ms)});
  log("", table(rows, "lr"));
}

}  // namespace tang::cli
