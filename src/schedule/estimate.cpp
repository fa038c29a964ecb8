#include "schedule/estimate.h"

#include "ir/variance.h"

namespace tang {

double size_of(const Graph& g, const Poly& p, const PlanOptions& options) {
  double total = 0;
  for (const Poly::Term& t : p.terms()) {
    auto product = static_cast<double>(t.coeff);
    for (ParamId id : t.params)
      product *= static_cast<double>(g[id].bound.value_or(options.unknown_extent));
    total += product;
  }
  return total;
}

double bytes_of(const Graph& g, TensorId t, const PlanOptions& options) {
  const FormatInfo& f = info(g[t].storage());
  const double bytes = f.bits > 0 ? f.bits / 8.0 : static_cast<double>(f.block_bytes) / f.block;
  return size_of(g, volume(g[t].shape), options) * bytes;
}

}  // namespace tang
