#include "schedule/layout.h"

#include <algorithm>
#include <set>

namespace tang {

namespace {

using Place = OutputPlan::Place;

std::set<TensorId> reads_of(const Graph& g, const KernelPlan& k) {
  std::set<TensorId> result;
  const auto add = [&](NodeId id) {
    for (TensorId t : tensors_read(g, g[id])) result.insert(t);
  };
  add(k.node);
  for (NodeId i : k.inlined) add(i);
  return result;
}

// True if every read of `old` in the kernel is the element that it overwrites.
bool reads_own_element(const Graph& g, const KernelPlan& k, TensorId y, TensorId old) {
  const Node& n = g[k.node];
  for (NodeId i : k.inlined)
    for (TensorId t : tensors_read(g, g[i]))
      if (t == old) return false;
  const auto target = std::find_if(n.targets.begin(), n.targets.end(),
                                   [y](const Target& t) { return t.tensor == y; });
  if (target == n.targets.end()) return false;
  for (LeafId id : leaves_of(g, n)) {
    const Leaf& l = g.leaf(id);
    if (l.what != Leaf::What::read || l.tensor != old) continue;
    if (target->points != n.points) return false;
    for (size_t axis = 0; axis < l.forms.size(); ++axis)
      if (l.forms[axis].as_pick() != target->points[axis]) return false;
  }
  return true;
}

// Kernels in an order that respects reads and in-place writes, stable where free; false if none.
bool order_kernels(const Graph& g, Schedule& s) {
  const size_t count = s.kernels.size();
  std::vector<std::set<TensorId>> reads;
  std::vector<size_t> writer(g.tensors.size(), count);
  for (size_t k = 0; k < count; ++k) {
    reads.push_back(reads_of(g, s.kernels[k]));
    for (const Target& t : g[s.kernels[k].node].targets) writer[index(t.tensor)] = k;
  }
  std::vector<std::set<size_t>> after(count);
  std::vector<size_t> waiting(count, 0);
  const auto edge = [&](size_t a, size_t b) {
    if (a != count && b != count && a != b && after[a].insert(b).second) ++waiting[b];
  };
  for (size_t k = 0; k < count; ++k)
    for (TensorId t : reads[k]) edge(writer[index(t)], k);
  for (const OutputPlan& o : s.outputs)
    if (o.place == Place::in_place)
      for (size_t k = 0; k < count; ++k)
        if (reads[k].contains(o.into)) edge(k, writer[index(o.tensor)]);
  std::set<size_t> ready;
  for (size_t k = 0; k < count; ++k)
    if (waiting[k] == 0) ready.insert(k);
  std::vector<KernelPlan> ordered;
  while (!ready.empty()) {
    const size_t k = *ready.begin();
    ready.erase(ready.begin());
    ordered.push_back(s.kernels[k]);
    for (size_t next : after[k])
      if (--waiting[next] == 0) ready.insert(next);
  }
  if (ordered.size() != count) return false;
  s.kernels = std::move(ordered);
  return true;
}

}  // namespace

void place_outputs(const Graph& g, Schedule& s) {
  for (const Output& o : g.outputs) {
    OutputPlan p{o.tensor, o.into, Place::own};
    if (o.into != TensorId::none) {
      const auto k = std::find_if(s.kernels.begin(), s.kernels.end(),
                                  [&](const KernelPlan& x) { return x.node == g[o.tensor].node; });
      const bool possible = k != s.kernels.end() && !g.is_output(o.into) &&
                            reads_own_element(g, *k, o.tensor, o.into);
      p.place = possible ? Place::in_place : Place::copied;
    }
    s.outputs.push_back(p);
  }
  while (!order_kernels(g, s)) {
    const auto last = std::find_if(s.outputs.rbegin(), s.outputs.rend(),
                                   [](const OutputPlan& o) { return o.place == Place::in_place; });
    if (last == s.outputs.rend()) return;  // reads are acyclic, so this order always exists
    last->place = Place::copied;
  }
}

}  // namespace tang
