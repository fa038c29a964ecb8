// Running folds and triangles.
#include <algorithm>

#include "tile/machine_impl.h"

namespace tang::tile {

std::vector<double> Machine::combined(const Monoid& m, const std::vector<double>& a,
                                      const std::vector<double>& b) {
  std::vector<Body>& bodies = combines_[&m];
  if (bodies.empty())
    for (ExprId e : m.combine) bodies.emplace_back(k_.pool, e, false);
  std::vector<double> result;
  for (Body& body : bodies)
    result.push_back(body.value([&](uint32_t v) { return (v % 2 == 0 ? a : b)[v / 2]; }));
  return result;
}

// Element x is the fold of the elements up to x along the axis, all held by the warp.
void Machine::scan(Warp& w, const Op& op) {
  std::vector<Instance> args;
  for (ValueId v : op.args) {
    args.push_back(tile_of(w, v));
    if (!args.back().part) return;
  }
  const PlacementId p = args[0].part->placement;
  const Layout& l = layout(p, w.within);
  const auto& axes = k_[p].axes;
  const auto axis =
      static_cast<size_t>(std::find(axes.begin(), axes.end(), op.over[0]) - axes.begin());
  if (axis == axes.size() || k_[op.results[0]].type.placement != p)
    return fault(&w, &op, "a scan keeps its placement and runs along an axis of it");
  std::map<Point, std::map<int64_t, std::vector<size_t>>> lines;  // replicas of an element together
  for (size_t e = 0; e < l.at.size(); ++e) {
    Point x = l.point(e);
    const int64_t at = x[axis];
    x[axis] = 0;
    lines[x][at].push_back(e);
  }
  std::vector<std::shared_ptr<Part>> parts;
  for (size_t c = 0; c < op.results.size(); ++c) parts.push_back(new_part(p, w.within));
  for (const auto& [key, line] : lines) {
    std::vector<double> state;
    int64_t next = 0;
    for (const auto& [at, elements] : line) {
      if (at != next++) return fault(&w, &op, "this warp does not hold all of the axis");
      std::vector<double> term;
      for (const Instance& t : args) term.push_back(t.part->elements[elements[0]]);
      state = state.empty() ? term : combined(k_[op.monoid], state, term);
      for (size_t e : elements)
        for (size_t c = 0; c < parts.size(); ++c) parts[c]->elements[e] = state[c];
    }
  }
  for (size_t c = 0; c < parts.size(); ++c) result(w, op, c, std::move(parts[c]));
}

// X = I - A X over rows and columns, A's strict lower triangle in memory: a thread holds whole
// columns of X and takes them row by row.
void Machine::solve(Warp& w, const Op& op) {
  const PlacementId p = k_[op.results[0]].type.placement;
  const Layout& l = layout(p, w.within);
  const auto& axes = k_[p].axes;
  const auto axis_of = [&](DimId d) {
    return static_cast<size_t>(std::find(axes.begin(), axes.end(), d) - axes.begin());
  };
  const size_t row = axis_of(op.over[0]), column = axis_of(op.over[1]);
  const Place a = place(w, op.refs[0]);
  if (row == axes.size() || column == axes.size() || l.rank != 2)
    return fault(&w, &op, "the result has the rows and columns of the triangle");
  std::map<std::pair<size_t, int64_t>, std::map<int64_t, size_t>> columns;  // by lane and column
  for (size_t e = 0; e < l.at.size(); ++e) {
    const Point x = l.point(e);
    columns[{e / l.registers, x[column]}].emplace(x[row], e);
  }
  auto part = new_part(p, w.within);
  std::vector<int64_t> index = w.index;
  Point at;
  for (const auto& [key, elements] : columns) {
    int64_t next = 0;
    for (const auto& [t, e] : elements) {
      if (t != next++) return fault(&w, &op, "a thread does not hold all of a column");
      double sum = t == key.second ? 1 : 0;
      for (const auto& [s, other] : elements) {
        if (s >= t) break;
        index[tang::index(op.over[0])] = t, index[tang::index(op.over[1])] = s;
        if (!inside(a, index, at)) return fault(&w, &op, "out of bounds: outside of the triangle");
        const View mine = view(w, static_cast<int32_t>(key.first));
        sum -= read(a, at, mine) * part->elements[other];
      }
      part->elements[e] = sum;
    }
  }
  result(w, op, 0, std::move(part));
}

}  // namespace tang::tile
