#include "fuzz/random_graphs/histogram.h"

#include <cmath>

#include <fmt/format.h>

namespace tang::fuzz {

namespace {

const char* op_name(Op op) {
  static const char* const names[] = {
#define TANG_OP(id, ...) #id,
#include "expr/ops.def"
  };
  return names[static_cast<size_t>(op)];
}

const char* guard_name(const Guard& g) {
  switch (g.what) {
    case Guard::What::data:
      return "data";
    case Guard::What::zero:
      return g.form.gathers.empty() ? "equality" : "equality, gathered";
    case Guard::What::bound:
      return g.form.gathers.empty() ? "bound" : "bound, gathered";
  }
  return "";
}

std::string fill_name(const Value& v) {
  if (v.kind != Kind::real) return v.i == 0 ? "0" : "integer";
  return std::isinf(v.r) ? v.r < 0 ? "-inf" : "inf" : v.r == 0 ? "0" : v.r == 1 ? "1" : "other";
}

}  // namespace

void Histogram::add(const Graph& g, const Leaf& l) {
  if (l.what != Leaf::What::read) return;
  bool gathers = false, strided = false, constant = false, sums = false;
  for (const Form& f : l.forms) {
    gathers |= !f.gathers.empty();
    constant |= f.terms.empty() && f.gathers.empty();
    sums |= f.terms.size() > 1;
    for (const Form::Term& t : f.terms) strided |= t.coeff.evaluate({}).value_or(1) != 1;
  }
  if (l.guarded) ++counts_["guarded reads, fill"][fill_name(l.fill())];
  if (gathers) ++counts_["gathers"][l.guarded ? "guarded" : "plain"];
  if (strided) ++counts_["reads"]["strided or flipped"];
  if (constant) ++counts_["reads"]["constant position"];
  if (sums) ++counts_["reads"]["sum of coordinates"];
  ++counts_["reads"][g[l.tensor].role == Role::input ? "of inputs" : "of definitions"];
}

void Histogram::add(const Graph& g, const Node& n) {
  ++counts_["definitions"][n.is_map()           ? "maps"
                           : n.folds.size() > 1 ? "products of folds"
                                                : "folds"];
  if (n.scan) {
    const char* direction = n.scan->reverse ? "reverse" : "forward";
    ++counts_["scans"][n.scan->matrix            ? "matrix"
                       : n.scan->exclusive       ? fmt::format("exclusive {}", direction)
                       : n.scan->initial.empty() ? direction
                                                 : fmt::format("{} from a state", direction)];
    for (const Fold& f : n.folds) ++counts_["monoids of scans"][g[f.monoid].name];
  }
  for (const Guard& guard : n.guards) ++counts_["conditions"][guard_name(guard)];
  for (const Fold& f : n.folds) {
    const Monoid& m = g[f.monoid];
    const char* kinds[] = {"", ", integer", ", bool"};
    ++counts_["monoids"][m.name + kinds[static_cast<size_t>(m.kinds[0])]];
  }
  for (const Target& t : n.targets)
    if (const auto format = g[t.tensor].format)
      ++counts_["storage formats"][std::string(name(*format))];
  for_each_expr(n, [&](ExprId root) {
    for (ExprId e : g.pool.reachable(root)) ++counts_["operations"][op_name(g.pool[e].op)];
  });
  for (LeafId l : leaves_of(g, n)) add(g, g.leaf(l));
}

void Histogram::add(const Graph& g) {
  for (NodeId id : g.order()) add(g, g[id]);
  for (const Output& o : g.outputs)
    if (o.into != TensorId::none) ++counts_["definitions"]["outputs in place"];
}

void Histogram::add(const Derivation& d) {
  add(d.naive);
  add(d.derived);
  for (const LogEntry& e : d.log) ++counts_["rules fired"][e.rule];
}

void Histogram::merge(const Histogram& other) {
  for (const auto& [group, rows] : other.counts_)
    for (const auto& [name, count] : rows) counts_[group][name] += count;
}

void Histogram::print() const {
  for (const auto& [group, rows] : counts_) {
    fmt::print("{}\n ", group);
    size_t column = 1;
    for (const auto& [name, count] : rows) {
      const std::string cell = fmt::format(" {} {}", name, count);
      if (column + cell.size() > 100) fmt::print("\n "), column = 1;
      fmt::print("{} ·", cell);
      column += cell.size() + 2;
    }
    fmt::print("\n");
  }
}

std::vector<std::string> Histogram::unused_rules() const {
  std::vector<std::string> unused;
  const auto fired = counts_.find("rules fired");
  for (const Rule& r : rules())
    if (fired == counts_.end() || !fired->second.contains(std::string(r.name)))
      unused.emplace_back(r.name);
  return unused;
}

}  // namespace tang::fuzz
