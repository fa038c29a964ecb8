#include "rewrite/rule.h"

#include "ir/print.h"

namespace tang {

namespace {

constexpr Rule table[] = {
    {"canonicalise", "syntactic", "tests/law/rewrite", true,
     "simplify bodies and merge equal definitions", canonicalise},
    {"promote_guards", "guard_promote", "tests/law/rewrite", true,
     "a condition that else gives the identity becomes a term guard", promote_guards,
     promote_read_guards},
    {"substitute_maps", "fuse_map_map, fuse_map_reduce, fuse_guarded, fuse_gather_affine",
     "tests/law/rewrite", true, "a map's body replaces reads of it", substitute_maps},
    {"split_weights", "sum_add", "tests/law/rewrite", false,
     "a sum over different softmax weights becomes a sum of sums", split_weights},
    {"hoist_invariant_factors", "hoist_sum, hoist_max", "tests/law/rewrite", false,
     "factors free of the reduced coordinates leave the fold", hoist_invariant_factors,
     hoist_out_of_maxima},
    {"denest", "denest", "tests/law/rewrite", false,
     "two nested contractions take the order of fewer multiplications", denest_contractions},
    {"shift_softmax", "softmax_shift", "tests/law/rewrite", false,
     "sums of exponentials below another shift, or none, get the max of their scores",
     shift_softmax},
    {"stabilize_softmax", "os_two_pass, os_masked", "tests/law/rewrite", false,
     "a max and the sums of exponentials below it become one online fold", stabilize_softmax},
    {"logsumexp", "softmax_shift", "tests/law/rewrite", false,
     "the log of a sum of exponentials becomes m + log l of an online fold", recognise_logsumexp},
    {"welford", "welford_two_pass", "tests/law/rewrite", false,
     "a mean and a second moment become one moments fold", recognise_welford},
    {"topk", "topk_merge", "tests/law/rewrite", true,
     "a chain of arg-maxima, each without those before, becomes one top-k", recognise_topk},
    {"merge_siblings", "fold_prod", "tests/law/rewrite", true,
     "folds over one index set become one fold of a product", merge_siblings},
    {"epilogue", "epilogue", "tests/law/rewrite", true,
     "a map over a fold's points becomes the fold's epilogue", fuse_epilogue},
    {"split", "fold_split, fold_perm", "tests/law/rewrite", false,
     "a fold's parts are folded first and their states stored, where a schedule asks", nullptr},
};

}  // namespace

std::span<const Rule> rules() { return table; }

ExprId Rewriting::simplify(ExprId e) {
  return tang::simplify(g.pool, e, math, [this](const ExprNode& n) { return g.rebuild(n); });
}

std::string Rewriting::name(NodeId id) const { return g[g[id].targets[0].tensor].name; }

std::vector<std::string> Rewriting::texts(const std::vector<NodeId>& nodes) const {
  std::vector<std::string> result;
  if (!keep_texts_) return result;
  for (NodeId id : nodes)
    if (g[id].alive) result.push_back(print_node(g, id));
  return result;
}

void Rewriting::fired(std::string_view rule, std::string law, std::string summary,
                      std::vector<std::string> before, const std::vector<NodeId>& after) {
  LogEntry entry;
  entry.rule = rule;
  entry.law = std::move(law);
  entry.summary = std::move(summary);
  entry.before = std::move(before);
  entry.after = texts(after);
  for (NodeId id : after)
    if (g[id].alive && entry.node.empty()) entry.node = name(id);
  log.push_back(std::move(entry));
}

void Rewriting::missed(std::string_view rule, NodeId node, std::string condition) {
  near.insert({std::string(rule), name(node), std::move(condition)});
}

}  // namespace tang
