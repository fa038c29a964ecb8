// tang run: one execution on a device.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "cli/timing.h"
#include "front/array_file.h"
#include "ir/reading.h"
#include "run/memory.h"

namespace tang::cli {

namespace {

struct Ran {
  std::vector<Array*> outputs;  // in program order
  std::vector<Array> owned;     // of the oracle
  std::optional<ProgramMemory> memory;
  nlohmann::json allocations = nlohmann::json::array(), kernels = nlohmann::json::array();
  double ms = 0;
  nlohmann::json prepare;  // what it took; null where nothing is prepared
};

Outcome<void> run_oracle(Session& s, const Graph& g, Ran& ran) {
  const auto begin = std::chrono::steady_clock::now();
  OracleOptions o;
  o.extent = OracleOptions::Extent::full;
  const Graph read = reading(g);
  auto values = evaluate(read, bound_params(read), s.given(), o);
  if (!values) return fail(values.error());
  ran.owned.reserve(read.outputs.size());
  for (const Output& out : read.outputs) {
    auto array = encode(values->at(out.tensor), read[out.tensor].storage());
    if (!array) return fail(array.error());
    ran.owned.push_back(std::move(*array));
    ran.outputs.push_back(&ran.owned.back());
  }
  ran.ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return {};
}

Outcome<void> run_c(Session& s, const Graph& g, Ran& ran) {
  auto v = s.lower_program(g, s.options.naive);
  if (!v) return fail(v.error());
  auto program = s.compile(v->program());
  if (!program) return fail(program.error());
  const std::vector<int64_t> symbols = bound_params(v->graph);
  const auto workspace = (*program)->workspace_bytes(symbols);
  if (!workspace) return fail(workspace.error());
  auto memory = ProgramMemory::make(v->program(), symbols, s.inputs(),
                                    ProgramMemory::Workspace::joined, *workspace);
  if (!memory) return fail(memory.error());
  ran.memory = std::move(*memory);
  const auto prepared =
      (*program)->prepare(ran.memory->arguments(), symbols, ran.memory->workspace());
  if (!prepared) return fail(prepared.error());
  ran.prepare = prepare_json(v->program(), symbols, prepared->total_ms);
  const auto times = (*program)->run(ran.memory->arguments(), symbols, ran.memory->workspace());
  if (!times) return fail(times.error());
  ran.ms = times->total_ms;
  for (size_t k = 0; k < v->outputs.size(); ++k) {
    Array& a = ran.memory->array(v->outputs[k]);
    a.shape = bound_shape(v->graph, v->schedule.outputs[k].tensor);
    ran.outputs.push_back(&a);
  }
  ran.allocations = allocations_json(*v);
  for (const KernelPlan& k : v->schedule.kernels)
    ran.kernels.push_back({{"name", k.name}, {"batch_invariant", k.batch_invariant}});
  return {};
}

struct Destination {
  std::string path;
  std::vector<size_t> outputs;  // one, or all of an .npz
};

// --out NAME=FILE, and --out FILE for a single output or a .npz of all.
Outcome<std::vector<Destination>> destinations(const Session& s) {
  std::vector<Destination> result;
  const Graph& g = s.naive;
  std::vector<std::string> names;
  for (const Output& o : g.outputs) names.push_back(g[o.tensor].name);
  for (const std::string& word : s.options.out) {
    const size_t at = word.find('=');
    const std::string name = at == std::string::npos ? "" : word.substr(0, at);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) {
      result.push_back({word.substr(at + 1), {static_cast<size_t>(found - names.begin())}});
    } else if (at != std::string::npos) {
      return fail(error("E0707",
                        fmt::format("--out {}: the program has no output `{}`", word, name),
                        fmt::format("the outputs are `{}`", fmt::join(names, "`, `")))
                      .value());
    } else if (names.size() == 1) {
      result.push_back({word, {0}});
    } else if (file_type(word) == FileType::npz) {
      result.push_back({word, {}});
      for (size_t k = 0; k < names.size(); ++k) result.back().outputs.push_back(k);
    } else {
      return fail(error("E0801",
                        fmt::format("--out {}: the program has {} outputs", word, names.size()),
                        "write NAME=FILE, or one .npz for all")
                      .value());
    }
    const FileType type = file_type(result.back().path);
    if (type == FileType::safetensors || type == FileType::gguf)
      return fail(error("E0709",
                        fmt::format("{}: this kind of file is only read", result.back().path),
                        "write .npy, .npz or raw")
                      .value());
  }
  // Several outputs into the same .npz are members of one file.
  std::vector<Destination> merged;
  for (Destination& d : result) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const Destination& m) {
      return m.path == d.path && file_type(d.path) == FileType::npz;
    });
    if (same == merged.end())
      merged.push_back(std::move(d));
    else
      same->outputs.insert(same->outputs.end(), d.outputs.begin(), d.outputs.end());
  }
  return merged;
}

Outcome<void> write_outputs(const Session& s, const std::vector<Destination>& to, const Ran& ran) {
  for (const Destination& d : to) {
    std::vector<std::pair<std::string, const Array*>> members;
    for (size_t k : d.outputs)
      members.emplace_back(s.naive[s.naive.outputs[k].tensor].name, ran.outputs[k]);
    const auto done = members.size() == 1
                          ? write_array(d.path, *members[0].second, members[0].first)
                          : write_npz(d.path, members);
    if (!done) return fail(done.error());
  }
  return {};
}

}  // namespace

Outcome<void> run_command(Session& s) {
  const auto devices = s.devices(false);
  if (!devices) return fail(devices.error());
  if (auto ok = s.load(true); !ok) return ok;
  const auto to = destinations(s);
  if (!to) return fail(to.error());
  Graph g = s.naive;
  if (!s.options.naive) {
    auto d = s.derive_program();
    if (!d) return fail(d.error());
    g = std::move(d->derived);
  }
  if (auto ok = s.draw_inputs(); !ok) return ok;
  Ran ran;
  const bool oracle = devices->front() == "oracle";
  if (auto ok = oracle ? run_oracle(s, g, ran) : run_c(s, g, ran); !ok) return ok;
  s.passed("run", [] { return std::string(); });
  if (auto ok = write_outputs(s, *to, ran); !ok) return ok;
  nlohmann::json outputs = nlohmann::json::object();
  std::vector<std::vector<std::string>> rows;
  for (size_t k = 0; k < ran.outputs.size(); ++k) {
    const std::string& name = s.naive[s.naive.outputs[k].tensor].name;
    const Array& a = *ran.outputs[k];
    outputs[name] = {{"shape", a.shape}, {"format", tang::name(a.format)}};
    rows.push_back({name, shape_text(a.shape), std::string(tang::name(a.format)), first_values(a)});
  }
  nlohmann::json value = {{"schema", 1},
                          {"device", devices->front()},
                          {"outputs", outputs},
                          {"ms", json_number(ran.ms)},
                          {"kernels", ran.kernels},
                          {"allocations", ran.allocations}};
  if (!ran.prepare.is_null()) value["prepare"] = ran.prepare;
  if (s.options.json)
    s.print_json(value);
  else
    s.out += table(rows, "llll");
  return {};
}

}  // namespace tang::cli
