// matscan[t; x, y](A, B, H0): H(t)[x] = sum_y A[x, y]·H(t-1)[y] + B[x], step after step, with
// H(t-1) and H(t) in windows.
#include <algorithm>

#include "ir/monoids.h"
#include "tile/lower_impl.h"

namespace tang::tile {

using What = tang::Leaf::What;

void KernelLowering::matrix_scan() {
  const Scan scan = *node_.scan;
  const DimId row = scan.matrix->first, column = scan.matrix->second;
  std::vector<DimId> dims = node_.points;
  std::erase(dims, scan.along);
  const State now = new_state(plan_->name + "_now", dims);
  const State next = new_state(plan_->name + "_next", dims);
  if (!failure_.empty()) return;
  fill(now, scan.initial[0]);

  std::vector<DimId> points = {scan.along};
  points.insert(points.end(), dims.begin(), dims.end());
  const Poly steps = g.extent(scan.along);
  const DimId index = b.index(g[scan.along].name + "0", Index::What::loop);
  Op::Range r;
  r.indices = {index};
  r.lo = {Form(0)}, r.hi = {Form(steps)};
  b.open_loop(std::move(r), {});
  const Form at =
      scan.reverse ? Form(steps - Poly(1)) - Form::coordinate(index) : Form::coordinate(index);
  env_.spans[scan.along] = {{at}, {at + Form(1)}, 1, 1};
  // The targets of all rows from one of the states: b of the affine maps.
  const auto store_from = [&](const State& from) {
    states_ = {from, from};
    Nest n;
    n.points = points;
    std::vector<ExprId> values;
    for (ExprId v : values_) values.push_back(from_states(v));
    n.stores = target_stores(values);
    states_.clear();
    run_stores(n, false);
  };
  if (scan.exclusive) store_from(now);

  std::vector<Form> before;
  for (DimId d : dims) before.push_back(Form::coordinate(d == row ? column : d));
  const Fold& fold = node_.folds[0];
  const ExprId left = state_leaf(g, What::left, 0, Kind::real);
  Part part;
  part.identity = g.pool.real(0);
  part.initial = fold.args[1];
  part.step = g.make(tang::Op::add, left,
                     g.make(tang::Op::mul, fold.args[0], g.read(now.tensor, std::move(before))));
  part.combine = g.make(tang::Op::add, left, state_leaf(g, What::right, 0, Kind::real));
  part.varies = dims;
  Nest product;
  product.points = points;
  product.reduce = {column};
  product.parts = {part};
  product.monoids = {*builtin_monoid(g, "sum", std::vector<Kind>{Kind::real})};
  product.stores = {store(next, left)};
  run_nest(std::move(product));
  if (!scan.exclusive) store_from(next);
  fill(now, read(next));
  b.close();
  env_.spans.erase(scan.along);
}

}  // namespace tang::tile
