#include "schedule/threads.h"

#include <algorithm>
#include <cmath>

#include "ir/variance.h"
#include "schedule/estimate.h"

namespace tang {

namespace {

constexpr double operations_per_ns = 32, bytes_per_ns = 16;  // of one thread, at best
constexpr int64_t longest_expression = 1000;

// Terms of a scan, one after the other.
bool runs_along(const Node& n, DimId d) { return n.scan && n.scan->along == d; }

class Threads {
 public:
  Threads(const Graph& graph, KernelPlan& plan, const PlanOptions& options, const KernelPins* pins)
      : g(graph), k_(plan), n_(graph[plan.node]), options_(options), pins_(pins) {}

  void run() {
    const bool asked = pins_ && pins_->threads;
    const int64_t threads = asked ? *pins_->threads : options_.threads;
    if (asked) k_.threads = threads;
    if (threads <= 1 || n_.points.empty() || (n_.scan && n_.scan->matrix)) return;
    if (!asked && time_ns() < options_.shared_ns) return;
    k_.threads = threads;
    if (!pins_ || !pins_->blocks) {
      drop_single_blocks();
      if (k_.rows.empty() && !is_enough()) cut();
    }
    if (!asked && !shares_loop(g, k_)) k_.threads = 1;
  }

 private:
  double size(DimId d) const { return size_of(g, g.extent(d), options_); }

  // ---- work ------------------------------------------------------------------------------------

  double operations(const Node& n) const {
    double points = 1, terms = 1, each = 0;
    for (DimId d : n.points) points *= size(d);
    for (DimId d : n.reduce) terms *= size(d);
    for (const Fold& f : n.folds)
      for (ExprId e : f.args) each += static_cast<double>(tree_size(g.pool, e, longest_expression));
    double last = 0;
    for (const Target& t : n.targets)
      last += static_cast<double>(tree_size(g.pool, t.value, longest_expression));
    return points * (terms * each + last);
  }

  double bytes(const Node& n) const {
    double total = 0;
    for (TensorId t : tensors_read(g, n)) total += bytes_of(g, t, options_);
    for (const Target& t : n.targets) total += bytes_of(g, t.tensor, options_);
    return total;
  }

  // A lower bound of the kernel's time on one thread.
  double time_ns() const {
    double work = operations(n_);
    for (NodeId i : k_.inlined) work += operations(g[i]);
    for (const KernelPlan& r : k_.rows) work += operations(g[r.node]);
    return std::max(work / operations_per_ns, bytes(n_) / bytes_per_ns);
  }

  // ---- loops -----------------------------------------------------------------------------------

  // A loop of one step would be the one that is shared.
  void drop_single_blocks() {
    if (!k_.rows.empty()) return;  // their points are those of the first blocks
    for (size_t at = 0; at < k_.blocks.size();) {
      if (!is_point(k_.blocks[at].dim) || g.extent(k_.blocks[at].dim).constant() != 1) {
        ++at;
        continue;
      }
      k_.blocks.erase(k_.blocks.begin() + static_cast<long>(at));
      for (StagePlan& s : k_.stages) s.level -= s.level > at ? 1 : 0;
    }
  }

  bool is_point(DimId d) const {
    return contains(n_.points, d) && !runs_along(n_, d) &&
           std::all_of(n_.targets.begin(), n_.targets.end(),
                       [&](const Target& t) { return contains(t.points, d); });
  }

  // Threads get about the same number of steps.
  bool is_even(double steps) const {
    const auto threads = static_cast<double>(k_.threads);
    const double rounds = std::ceil(steps / threads);
    return steps >= threads && steps >= 0.85 * rounds * threads;
  }

  bool is_enough() const {
    if (!k_.blocks.empty()) {
      const BlockLoop& b = k_.blocks[0];
      return is_point(b.dim) && is_even(std::ceil(size(b.dim) / static_cast<double>(b.step)));
    }
    for (DimId d : k_.nest.points)
      if (g.extent(d).constant() != 1)
        return is_even(std::ceil(size(d) / static_cast<double>(unit(d))));
    return false;
  }

  // What parts of a coordinate are multiples of.
  int64_t unit(DimId d) const {
    int64_t unit = 1;
    for (const TileDim& t : k_.nest.tile)
      if (t.dim == d) unit = t.size();
    for (const BlockLoop& b : k_.blocks)
      if (b.dim == d) return std::max(unit, b.step);
    return unit;
  }

  // The outermost loop becomes one over even parts of the coordinate that has most to give.
  void cut() {
    if (k_.pivot && (k_.blocks.empty() || !is_point(k_.blocks[0].dim))) return;
    std::optional<DimId> best;
    double most = 1;
    for (DimId d : n_.points) {
      const bool in_blocks = std::any_of(k_.blocks.begin(), k_.blocks.end(),
                                         [d](const BlockLoop& b) { return b.dim == d; });
      if (!is_point(d) || (k_.pivot && !in_blocks)) continue;
      const double steps = std::ceil(size(d) / static_cast<double>(unit(d)));
      if (steps <= most) continue;
      best = d;
      most = steps;
    }
    if (!best) return;
    const auto threads = static_cast<double>(k_.threads);
    const int64_t each = unit(*best);
    const auto step = static_cast<int64_t>(std::ceil(most / threads)) * each;
    k_.blocks.insert(k_.blocks.begin(), {*best, step});
    for (StagePlan& s : k_.stages) s.level += s.prepared ? 0 : 1;
  }

  const Graph& g;
  KernelPlan& k_;
  const Node& n_;
  const PlanOptions& options_;
  const KernelPins* pins_;
};

}  // namespace

void plan_threads(const Graph& g, KernelPlan& k, const PlanOptions& options,
                  const KernelPins* pins) {
  Threads(g, k, options, pins).run();
}

bool shares_loop(const Graph& g, const KernelPlan& k) {
  const Node& n = g[k.node];
  const auto in_all = [&](DimId d) {
    return std::all_of(n.targets.begin(), n.targets.end(),
                       [d](const Target& t) { return contains(t.points, d); });
  };
  if (n.scan && n.scan->matrix) return false;
  for (const BlockLoop& b : k.blocks) {
    const auto extent = g.extent(b.dim).constant();
    if (extent && *extent > 0 && *extent <= b.step) continue;  // no loop
    return contains(n.points, b.dim) && !runs_along(n, b.dim) && in_all(b.dim);
  }
  const bool keeps_states = std::any_of(k.blocks.begin(), k.blocks.end(), [&](const BlockLoop& b) {
    return contains(n.reduce, b.dim);
  });
  if (k.pivot || keeps_states) return false;
  const bool some =
      std::any_of(n.points.begin(), n.points.end(), [&](DimId d) { return !runs_along(n, d); });
  return some && std::all_of(n.points.begin(), n.points.end(), in_all);
}

}  // namespace tang
