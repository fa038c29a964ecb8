// Binary search for the run of a sorted key (schedule/segment.h).
#include <bit>

#include "loop/lower_kernel.h"
#include "schedule/segment.h"

namespace tang::loop {

// The first position along d, 0 … extent, whose key is at least `wanted`.
Value KernelLowering::first_at_least(const Segment& s, DimId d, Value wanted, int level) {
  const Value extent = b.poly(g.extent(d));
  const Value lo = b.var("from", b.integer(0)), hi = b.var("until", extent);
  const auto known = g.extent(d).constant();
  const int steps = known ? std::bit_width(static_cast<uint64_t>(*known)) : 63;
  const auto had = x.value_of.find(d) == x.value_of.end() ? std::optional<Value>{}
                                                          : std::optional(x.value_of[d]);
  const auto level_before = x.level_of.contains(d) ? x.level_of[d] : level + 1;
  Value step;
  open_for("step", b.integer(0), b.integer(steps), {}, &step);
  open_if(b.lt(lo, hi));
  const Value middle = b.let("middle", b.div(b.add(lo, hi), b.integer(2)));
  x.level_of[d] = level + 1;
  x.value_of[d] = middle;
  const Value less = b.let("less", b.lt(x.eval(g.variable(g.leaf(s.key)), level + 1), wanted));
  b.assign(lo, b.select(less, b.add(middle, b.integer(1)), lo));
  b.assign(hi, b.select(less, hi, middle));
  close(2);
  x.level_of[d] = level_before;
  if (had)
    x.value_of[d] = *had;
  else
    x.value_of.erase(d);
  return b.let("at", lo);
}

// Narrows the bounds of a loop by a guard that names a run of it; false if it is none.
bool KernelLowering::narrow_to_segment(const Guard& guard, DimId d, int level, Bounds& bounds) {
  const auto s = segment_of(g, guard, d);
  if (!s) return false;
  bounds.plain = false;
  if (s->first) {
    const Value wanted = b.let("key", x.eval(g.iota(s->least), level));
    bounds.lo = b.let("lo", b.max(bounds.lo, first_at_least(*s, d, wanted, level)));
  }
  if (s->last) {
    const Value wanted = b.let("key", x.eval(g.iota(s->past), level));
    bounds.hi = b.let("hi", b.min(bounds.hi, first_at_least(*s, d, wanted, level)));
  }
  return true;
}

}  // namespace tang::loop
