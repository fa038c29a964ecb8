#include "api/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/compiled.h"
#include "eval/oracle.h"
#include "ir/bind.h"
#include "rewrite/pipeline.h"
#include "verify/variant.h"

namespace tang {

namespace {

Program::Port port(const Graph& g, TensorId t) {
  return {g[t].name, g[t].storage(), bound_shape(g, t), {}};
}

// Saturating.
void add(int64_t& total, int64_t bytes) {
  if (__builtin_add_overflow(total, bytes, &total)) total = INT64_MAX;
}

int64_t bytes_of(const Program::Port& p) {
  const auto count = element_count(p.shape);
  return count ? bytes_for(p.format, *count).value_or(INT64_MAX) : INT64_MAX;
}

// The tensors in the order of the ports.
Result<std::vector<TensorView>> in_order(std::string_view what,
                                         const std::vector<Program::Port>& ports,
                                         const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const Program::Port& p : ports) names.push_back(p.name);
  std::vector<const TensorView*> found(ports.size());
  for (const NamedTensor& t : tensors) {
    const auto at = std::find(names.begin(), names.end(), t.name);
    if (at == names.end()) {
      const std::string near = suggestion(t.name, names);
      return error("E0718", fmt::format("the program has no {} `{}`", what, t.name),
                   near.empty() ? fmt::format("{}s are {}", what, fmt::join(names, ", ")) : near);
    }
    const TensorView*& place = found[static_cast<size_t>(at - names.begin())];
    if (place)
      return error("E0718", fmt::format("the {} `{}` is given twice", what, t.name),
                   "give it once");
    place = &t.tensor;
  }
  std::vector<TensorView> result;
  for (size_t k = 0; k < ports.size(); ++k) {
    if (!found[k])
      return error("E0718", fmt::format("the {} `{}` is not given", what, names[k]),
                   fmt::format("{}s are {}", what, fmt::join(names, ", ")));
    result.push_back(*found[k]);
  }
  return result;
}

bool on_host(const TensorView& t) {
  const int where = t.device.device_type;
  return where == kDLCPU || where == kDLCUDAHost || where == kDLCUDAManaged;
}

bool on_cuda(const TensorView& t) {
  const int where = t.device.device_type;
  return where == kDLCUDA || where == kDLCUDAHost || where == kDLCUDAManaged;
}

}  // namespace

Program::Program(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

const std::vector<Program::Port>& Program::inputs() const { return compiled_->inputs; }
const std::vector<Program::Port>& Program::outputs() const { return compiled_->outputs; }
const std::string& Program::device() const { return compiled_->device_name; }
int64_t Program::workspace_bytes() const { return compiled_->workspace_bytes; }
int64_t Program::peak_bytes() const { return compiled_->peak_bytes; }

std::string best_device() { return open_device("cuda", {}) ? "cuda" : "c"; }

namespace {

// Reads, plans and lowers the derived program for a device.
Result<Variant> lower_for(const Graph& bound, const CompileSettings& s, const OpenDevice& device) {
  PlanOptions o;
  o.contract = s.math != MathMode::ieee;
  o.threads = std::max(1, s.threads);
  if (!device.machine.empty()) o.machine = device.machine;
  DeriveOptions rules;
  rules.math = s.math;
  rules.keep_texts = false;
  return make_variant(derive(bound, rules).derived, o);
}

CompileOptions compile_options(const CompileSettings& s) {
  CompileOptions o;
  o.cache_dir = s.cache_dir;
  o.use_cache = !s.cache_dir.empty();
  o.cc = s.cc;
  o.path = s.path;
  o.temp_dir = s.temp_dir;
  o.threads = std::max(1, s.threads);
  return o;
}

}  // namespace

Result<Program> compile(const Graph& graph, const CompileSettings& s) {
  Graph g = graph;
  Bindings bindings;
  bindings.flags = s.params;
  if (Diagnostics bad = bind(g, bindings); !bad.empty())
    return tl::unexpected(std::move(bad.front()));
  auto device = open_device(s.device, s.webgpu_library);
  if (!device) return tl::unexpected(device.error());
  const auto v = lower_for(with_bound_params(g), s, **device);
  if (!v) return tl::unexpected(v.error());
  auto c = std::make_shared<Program::Compiled>();
  Diagnostics warnings;  // of the cache, which is done without
  auto executable = (*device)->device->compile(v->program(), compile_options(s), warnings);
  if (!executable) return tl::unexpected(executable.error());
  c->device_name = s.device;
  c->device = std::move(*device);
  c->executable = std::move(*executable);
  c->symbols = bound_params(v->graph);
  std::vector<TensorId> ids = inputs_of(v->graph);
  for (const TensorId t : ids) c->inputs.push_back(port(v->graph, t));
  for (const Output& o : v->graph.outputs) {
    c->outputs.push_back(port(v->graph, o.tensor));
    c->into.emplace_back();
    if (o.into == TensorId::none) continue;
    c->outputs.back().into = v->graph[o.into].name;
    c->into.back() = static_cast<size_t>(std::find(ids.begin(), ids.end(), o.into) - ids.begin());
  }
  auto workspace = c->executable->stream_workspace_bytes(c->symbols);
  c->streams = workspace.has_value();
  if (!workspace && workspace.error().id == "E0923")
    workspace = c->executable->workspace_bytes(c->symbols);
  if (!workspace) return tl::unexpected(workspace.error());
  c->workspace_bytes = *workspace;
  c->peak_bytes = *workspace;
  for (const Program::Port& p : c->inputs) add(c->peak_bytes, bytes_of(p));
  for (const Program::Port& p : c->outputs)
    if (p.into.empty()) add(c->peak_bytes, bytes_of(p));
  return Program(std::move(c));
}

Result<void> Program::run(const std::vector<NamedTensor>& inputs,
                          const std::vector<NamedTensor>& outputs, const RunOptions& o) const {
  const auto in = in_order("input", compiled_->inputs, inputs);
  if (!in) return tl::unexpected(in.error());
  const auto out = in_order("output", compiled_->outputs, outputs);
  if (!out) return tl::unexpected(out.error());
  return run_in_order(*in, *out, o);
}

Result<std::vector<Array>> Program::run(const std::vector<NamedTensor>& inputs,
                                        const RunOptions& o) const {
  const auto in = in_order("input", compiled_->inputs, inputs);
  if (!in) return tl::unexpected(in.error());
  std::vector<Array> arrays;
  for (const Port& p : compiled_->outputs) {
    auto array = make_array(p.format, p.shape);
    if (!array) return tl::unexpected(array.error());
    arrays.push_back(std::move(*array));
  }
  std::vector<TensorView> out(arrays.begin(), arrays.end());
  if (auto ran = run_in_order(*in, out, o); !ran) return tl::unexpected(ran.error());
  return arrays;
}

Result<void> Program::run_in_order(std::span<const TensorView> inputs,
                                   std::span<const TensorView> outputs,
                                   const RunOptions& options) const {
  const Compiled& c = *compiled_;
  if (inputs.size() != c.inputs.size() || outputs.size() != c.outputs.size())
    return error("E0718",
                 fmt::format("the program has {} inputs and {} outputs, not {} and {}",
                             c.inputs.size(), c.outputs.size(), inputs.size(), outputs.size()));
  bool host = true, stream = c.streams;
  const TensorView* odd = nullptr;
  std::string name;
  const auto look = [&](std::span<const TensorView> tensors, const std::vector<Port>& ports) {
    for (size_t k = 0; k < tensors.size(); ++k) {
      if (!on_host(tensors[k])) host = false;
      if (!on_cuda(tensors[k])) stream = false;
      if (!host && !stream && !odd) odd = &tensors[k], name = ports[k].name;
    }
  };
  look(inputs, c.inputs);
  look(outputs, c.outputs);
  if (host) return c.run_on_host(inputs, outputs, options);
  if (stream) return c.run_on_stream(inputs, outputs, options);
  return error("E0720",
               fmt::format("`{}` lies on a device of DLPack type {}, number {}, and not where the "
                           "other tensors or the program ({}) are",
                           name, odd->device.device_type, odd->device.device_id, c.device_name),
               "give all tensors on the host, or all on the device");
}

}  // namespace tang
