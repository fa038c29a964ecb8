#include "schedule/segment.h"

#include <algorithm>

#include "ir/variance.h"

namespace tang {

std::optional<Segment> segment_of(const Graph& g, const Guard& guard, DimId d) {
  if (guard.what == Guard::What::data || guard.form.gathers.size() != 1) return std::nullopt;
  const Form::Gather gather = guard.form.gathers[0];
  const auto coeff = gather.coeff.constant();
  if (!coeff || (*coeff != 1 && *coeff != -1)) return std::nullopt;
  const Leaf& key = g.leaf(gather.leaf);
  if (key.what != Leaf::What::read || key.forms.empty() || !g[key.tensor].sorted)
    return std::nullopt;
  if (key.forms.back().as_pick() != d || g[key.tensor].shape.back() != g.extent(d))
    return std::nullopt;
  for (size_t axis = 0; axis + 1 < key.forms.size(); ++axis)
    if (contains(dims_of(g, key.forms[axis]), d)) return std::nullopt;
  Form rest = guard.form;
  rest.gathers.clear();
  if (contains(dims_of(g, rest), d)) return std::nullopt;
  Segment s;
  s.key = gather.leaf;
  const bool rising = *coeff == 1;  // key + rest >= 0; otherwise rest - key >= 0
  s.least = rising ? Poly(-1) * rest : rest;
  s.past = s.least + Form(1);
  s.first = rising || guard.what == Guard::What::zero;
  s.last = !rising || guard.what == Guard::What::zero;
  return s;
}

}  // namespace tang
