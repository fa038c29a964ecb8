#include "loop/ranges.h"

#include <algorithm>

namespace tang::loop {

void Ranges::loop(const Stmt& stmt) {
  const auto lo = of(stmt.a), hi = of(stmt.b);
  if (index(stmt.local) >= locals_.size() || !lo || !hi || hi->hi == INT64_MIN) return;
  locals_[index(stmt.local)] = Interval{lo->lo, hi->hi - 1};
}

void Ranges::let(const Stmt& stmt) {
  if (index(stmt.local) < locals_.size()) locals_[index(stmt.local)] = of(stmt.a);
}

std::optional<Interval> Ranges::binary(const Node& node) const {
  const auto a = of(node.args[0]), b = of(node.args[1]);
  if (!a || !b) return std::nullopt;
  if (a->lo > a->hi) return a;
  if (b->lo > b->hi) return b;
  Interval r;
  bool overflow = false;
  if (node.op == Op::add) {
    overflow |= __builtin_add_overflow(a->lo, b->lo, &r.lo);
    overflow |= __builtin_add_overflow(a->hi, b->hi, &r.hi);
  } else if (node.op == Op::sub) {
    overflow |= __builtin_sub_overflow(a->lo, b->hi, &r.lo);
    overflow |= __builtin_sub_overflow(a->hi, b->lo, &r.hi);
  } else {
    int64_t corners[4];
    overflow |= __builtin_mul_overflow(a->lo, b->lo, &corners[0]);
    overflow |= __builtin_mul_overflow(a->lo, b->hi, &corners[1]);
    overflow |= __builtin_mul_overflow(a->hi, b->lo, &corners[2]);
    overflow |= __builtin_mul_overflow(a->hi, b->hi, &corners[3]);
    r.lo = *std::min_element(corners, corners + 4);
    r.hi = *std::max_element(corners, corners + 4);
  }
  return overflow ? std::nullopt : std::optional(r);
}

std::optional<Interval> Ranges::of(Value value) const {
  if (value.id >= kernel_.nodes.size()) return std::nullopt;
  const Node& node = kernel_[value];
  if (node.shape() != Shape{Type::i64}) return std::nullopt;
  switch (node.op) {
    case Op::constant:
      return Interval{integer_value(node), integer_value(node)};
    case Op::local:
      return locals_[node.id];
    case Op::add:
    case Op::sub:
    case Op::mul:
      return binary(node);
    default:
      return std::nullopt;
  }
}

}  // namespace tang::loop
