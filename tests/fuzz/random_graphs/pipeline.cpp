#include "fuzz/random_graphs/pipeline.h"

#include <cmath>
#include <random>
#include <set>

#include <fmt/format.h>

#include "eval/compare.h"
#include "eval/random_inputs.h"
#include "front/elaborate.h"
#include "front/render.h"
#include "ir/bind.h"
#include "ir/print.h"
#include "ir/reading.h"
#include "ir/topk_chain.h"
#include "ir/verify.h"
#include "run/memory.h"
#include "verify/check.h"

namespace tang::fuzz {

namespace {

constexpr double exact_tolerance = 1e-9;  // between two orders of the same sums in f64

tl::unexpected<Failure> fail(std::string stage, std::string detail) {
  return tl::unexpected(Failure{std::move(stage), std::move(detail)});
}

tl::unexpected<Failure> fail(std::string stage, const Diagnostic& d) {
  return fail(std::move(stage), fmt::format("{} {}", d.id, d.message));
}

tl::unexpected<Failure> fail(std::string stage, const Diagnostics& all) {
  return fail(std::move(stage), render(all, nullptr));
}

// Errors count against the larger of 1 and the tensor: what cancels to nothing is not held to it.
bool passes(const Comparison& c, double tolerance) {
  return c.passes(tolerance) ||
         (!c.exact && std::abs(c.got.as_real() - c.want.as_real()) <= tolerance);
}

std::string place(const std::string& tensor, const std::vector<int64_t>& shape,
                  const Comparison& c) {
  return fmt::format("{}[{}]: {}", tensor, coordinates_text(shape, std::max<int64_t>(0, c.worst)),
                     comparison_text(c));
}

OracleOptions full() {
  OracleOptions o;
  o.extent = OracleOptions::Extent::full;
  o.threads = 1;
  return o;
}

// Parses, and holds the printed form to be a fixed point that verifies.
tl::expected<Graph, Failure> read(const std::string& text, const std::string& stage) {
  auto g = parse(text);
  if (!g) return fail(stage + " parse", g.error());
  if (const Diagnostics bad = verify(*g); !bad.empty()) return fail(stage + " verify", bad);
  const std::string once = print(*g);
  auto again = parse(once);
  if (!again)
    return fail(stage + " parse of the printed form", render(again.error(), nullptr) + "\n" + once);
  if (const std::string twice = print(*again); twice != once)
    return fail(stage + " print", fmt::format("not a fixed point:\n{}---\n{}", once, twice));
  return std::move(*g);
}

tl::expected<std::map<std::string, Values>, Failure> oracle(const Graph& g,
                                                            const std::vector<Array>& inputs,
                                                            const std::string& stage) {
  const Graph read = reading(g);
  if (const Diagnostics bad = verify(read); !bad.empty())
    return fail(stage + " softmax reading", bad);
  Given given;
  const std::vector<TensorId> ids = inputs_of(read);
  for (size_t k = 0; k < ids.size(); ++k) given[ids[k]] = &inputs[k];
  auto values = evaluate(read, bound_params(read), given, full());
  if (!values) return fail(stage + " oracle", values.error());
  std::map<std::string, Values> result;
  for (auto& [t, v] : *values) result.emplace(read[t].name, std::move(v));
  return result;
}

// Derived weights are rounded relative to a running maximum (algebra.md 11.14).
double derivation_tolerance(const Graph& derived) {
  double tolerance = exact_tolerance;
  for (NodeId id : derived.order())
    if (derived[id].operand)
      tolerance = std::max(tolerance, default_tolerance(*derived[id].operand));
  return tolerance;
}

std::optional<Failure> compare_outputs(const std::map<std::string, Values>& want,
                                       const std::map<std::string, Values>& got, double tolerance) {
  for (const auto& [name, value] : want) {
    const auto found = got.find(name);
    if (found == got.end()) return Failure{"derivation", fmt::format("output {} is gone", name)};
    const Comparison c = compare(value, found->second);
    if (!passes(c, tolerance)) return Failure{"derivation", place(name, value.shape, c)};
  }
  return std::nullopt;
}

// The kernels of one variant, one by one.
class Runner {
 public:
  Runner(Prepared& p, const Variant& v, std::string stage)
      : p_(p), v_(v), stage_(std::move(stage)), symbols_(bound_params(v.graph)) {
    for (Array& a : p.inputs) inputs_.push_back(&a);
    const std::vector<TensorId> ids = inputs_of(v.graph);
    for (size_t k = 0; k < ids.size(); ++k) known_[ids[k]] = &p.inputs[k];
  }

  std::optional<Failure> run(const Executable& program) {
    auto memory =
        ProgramMemory::make(v_.program(), symbols_, inputs_, ProgramMemory::Workspace::separate, 0);
    if (!memory) return failed("memory", memory.error());
    for (size_t k = 0; k < v_.buffer_of.size(); ++k)
      if (const auto id = v_.buffer_of[k])
        memory->array(*id).shape = bound_shape(v_.graph, static_cast<TensorId>(k));
    memory->poison();
    if (auto ready = program.prepare(memory->arguments(), symbols_, nullptr); !ready)
      return failed("prepare", ready.error());
    for (size_t k = 0; k < v_.program().kernels.size(); ++k) {
      if (auto ran = program.run_kernel(k, memory->buffers(), symbols_); !ran)
        return failed("run", ran.error());
      if (k >= v_.schedule.kernels.size()) continue;  // copies of outputs
      if (auto bad = kernel(v_.schedule.kernels[k], *memory)) return bad;
    }
    return outputs(*memory);
  }

 private:
  Failure failed(const std::string& what, const Diagnostic& d) const {
    return {stage_ + " " + what, fmt::format("{} {}", d.id, d.message)};
  }

  std::optional<Failure> kernel(const KernelPlan& plan, ProgramMemory& memory) {
    const auto want = evaluate_node(v_.graph, plan.node, symbols_, known_, full());
    if (!want) return failed("oracle", want.error());
    for (const Target& t : v_.graph[plan.node].targets) {
      const loop::BufferId id = *v_.buffer_of[index(t.tensor)];
      const Values& value = want->at(t.tensor);
      const Comparison c = compare(value, memory.array(id));
      if (!passes(c, tolerance_of(v_.graph, plan)))
        return Failure{stage_ + " kernel",
                       fmt::format("kernel {}, {}", plan.name,
                                   place(v_.graph[t.tensor].name, value.shape, c))};
      known_[t.tensor] = &memory.array(id);
    }
    return std::nullopt;
  }

  // Errors of kernels add up on the way to an output.
  std::optional<Failure> outputs(ProgramMemory& memory) {
    const double tolerance = 10 * tolerance_of(v_.graph);
    for (size_t k = 0; k < v_.outputs.size(); ++k) {
      const TensorId t = v_.schedule.outputs[k].tensor;
      Array& got = memory.array(v_.outputs[k]);
      got.shape = bound_shape(v_.graph, t);
      const Values& want = p_.want.at(v_.graph[t].name);
      const Comparison c = compare(want, got);
      if (!passes(c, tolerance))
        return Failure{stage_ + " output", place(v_.graph[t].name, want.shape, c)};
    }
    return std::nullopt;
  }

  Prepared& p_;
  const Variant& v_;
  std::string stage_;
  std::vector<int64_t> symbols_;
  std::vector<Array*> inputs_;
  Given known_;
};

// Splits one fold in two or more parts, in one program of four.
std::optional<Failure> split_some(Derivation& d, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  Graph& g = d.derived;
  std::set<NodeId> chains;
  for (const ChainMember& m : topk_chains(g)) chains.insert(m.node);
  std::vector<Split> candidates;
  for (NodeId id : g.order()) {
    const Node& n = g[id];
    bool top = false, commutes = true;
    for (const Fold& f : n.folds) top |= f.entry.has_value(), commutes &= g[f.monoid].commutative;
    if (n.folds.empty() || n.reduce.empty() || n.scan || top || chains.contains(id)) continue;
    const DimId over = n.reduce[commutes ? below(n.reduce.size()) : 0];
    const bool symbolic = !g.extent(over).constant();
    if (symbolic && !commutes) continue;
    candidates.push_back({g[n.targets[0].tensor].name, g[over].name,
                          static_cast<int64_t>(2 + below(4)),
                          commutes && (symbolic || below(2) == 0)});
  }
  if (candidates.empty() || below(4) != 0) return std::nullopt;
  const auto done = split_fold(d, candidates[below(candidates.size())]);
  return done ? std::nullopt : std::optional(Failure{"split", done.error().message});
}

}  // namespace

tl::expected<std::unique_ptr<Prepared>, Failure> prepare(const Program& program) {
  auto g = read(program.text(), "naive");
  if (!g) return tl::unexpected(g.error());
  Bindings bindings;
  bindings.flags = program.sizes;
  if (const Diagnostics bad = bind(*g, bindings); !bad.empty()) return fail("bind", bad);
  auto p = std::make_unique<Prepared>();
  p->program = program;
  for (TensorId t : inputs_of(*g)) {
    auto array = random_input(*g, t, bound_params(*g), program.seed);
    if (!array) return fail("inputs", array.error());
    p->inputs.push_back(std::move(*array));
  }
  p->derivation = derive(*g);
  if (const auto bad = split_some(p->derivation, program.seed)) return tl::unexpected(*bad);
  const Graph& derived = p->derivation.derived;
  if (const Diagnostics bad = verify(derived); !bad.empty())
    return fail("derived verify", render(bad, nullptr) + print(derived));
  if (const auto printed = read(print(derived), "derived"); !printed)
    return tl::unexpected(printed.error());
  auto want = oracle(*g, p->inputs, "naive");
  if (!want) return tl::unexpected(want.error());
  p->want = std::move(*want);
  const auto got = oracle(derived, p->inputs, "derived");
  if (!got) return tl::unexpected(got.error());
  if (auto bad = compare_outputs(p->want, *got, derivation_tolerance(derived)))
    return fail(bad->stage, bad->detail + "\n" + print(derived));
  auto naive_variant = make_variant(*g, naive_plan({}));
  if (!naive_variant) return fail("naive lower", naive_variant.error());
  // However small, kernels are shared; by as many threads as were planned for, or others.
  const auto threads = static_cast<int64_t>(program.seed % 4) + 1;
  // Every second program is told that inputs stay as they are, where they do.
  std::vector<std::string> constants;
  for (const TensorId t : inputs_of(derived)) {
    const bool changes = std::any_of(derived.outputs.begin(), derived.outputs.end(),
                                     [t](const Output& o) { return o.into == t; });
    if (program.seed / 4 % 2 == 0 && !changes) constants.push_back(derived[t].name);
  }
  auto derived_variant =
      make_variant(derived, {.threads = threads, .shared_ns = 0, .constants = constants});
  if (!derived_variant) return fail("derived lower", derived_variant.error());
  p->naive = std::move(*naive_variant);
  p->derived = std::move(*derived_variant);
  return p;
}

std::optional<Failure> check_kernels(Prepared& p, const Executable& naive,
                                     const Executable& derived) {
  if (auto bad = Runner(p, p.naive, "naive").run(naive)) return bad;
  return Runner(p, p.derived, "derived").run(derived);
}

CompileOptions compile_options(uint64_t seed) {
  CompileOptions o;
  o.use_cache = false;
  o.threads = static_cast<int>(seed / batch_size % 3) + 1;
  const char* level = seed / batch_size % 4 == 0 ? "-O2" : "-O0";
  o.flags = {"-std=gnu11", level, "-march=native", "-fno-math-errno", "-ffp-contract=off"};
  return o;
}

std::optional<Failure> check_alone(const Program& program, CDevice& device) {
  auto p = prepare(program);
  if (!p) return p.error();
  const LoopProgram* const both[] = {&(*p)->naive.program(), &(*p)->derived.program()};
  Diagnostics warnings;
  const auto made = device.compile_all(both, compile_options(program.seed), warnings);
  if (!made) return Failure{"compile", fmt::format("{} {}", made.error().id, made.error().message)};
  return check_kernels(**p, *(*made)[0], *(*made)[1]);
}

}  // namespace tang::fuzz
