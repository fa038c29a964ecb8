// 5.7 split_weights: a sum of terms with different softmax weights is a sum of sums.
//
//   y = sum[j]((p - lambda * q) * v)   =   sum[j](p * v) - sum[j](lambda * q * v)
//
// with p and q weights below two maxima (differential attention): each sum then joins its own
// online fold. Other sums stay whole, since splitting them would only read twice.
#include <algorithm>

#include "ir/expand.h"
#include "ir/softmax.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

class SplitWeights {
 public:
  SplitWeights(Rewriting& rw, NodeId id, const std::vector<MaxFold>& maxima)
      : rw(rw), g(rw.g), id_(id), maxima_(maxima) {}

  bool run() {
    std::map<std::set<TensorId>, ExprId> groups;  // by the maxima of their weights
    for (ExprId e : addends(g, g[id_].folds[0].args[0])) {
      const auto [it, fresh] = groups.try_emplace(maxima_of(e), e);
      if (!fresh) it->second = g.make(Op::add, it->second, e);
    }
    const bool mixed =
        std::any_of(groups.begin(), groups.end(), [](const auto& x) { return x.first.size() > 1; });
    const auto weighted = std::count_if(groups.begin(), groups.end(),
                                        [](const auto& x) { return x.first.size() == 1; });
    if (mixed || weighted < 2) return false;
    split(groups);
    return true;
  }

 private:
  std::set<TensorId> maxima_of(ExprId e) {
    std::vector<DimId> coordinates = g[id_].points;
    coordinates.insert(coordinates.end(), g[id_].reduce.begin(), g[id_].reduce.end());
    std::set<TensorId> found;
    for (ExprId x : g.pool.reachable(e)) {
      if (g.pool[x].op != Op::exp) continue;
      const ExprId exponent = expand_maps(g, g.pool[x].args[0]);
      if (const auto w = match_weight(g, rw.canon, maxima_, exponent, coordinates, nullptr, true))
        found.insert(w->max.tensor);
    }
    return found;
  }

  void split(const std::map<std::set<TensorId>, ExprId>& groups) {
    const auto before = rw.texts({id_});
    const std::string summary = rw.name(id_);
    Node map = g[id_];
    std::vector<Form> at;
    std::vector<Poly> shape;
    for (DimId d : map.points) {
      at.push_back(Form::coordinate(d));
      shape.push_back(g.extent(d));
    }
    std::vector<NodeId> touched;
    ExprId total = ExprId::none;
    for (const auto& [maxima, e] : groups) {
      Tensor t;
      t.name = g.fresh_name(summary + "_1");
      t.shape = shape;
      const TensorId made = g.add_tensor(t);
      Node sum = map;
      sum.folds[0].args[0] = rw.simplify(e);
      sum.targets = {{made, map.points, g.state(0, Kind::real)}};
      touched.push_back(g.add_node(sum));
      const ExprId read = g.read(made, at);
      total = total == ExprId::none ? read : g.make(Op::add, total, read);
    }
    const uint32_t own = g.pool[g.state(0, Kind::real)].variable();
    for (Target& t : map.targets)
      t.value = rw.simplify(substitute_leaves(
          g, t.value, [&](LeafId l) { return l == own ? std::optional(total) : std::nullopt; }));
    map.folds.clear();
    map.reduce.clear();
    map.guards.clear();
    g[id_] = map;
    touched.push_back(id_);
    rw.fired("split_weights", "sum_add", summary, before, touched);
  }

  Rewriting& rw;
  Graph& g;
  NodeId id_;
  const std::vector<MaxFold>& maxima_;
};

}  // namespace

bool split_weights(Rewriting& rw) {
  const std::vector<MaxFold> maxima = max_folds(rw.g);
  if (maxima.size() < 2) return false;
  bool any = false;
  for (NodeId id : rw.g.order())
    if (!rw.g[id].is_map() && is_sum_fold(rw.g, rw.g[id]))
      any |= SplitWeights(rw, id, maxima).run();
  return any;
}

}  // namespace tang
