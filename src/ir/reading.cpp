#include "ir/reading.h"

#include <limits>

#include "ir/softmax.h"
#include "ir/topk_chain.h"

namespace tang {

namespace {

struct Pair {
  ExprId value, index;
};

class SortedPairs {
 public:
  SortedPairs(Graph& graph, size_t count) : g(graph), k_(count) {}

  // Components v_0 … v_k-1, i_0 … i_k-1; the outputs are the same, with -1 for no index.
  MonoidId monoid() {
    Monoid m;
    m.name = "topk";
    m.arguments = {"x", ""};
    m.argument_kinds = {Kind::real, Kind::integer};
    m.flat_index = true;
    m.facts.emplace();
    const ExprId x = leaf(Leaf::What::argument, 0, Kind::real);
    const ExprId lowest = g.pool.real(-std::numeric_limits<double>::infinity());
    const ExprId none = g.pool.integer(std::numeric_limits<int64_t>::max());
    std::vector<Pair> lifted(k_, Pair{lowest, none});
    lifted[0] = {g.make(Op::select, g.make(Op::eq, x, x), x, lowest),
                 leaf(Leaf::What::argument, 1, Kind::integer)};
    put(m.identity, std::vector<Pair>(k_, Pair{lowest, none}));
    put(m.lift, lifted);
    put(m.combine, merged(side(Leaf::What::left), side(Leaf::What::right)));
    std::vector<Pair> out = side(Leaf::What::left);
    for (Pair& p : out)
      p.index = g.make(Op::select, g.make(Op::eq, p.index, none), g.pool.integer(-1), p.index);
    put(m.fin, out);
    for (size_t c = 0; c < 2 * k_; ++c) {
      m.kinds.push_back(c < k_ ? Kind::real : Kind::integer);
      m.fields.push_back(std::to_string(c));
    }
    m.outputs = m.fields;
    m.output_kinds = m.kinds;
    m.value = -1;
    g.monoids.push_back(std::move(m));
    return static_cast<MonoidId>(g.monoids.size() - 1);
  }

 private:
  ExprId leaf(Leaf::What what, size_t number, Kind kind) {
    Leaf l;
    l.what = what;
    l.number = static_cast<uint32_t>(number);
    l.kind = kind;
    return g.variable(l);
  }

  std::vector<Pair> side(Leaf::What what) {
    std::vector<Pair> pairs;
    for (size_t c = 0; c < k_; ++c)
      pairs.push_back({leaf(what, c, Kind::real), leaf(what, k_ + c, Kind::integer)});
    return pairs;
  }

  void put(std::vector<ExprId>& into, const std::vector<Pair>& pairs) const {
    for (const Pair& p : pairs) into.push_back(p.value);
    for (const Pair& p : pairs) into.push_back(p.index);
  }

  // a stands before b: a larger value, or the same at a lower index.
  ExprId before(const Pair& a, const Pair& b) {
    const ExprId tie =
        g.make(Op::logical_and, g.make(Op::eq, a.value, b.value), g.make(Op::lt, a.index, b.index));
    return g.make(Op::logical_or, g.make(Op::lt, b.value, a.value), tie);
  }

  Pair either(ExprId condition, const Pair& a, const Pair& b) {
    return {g.make(Op::select, condition, a.value, b.value),
            g.make(Op::select, condition, a.index, b.index)};
  }

  // The k first of two sorted lists, sorted. c_j = first(a_j, b_k-1-j) is bitonic and holds them;
  // compare-exchange layers sort it. A length that is no power of two is padded in front: nothing
  // stands before the padding, so it stays there.
  std::vector<Pair> merged(const std::vector<Pair>& a, const std::vector<Pair>& b) {
    std::vector<std::optional<Pair>> c;
    size_t length = 1;
    while (length < k_) length *= 2;
    for (size_t j = k_; j < length; ++j) c.emplace_back();
    for (size_t j = 0; j < k_; ++j)
      c.emplace_back(either(before(a[j], b[k_ - 1 - j]), a[j], b[k_ - 1 - j]));
    for (size_t half = length / 2; half >= 1; half /= 2)
      for (size_t j = 0; j < length; ++j) {
        if ((j & half) != 0 || !c[j]) continue;
        const Pair p = *c[j], q = *c[j + half];
        const ExprId kept = before(p, q);
        c[j] = either(kept, p, q);
        c[j + half] = either(kept, q, p);
      }
    std::vector<Pair> sorted;
    for (const auto& p : c)
      if (p) sorted.push_back(*p);
    return sorted;
  }

  Graph& g;
  size_t k_;
};

// The state's entry `n` among numbers first, first + 1, …: a chain of selects.
ExprId entry(Graph& g, DimId n, uint32_t first, size_t k, Kind kind) {
  const ExprId at = g.iota(Form::coordinate(n));
  ExprId e = g.state(first + static_cast<uint32_t>(k) - 1, kind);
  for (size_t c = k - 1; c-- > 0;)
    e = g.make(Op::select, g.make(Op::eq, at, g.pool.integer(static_cast<int64_t>(c))),
               g.state(first + static_cast<uint32_t>(c), kind), e);
  return e;
}

void spell(Graph& g, Node& n) {
  std::vector<ExprId> values;  // of the states as they were
  std::vector<Fold> folds = n.folds;
  uint32_t next = 0;
  for (Fold& f : folds) {
    const Monoid old = g[f.monoid];
    if (!f.entry) {
      for (Kind kind : old.output_kinds) values.push_back(g.state(next++, kind));
      continue;
    }
    const auto k = static_cast<size_t>(g.extent(*f.entry).constant().value_or(1));
    if (k == 0) {  // no entry, so no point looks at a state
      for (Kind kind : old.output_kinds) values.push_back(g.constant_as(g.pool.integer(0), kind));
    } else {
      values.push_back(entry(g, *f.entry, next, k, Kind::real));
      values.push_back(entry(g, *f.entry, next + static_cast<uint32_t>(k), k, Kind::integer));
    }
    f.monoid = SortedPairs(g, std::max<size_t>(k, 1)).monoid();
    f.entry.reset();
    next += 2 * static_cast<uint32_t>(std::max<size_t>(k, 1));
  }
  n.folds = folds;
  for (Target& t : n.targets)
    t.value = substitute_leaves(g, t.value, [&](LeafId l) -> std::optional<ExprId> {
      const Leaf& leaf = g.leaf(l);
      if (leaf.what != Leaf::What::state) return std::nullopt;
      return values[leaf.number];
    });
}

// Member `rank` of a chain as entry `rank` of a top-k, the smallest by way of the largest of -x.
void spell_member(Graph& g, const ChainMember& m) {
  const size_t k = m.rank + 1;
  const auto turned = [&](ExprId e) { return m.smallest ? g.make(Op::neg, e) : e; };
  Node n = g[m.node];
  n.guards = m.guards;
  n.folds[0].args[0] = turned(m.argument);
  n.folds[0].monoid = SortedPairs(g, k).monoid();
  const ExprId value = turned(g.state(static_cast<uint32_t>(m.rank), Kind::real));
  const ExprId place = g.state(static_cast<uint32_t>(k + m.rank), Kind::integer);
  for (Target& t : n.targets)
    t.value = substitute_leaves(g, t.value, [&](LeafId l) -> std::optional<ExprId> {
      if (g.leaf(l).what != Leaf::What::state) return std::nullopt;
      return g.leaf(l).number == 0 ? value : place;
    });
  g[m.node] = n;
}

}  // namespace

void spell_topk(Graph& g) {
  for (NodeId id : g.order()) {
    Node n = g[id];
    bool any = false;
    for (const Fold& f : n.folds) any = any || f.entry.has_value();
    if (!any) continue;
    spell(g, n);
    g[id] = n;
  }
}

Graph reading(const Graph& g) {
  Graph read = softmax_reading(g);
  for (const ChainMember& m : topk_chains(read)) spell_member(read, m);
  spell_topk(read);
  return read;
}

}  // namespace tang
