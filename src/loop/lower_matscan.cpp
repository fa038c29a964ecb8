// matscan[t; x, y](A, B, H0): H(t)[x] = sum_y A[x, y]·H(t-1)[y] + B[x], step after step.
//
// Two rows of states hold H(t-1) and H(t) for the rows x and the block of the vector point:
//
//     now = H0
//     for t { next = B; for x, y { next[x] += A·now[y] }; store; now = next }
#include "loop/lower_kernel.h"

namespace tang::loop {

// A private array while it is small, workspace otherwise.
Slot KernelLowering::matrix_state(const char* name) {
  constexpr int64_t private_elements = 4096;
  Slot s;
  s.kind = Kind::real;
  s.inner = inner_;
  std::vector<Poly> shape;
  for (DimId d : s.inner) shape.push_back(plan_.vector == d ? Poly(plan_.block) : g.extent(d));
  Poly count = 1;
  for (const Poly& p : shape) count = count * p;
  if (const auto known = count.constant(); known && *known <= private_elements) {
    s.where = Slot::Where::array;
    s.array = b.array(name, x.type_of(s.kind), elements(s));
  } else {
    s.where = Slot::Where::buffer;
    s.buffer = scratch_(plan_.name + "_" + name, shape,
                        real_type() == Type::f64 ? Format::f64 : Format::f32);
  }
  return s;
}

void KernelLowering::matrix_scan() {
  const Scan& scan = *node_.scan;
  const Fold& fold = node_.folds[0];
  const int level = outer_count_;
  const Slot now = matrix_state("now");
  const Slot next = matrix_state("next");
  x.slots[fold_.base + 1] = next;  // b of the affine maps; targets read it

  // The loops over all elements of a state, from `depth` loops down.
  const auto over_rows = [&](int depth, const std::vector<ExprId>& roots, const auto& body) {
    for (size_t k = 0; k < inner_.size(); ++k)
      x.level_of[inner_[k]] = depth + 1 + static_cast<int>(k);
    Region r = x.region(roots, depth, depth);
    inner_loops(inner_, depth, r, [&] { body(r); });
  };
  const auto assign = [&](const Slot& to, Region& r, ExprId e) {
    x.store_slot(to, x.convert(x.value(r, e), Kind::real));
  };

  x.open();
  over_rows(level, scan.initial, [&](Region& r) { assign(now, r, scan.initial[0]); });
  x.close();
  Value step;
  const Value steps = b.poly(g.extent(scan.along));
  open_for(g[scan.along].name, b.integer(0), steps, {}, &step);
  x.level_of[scan.along] = level + 1;
  x.value_of[scan.along] = scan.reverse ? b.sub(b.sub(steps, b.integer(1)), step) : step;
  if (scan.exclusive) store_matrix(now);
  x.open();
  over_rows(level + 1, {fold.args[1]}, [&](Region& r) { assign(next, r, fold.args[1]); });
  x.close();
  add_product(now, next);
  if (!scan.exclusive) store_matrix(next);
  x.open();
  over_rows(level + 1, {}, [&](Region&) { x.store_slot(now, x.load_slot(next, {})); });
  x.close();
  close();
}

// next[x] += A[x, y]·now[y] at the present step.
void KernelLowering::add_product(const Slot& now, const Slot& next) {
  const DimId row = node_.scan->matrix->first, column = node_.scan->matrix->second;
  const ExprId factor = node_.folds[0].args[0];
  const int level = outer_count_ + 1;
  x.open();
  Value at_row, at_column;
  const Value size = b.poly(g.extent(row));
  x.level_of[row] = level + 1;
  x.level_of[column] = level + 2;
  std::vector<DimId> rest;
  for (DimId d : inner_)
    if (d != row) rest.push_back(d);
  for (DimId d : rest) x.level_of[d] = level + 3;
  Region r = x.region({factor}, level, level);
  x.prepare(r, level);
  open_for(g[row].name, b.integer(0), size, {}, &at_row);
  x.value_of[row] = at_row;
  x.prepare(r, level + 1);
  open_for(g[column].name, b.integer(0), size, {}, &at_column);
  x.value_of[column] = at_column;
  inner_loops(rest, level + 2, r, [&] {
    const Value a = x.convert(x.value(r, factor), Kind::real);
    x.inner_index[row] = {at_column, size};
    const Value h = x.load_slot(now, {});
    x.inner_index[row] = {at_row, size};
    const Value sum = x.load_slot(next, {});
    x.store_slot(next, plan_.contract ? b.fma(a, h, sum) : b.add(sum, b.mul(a, h)));
  });
  close(2);
  x.close();
}

// Stores the targets of all rows from one of the states.
void KernelLowering::store_matrix(const Slot& from) {
  x.slots[fold_.base + 1] = from;
  store_targets();
}

}  // namespace tang::loop
