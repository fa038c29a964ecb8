#include "rewrite/pipeline.h"

#include <algorithm>
#include <iterator>

#include "rewrite/edit.h"

namespace tang {

namespace {

// Every rule lowers its measure, so rounds are few; the bound only guards against a rule that does
// not.
constexpr int max_rounds = 100;

// True if `name` is one of the comma- or space-separated names of an application's summary.
bool mentions(const std::string& summary, const std::string& name) {
  for (size_t at = summary.find(name); at != std::string::npos; at = summary.find(name, at + 1)) {
    const auto boundary = [&](size_t k) {
      return k >= summary.size() || summary[k] == ' ' || summary[k] == ',';
    };
    if ((at == 0 || boundary(at - 1)) && boundary(at + name.size())) return true;
  }
  return false;
}

// A near miss is worth telling when its definition is still there and the rule never took it.
bool still_missed(const Rewriting& rw, const NearMiss& miss, const std::vector<LogEntry>& log) {
  const auto t = rw.g.find_tensor(miss.node);
  if (!t || rw.g[*t].node == NodeId::none || !rw.g[rw.g[*t].node].alive) return false;
  return std::none_of(log.begin(), log.end(), [&](const LogEntry& entry) {
    return entry.rule == miss.rule && mentions(entry.summary, miss.node);
  });
}

}  // namespace

Derivation derive(const Graph& naive, const DeriveOptions& options) {
  Derivation result{naive, naive, {}, {}};
  Rewriting rw(result.derived, options.math, options.keep_texts);
  remove_dead(result.derived);
  const auto apply_all = [&](bool late) {
    bool changed = false;
    for (const Rule& rule : rules()) {
      if (options.math == MathMode::ieee && !rule.exact) continue;
      const bool stop =
          options.stop_after >= 0 && rw.log.size() >= static_cast<size_t>(options.stop_after);
      if (stop) break;
      if (const auto apply = late ? rule.late : rule.apply) changed |= apply(rw);
    }
    return changed;
  };
  for (int round = 0; round < max_rounds; ++round)
    if (!apply_all(false) && !apply_all(true)) break;
  result.log = std::move(rw.log);
  std::copy_if(rw.near.begin(), rw.near.end(), std::back_inserter(result.near),
               [&](const NearMiss& miss) { return still_missed(rw, miss, result.log); });
  return result;
}

}  // namespace tang
