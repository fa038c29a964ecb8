#include "rewrite/pipeline.h"

#include "rewrite/edit.h"

namespace tang {

namespace {

// Every rule lowers its measure, so rounds are few; the bound only guards against a rule that does not.
constexpr int max_rounds = 100;

}  // namespace

Derivation derive(const Graph& naive, const DeriveOptions& options) {
  Derivation result{naive, naive, {}, {}};
  Rewriting rw(result.derived, options.math, options.keep_texts);
  remove_dead(result.derived);
  for (int round = 0; round < max_rounds; ++round) {
    rw.near.clear();
    bool changed = false;
    for (const Rule& rule : rules()) {
      if (options.math == MathMode::ieee && !rule.exact) continue;
      const bool stop = options.stop_after >= 0 && rw.log.size() >= static_cast<size_t>(options.stop_after);
      if (stop) break;
      changed |= rule.apply(rw);
    }
    if (!changed) break;
  }
  result.log = std::move(rw.log);
  result.near.assign(rw.near.begin(), rw.near.end());
  return result;
}

}  // namespace tang
