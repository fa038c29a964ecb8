#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "eval/monoid_laws.h"
#include "verify/check.h"

namespace tang {

namespace {

Result<void> check_monoids(const Graph& g, uint64_t seed) {
  std::set<MonoidId> tested;
  for (NodeId id : g.order())
    for (const Fold& f : g[id].folds) {
      if (g[f.monoid].builtin || !tested.insert(f.monoid).second) continue;
      if (const auto counter = monoid_counterexample(g, f.monoid, seed)) {
        Diagnostic d =
            error("E0508", fmt::format("monoid `{}` breaks a law: {}", g[f.monoid].name, *counter),
                  "repair `identity` or `combine`, or leave out `commutative`", Exit::wrong_result)
                .value();
        d.where = g[id].where;
        return tl::unexpected(std::move(d));
      }
    }
  return {};
}

// The first flat index below its predecessor in its row; -1 if the values are sorted.
int64_t first_descent(const Values& v) {
  const int64_t row = v.shape.empty() ? 1 : v.shape.back();
  for (int64_t k = 1; k < v.elements(); ++k)
    if (k % row != 0 && v.at(k).as_real() < v.at(k - 1).as_real()) return k;
  return -1;
}

Result<void> check_sorted(const Graph& g, TensorId t, const Given& inputs) {
  OracleOptions full;
  full.extent = OracleOptions::Extent::full;
  const auto all = evaluate_tensors(g, bound_params(g), inputs, {t}, full);
  if (!all) return tl::unexpected(all.error());
  const Values& v = all->at(t);
  const int64_t k = first_descent(v);
  if (k < 0) return {};
  Diagnostic d =
      error("E0418",
            fmt::format("`sorted {}` does not hold: `{}[{}]` is {}, after {}", g[t].name, g[t].name,
                        coordinates_text(v.shape, k), v.at(k).as_real(), v.at(k - 1).as_real()),
            "give values that do not decrease along the last axis, or leave out `sorted`",
            Exit::wrong_result)
          .value();
  d.where = g[t].where;
  return tl::unexpected(std::move(d));
}

}  // namespace

Result<void> check_promises(const Graph& g, const Given& inputs, uint64_t seed) {
  if (auto laws = check_monoids(g, seed); !laws) return laws;
  for (size_t k = 0; k < g.tensors.size(); ++k)
    if (g.tensors[k].sorted)
      if (auto sorted = check_sorted(g, static_cast<TensorId>(k), inputs); !sorted) return sorted;
  return {};
}

}  // namespace tang
