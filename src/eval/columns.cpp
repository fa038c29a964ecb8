#include "eval/columns.h"

#include <cmath>

#include "expr/apply.h"

namespace tang::oracle {

namespace {

template <class F>
void map_real(const Cell* a, Cell* out, int n, F f) {
  for (int l = 0; l < n; ++l) out[l].r = f(a[l].r);
}

template <class F>
void map_real(const Cell* a, const Cell* b, Cell* out, int n, F f) {
  for (int l = 0; l < n; ++l) out[l].r = f(a[l].r, b[l].r);
}

bool same(Cell x, Cell y) { return x.i == y.i; }

// For costly functions: lanes that differ only in a coordinate the operand does not depend on hold
// equal values side by side, so a lane takes its neighbour's result when the operands are the same.
template <class F>
void map_costly(const Cell* a, Cell* out, int n, F f) {
  Cell before{}, result{};
  for (int l = 0; l < n; ++l) {
    const Cell x = a[l];
    if (l == 0 || !same(x, before)) result.r = f(x.r);
    before = x;
    out[l] = result;
  }
}

template <class F>
void map_integer(const Cell* a, const Cell* b, Cell* out, int n, F f) {
  for (int l = 0; l < n; ++l)
    out[l].i =
        static_cast<int64_t>(f(static_cast<uint64_t>(a[l].i), static_cast<uint64_t>(b[l].i)));
}

template <class F>
void compare(const Cell* a, const Cell* b, bool real, Cell* out, int n, F f) {
  if (real)
    for (int l = 0; l < n; ++l) out[l].i = f(a[l].r, b[l].r);
  else
    for (int l = 0; l < n; ++l) out[l].i = f(a[l].i, b[l].i);
}

// Any operation, one lane at a time, by its definition.
void by_definition(const Instruction& in, const Cell* a, const Cell* b, const Cell* c, Cell* out,
                   int n) {
  const Cell* columns[3] = {a, b, c};
  Cell before[3] = {}, result{};
  for (int l = 0; l < n; ++l) {
    Value x[3];
    bool repeated = l > 0;
    for (size_t k = 0; k < 3; ++k) {
      if (!columns[k]) continue;
      const Cell cell = columns[k][l];
      repeated = repeated && same(cell, before[k]);
      before[k] = cell;
      x[k] = value_of(in.kinds[k], cell);
    }
    if (!repeated) result = cell_of(apply(in.op, in.format, x[0], x[1], x[2], in.kind));
    out[l] = result;
  }
}

bool apply_real(Op op, const Cell* a, const Cell* b, Cell* out, int n) {
  switch (op) {
    case Op::add:
      map_real(a, b, out, n, [](double x, double y) { return x + y; });
      return true;
    case Op::sub:
      map_real(a, b, out, n, [](double x, double y) { return x - y; });
      return true;
    case Op::mul:
      map_real(a, b, out, n, [](double x, double y) { return x * y; });
      return true;
    case Op::quot:
      map_real(a, b, out, n, [](double x, double y) { return x * (1.0 / y); });
      return true;
    case Op::max:
      map_real(a, b, out, n,
               [](double x, double y) { return x < y ? y : (y < 1 ? x : (0 < y ? x : y)); });
      return true;
    case Op::min:
      map_real(a, b, out, n,
               [](double x, double y) { return y < x ? y : (y < 1 ? x : (0 < y ? x : y)); });
      return true;
    case Op::neg:
      map_real(a, out, n, [](double x) { return -x; });
      return true;
    case Op::recip:
      map_real(a, out, n, [](double x) { return 1.0 / x; });
      return true;
    case Op::abs:
      map_real(a, out, n, [](double x) { return x < 0 ? -x : x; });
      return true;
    case Op::relu:
      map_real(a, out, n, [](double x) { return x < 0 ? 0 : x; });
      return true;
    case Op::sqrt:
      map_real(a, out, n, [](double x) { return std::sqrt(x); });
      return true;
    case Op::exp:
      map_costly(a, out, n, [](double x) { return std::exp(x); });
      return true;
    case Op::log:
      map_costly(a, out, n, [](double x) { return std::log(x); });
      return true;
    default:
      return false;
  }
}

bool apply_integer(Op op, const Cell* a, const Cell* b, Cell* out, int n) {
  switch (op) {
    case Op::add:
      map_integer(a, b, out, n, [](uint64_t x, uint64_t y) { return x + y; });
      return true;
    case Op::sub:
      map_integer(a, b, out, n, [](uint64_t x, uint64_t y) { return x - y; });
      return true;
    case Op::mul:
      map_integer(a, b, out, n, [](uint64_t x, uint64_t y) { return x * y; });
      return true;
    default:
      return false;
  }
}

bool apply_bool(const Instruction& in, const Cell* a, const Cell* b, Cell* out, int n) {
  const bool real = in.kinds[0] == Kind::real;
  switch (in.op) {
    case Op::lt:
      compare(a, b, real, out, n, [](auto x, auto y) { return x < y; });
      return true;
    case Op::le:
      compare(a, b, real, out, n, [](auto x, auto y) { return x <= y; });
      return true;
    case Op::eq:
      compare(a, b, real, out, n, [](auto x, auto y) { return x == y; });
      return true;
    case Op::logical_and:
      for (int l = 0; l < n; ++l) out[l].i = a[l].i & b[l].i;
      return true;
    case Op::logical_or:
      for (int l = 0; l < n; ++l) out[l].i = a[l].i | b[l].i;
      return true;
    case Op::logical_not:
      for (int l = 0; l < n; ++l) out[l].i = a[l].i ^ 1;
      return true;
    default:
      return false;
  }
}

void convert(const Instruction& in, const Cell* a, Cell* out, int n) {
  const Kind from = in.kinds[0];
  if (in.kind == from) {
    for (int l = 0; l < n; ++l) out[l] = a[l];
  } else if (in.kind == Kind::real) {
    for (int l = 0; l < n; ++l) out[l].r = static_cast<double>(a[l].i);
  } else if (in.kind == Kind::boolean) {
    if (from == Kind::real)
      for (int l = 0; l < n; ++l) out[l].i = a[l].r != 0;
    else
      for (int l = 0; l < n; ++l) out[l].i = a[l].i != 0;
  } else if (from == Kind::boolean) {
    for (int l = 0; l < n; ++l) out[l].i = a[l].i;
  } else {
    for (int l = 0; l < n; ++l) out[l].i = Value::real(a[l].r).as_integer();
  }
}

}  // namespace

void apply_columns(const Instruction& in, const Cell* a, const Cell* b, const Cell* c, Cell* out,
                   int n) {
  if (in.what == Instruction::What::convert) return convert(in, a, out, n);
  if (in.op == Op::select) {
    for (int l = 0; l < n; ++l) out[l] = a[l].i != 0 ? b[l] : c[l];
    return;
  }
  if (in.kind == Kind::boolean && apply_bool(in, a, b, out, n)) return;
  if (in.kind == Kind::real && apply_real(in.op, a, b, out, n)) return;
  if (in.kind == Kind::integer && apply_integer(in.op, a, b, out, n)) return;
  by_definition(in, a, b, c, out, n);
}

}  // namespace tang::oracle
