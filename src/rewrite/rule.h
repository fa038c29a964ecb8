// Rewrites: equations of the algebra applied to a graph (algebra.md section 5).
//
// A Rule is data: its name, the laws it rests on, whether it is exact in IEEE (so `--math ieee` may
// use it), and a function that applies every instance it finds to a graph and logs each. The driver
// runs the rules in the order of algebra.md 5.8 to a fixed point; what a rule does `late` waits
// until then, since it would hide the patterns of others, and starts over. A rule that almost
// applied says which side condition failed; `tang derive --why-not` prints that.
//
// Each rule lowers a measure (maps between folds, hoistable factors, promotable selects, folds), so
// the fixed point is reached (algebra.md 11.18).
#pragma once

#include <set>
#include <span>

#include "expr/canon.h"
#include "expr/simplify.h"
#include "ir/graph.h"

namespace tang {

struct LogEntry {
  std::string rule;
  std::string law;                  // the laws this instance used, comma-separated
  std::string summary;              // "s into p_1, p"
  std::string node;                 // the definition that remains
  std::vector<std::string> before;  // printed definitions it touched
  std::vector<std::string> after;
};

struct NearMiss {
  std::string rule;
  std::string node;
  std::string condition;  // the side condition that failed, with names
  friend auto operator<=>(const NearMiss&, const NearMiss&) = default;
};

class Rewriting {
 public:
  Rewriting(Graph& graph, MathMode mode, bool keep_texts)
      : g(graph), math(mode), canon(graph.pool), keep_texts_(keep_texts) {}

  Graph& g;
  MathMode math;
  Canon canon;
  std::vector<LogEntry> log;
  std::set<NearMiss> near;

  ExprId simplify(ExprId e);
  std::string name(NodeId id) const;  // the first target's name
  std::vector<std::string> texts(const std::vector<NodeId>& nodes) const;
  // Records an application; `after` nodes that died are left out.
  void fired(std::string_view rule, std::string law, std::string summary,
             std::vector<std::string> before, const std::vector<NodeId>& after);
  void missed(std::string_view rule, NodeId node, std::string condition);

 private:
  bool keep_texts_;
};

struct Rule {
  std::string_view name;
  std::string_view law;   // names of algebra.md 5.15 and 10.2
  std::string_view test;  // where the law is tested
  bool exact;             // may fire under --math ieee
  std::string_view summary;
  bool (*apply)(Rewriting& rw);  // null: at a schedule's word (rewrite/split.h)
  bool (*late)(Rewriting& rw) = nullptr;
};

// In the order of use.
std::span<const Rule> rules();

// The rules' functions, one per file of this folder.
bool canonicalise(Rewriting& rw);
bool promote_guards(Rewriting& rw);
bool promote_read_guards(Rewriting& rw);  // late
bool substitute_maps(Rewriting& rw);
bool split_weights(Rewriting& rw);
bool hoist_invariant_factors(Rewriting& rw);
bool hoist_out_of_maxima(Rewriting& rw);  // late
bool denest_contractions(Rewriting& rw);
bool shift_softmax(Rewriting& rw);
bool stabilize_softmax(Rewriting& rw);
bool recognise_logsumexp(Rewriting& rw);
bool recognise_welford(Rewriting& rw);
bool recognise_topk(Rewriting& rw);
bool merge_siblings(Rewriting& rw);
bool fuse_epilogue(Rewriting& rw);

}  // namespace tang
