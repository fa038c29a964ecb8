// A block of terms of a fold in pivot form: reduce the pivots, map the weights, contract.
#include <algorithm>

#include "ir/guards.h"
#include "ir/monoids.h"
#include "ir/variance.h"
#include "tile/lower_impl.h"

namespace tang::tile {

using What = tang::Leaf::What;

// A component of a term before its weight, over the fold's arguments.
ExprId KernelLowering::lifted(uint32_t component) {
  const Fold& f = node_.folds[0];
  const ExprId lift = component == pivot_->component ? g[f.monoid].lift[component]
                                                     : pivot_value(g, f.monoid, *pivot_, component);
  return substitute_leaves(g, lift, [&](LeafId id) -> std::optional<ExprId> {
    const tang::Leaf l = g.leaf(id);
    if (l.what == What::argument) return f.args[l.number];
    return std::nullopt;
  });
}

// The same as the monoid says it, with the term's pivot given.
ExprId KernelLowering::lift(uint32_t component, ExprId pivot) {
  const Fold& f = node_.folds[0];
  const ExprId own = g[f.monoid].lift[pivot_->component];
  return substitute_leaves(g, g[f.monoid].lift[component], [&](LeafId id) -> std::optional<ExprId> {
    const tang::Leaf l = g.leaf(id);
    if (l.what != What::argument) return std::nullopt;
    return g.pool[own].op == tang::Op::var && g.pool[own].variable() == id ? pivot
                                                                           : f.args[l.number];
  });
}

// 1 if some value in the block is infinite or no number, otherwise 0: a sum of zeros tells.
ValueId KernelLowering::not_finite(const std::vector<ExprId>& values) {
  const State sum = new_state(plan_->name + "_finite", {});
  Nest n;
  for (ExprId value : values) {
    for (DimId d : dims_of(g, value))
      if (!contains(n.reduce, d)) n.reduce.push_back(d);
    const uint32_t number = static_cast<uint32_t>(n.parts.size());
    Part part;
    part.identity = g.pool.real(0);
    const ExprId state = state_leaf(g, What::left, number, Kind::real);
    part.step = g.make(tang::Op::add, state, g.pool.make(tang::Op::mul, value, g.pool.real(0)));
    part.combine = g.make(tang::Op::add, state, state_leaf(g, What::right, number, Kind::real));
    part.fold = number;
    n.parts.push_back(part);
    n.monoids.push_back(*builtin_monoid(g, "sum", std::vector<Kind>{Kind::real}));
  }
  ExprId all = state_leaf(g, What::left, 0, Kind::real);
  for (uint32_t k = 1; k < n.parts.size(); ++k)
    all = g.make(tang::Op::add, all, state_leaf(g, What::left, k, Kind::real));
  n.stores = {store(sum, all)};
  run_nest(std::move(n));

  Op load;
  load.kind = OpKind::load;
  Ref ref;
  ref.what = Ref::What::memory;
  ref.memory = env_.places.at(sum.tensor).memory;
  load.refs = {ref};
  Type type;
  type.placement = b.placement({}, Placement(0));
  type.format = env_.real;
  const ValueId zeros = b.value("zeros", type);
  load.results = {zeros};
  b.add(load);
  Op test;
  test.kind = OpKind::map;
  test.args = {zeros};
  Leaf leaf;
  leaf.argument = 0;
  test.leaves = {leaf};
  ExprPool& pool = b.kernel().pool;
  const ExprId x = pool.var(0, Kind::real);
  test.body =
      pool.make(tang::Op::select, pool.make(tang::Op::eq, x, x), pool.integer(0), pool.integer(1));
  type.format = Format::i64;
  const ValueId flag = b.value("not_finite", type);
  test.results = {flag};
  b.add(test);
  return flag;
}

ExprId KernelLowering::act(ExprId own, ExprId common) {
  return substitute_leaves(g, pivot_->act, [&](LeafId id) -> std::optional<ExprId> {
    return g.leaf(id).what == What::left ? own : common;
  });
}

// Adds a sum of terms on top of what component k had before.
void KernelLowering::add_sum(Nest& n, uint32_t k, ExprId term, ExprId initial) {
  Part part = folds_.parts[k];
  const uint32_t number = static_cast<uint32_t>(n.parts.size());
  const ExprId state = state_leaf(g, What::left, number, Kind::real);
  part.step = g.make(tang::Op::add, state, term);
  part.combine = g.make(tang::Op::add, state, state_leaf(g, What::right, number, Kind::real));
  part.initial = initial;
  part.fold = number;
  n.parts.push_back(part);
  n.monoids.push_back(*builtin_monoid(g, "sum", std::vector<Kind>{Kind::real}));
  n.stores.push_back(store(states_[k], state));
}

// The pivots of the block, on top of those before.
void KernelLowering::reduce_pivots(ExprId score, const State& next,
                                   const std::vector<Guard>& limits) {
  const uint32_t p = pivot_->component;
  Nest n;
  n.points = states_[p].dims;
  n.reduce = node_.reduce;
  n.limits = limits;
  Part pivot = folds_.parts[p];
  const ExprId left = state_leaf(g, What::left, 0, Kind::real);
  pivot.combine = substitute_leaves(g, pivot.combine, [&](LeafId id) -> std::optional<ExprId> {
    const tang::Leaf l = g.leaf(id);
    if (l.what != What::left && l.what != What::right) return std::nullopt;
    return state_leaf(g, l.what, 0, l.kind);
  });
  const ExprNode chosen = g.pool[pivot.combine];
  pivot.step = g.make(chosen.op, left, score);
  pivot.initial = read(states_[p]);
  pivot.fold = 0;
  n.parts = {pivot};
  n.monoids = {*builtin_monoid(g, chosen.op == tang::Op::max ? "max" : "min",
                               std::vector<Kind>{Kind::real})};
  n.stores = {store(next, left)};
  run_nest(std::move(n));
}

void KernelLowering::pivot_block() {
  const uint32_t p = pivot_->component;
  const std::vector<DimId>& rows = states_[p].dims;

  // Terms that a guard leaves out have the identity for a pivot, and so a weight of 0.
  ExprId score = lifted(p);
  if (const ExprId holds = condition_of(g, node_.guards); holds != ExprId::none)
    score = g.make(tang::Op::select, holds, score, folds_.parts[p].identity);

  // Conditions of one summed coordinate that its span does not have already (runs of a sorted key,
  // multiples of the coordinate) bound the loops, those of weights and of what reads them alike.
  std::vector<Guard> limits = node_.guards;
  std::erase_if(limits, [&](const Guard& guard) {
    const std::vector<DimId> dims = dims_of(g, guard);
    const auto moves =
        std::count_if(dims.begin(), dims.end(), [&](DimId d) { return span_of(d).size != 1; });
    const bool summed = std::all_of(dims.begin(), dims.end(), [&](DimId d) {
      return span_of(d).size == 1 || contains(node_.reduce, d);
    });
    return guard.form.is_affine() || moves != 1 || !summed;
  });

  const State next = new_state(plan_->name + "_pivot", rows);
  reduce_pivots(score, next, limits);

  // The weights, and the sums along nothing but the rows.
  const ExprId common = read(next);
  ExprId scaled = act(read(states_[p]), common);
  State weights;
  std::vector<uint32_t> others;
  for (uint32_t k : pivot_->linear)
    if (states_[k].dims != rows) others.push_back(k);
  if (!others.empty()) {
    std::vector<DimId> terms = rows;
    terms.insert(terms.end(), node_.reduce.begin(), node_.reduce.end());
    weights = new_state(plan_->name + "_weight", terms);
    // Sums along other points take the factor of what came before at each tile of theirs.
    const State factor = new_state(plan_->name + "_factor", rows);
    Nest once;
    once.points = rows;
    once.stores = {store(factor, scaled)};
    run_nest(std::move(once));
    scaled = read(factor);
  }
  Nest map;
  map.points = rows;
  map.reduce = node_.reduce;
  map.limits = limits;
  if (!others.empty()) map.term_stores = {store(weights, act(score, common))};
  if (kept_.tensor != TensorId::none) map.term_stores.push_back(store(kept_, act(score, common)));
  for (uint32_t k : pivot_->linear) {
    if (states_[k].dims != rows) continue;
    const ExprId value = lifted(k), weight = act(score, common);
    const ExprId term = g.pool.is_number(value, 1) ? weight : g.make(tang::Op::mul, weight, value);
    add_sum(map, k, term, g.make(tang::Op::mul, read(states_[k]), scaled));
  }
  run_nest(std::move(map));

  // The sums along other points too. A weight of 0 leaves a term out, unless its value is no finite
  // number: then terms are tested one by one.
  const auto contract = [&](bool tested) {
    for (uint32_t k : others) {
      Nest n;
      n.points = states_[k].dims;
      n.reduce = node_.reduce;
      n.limits = limits;
      add_sum(n, k, g.make(tang::Op::mul, read(weights), tested ? lift(k, score) : lifted(k)),
              g.make(tang::Op::mul, read(states_[k]), scaled));
      run_nest(std::move(n));
    }
  };
  // Threads test each term: a look at all values first, and a branch, would cost them more.
  if (!others.empty() && whole_.group > 1) {
    contract(true);
  } else if (!others.empty()) {
    std::vector<ExprId> values;
    for (uint32_t k : others) values.push_back(lifted(k));
    b.open_branch({Form(0) - Form::gathered(index_of(not_finite(values)))});
    contract(false);
    b.open_else();
    contract(true);
    b.close();
  }

  Nest keep;
  keep.points = rows;
  keep.stores = {store(states_[p], common)};
  run_nest(std::move(keep));
}

}  // namespace tang::tile
