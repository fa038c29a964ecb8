// 5.6 logsumexp: log(sum exp s) = m + log l of the online fold of s, which cannot overflow.
//
// The form that subtracts a max, m + log(sum exp(s - m)), needs no rule of its own:
// stabilize_softmax makes (m, l) one fold and the epilogue adds the log.
#include <algorithm>

#include "ir/monoids.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

class LogSumExp {
 public:
  LogSumExp(Rewriting& rw, NodeId id) : rw(rw), g(rw.g), id_(id) {}

  bool run() {
    const Node n = g[id_];
    const ExprNode weight = g.pool[n.folds[0].args[0]];
    if (weight.op != Op::exp) return false;
    const ExprId state = g.state(0, Kind::real);
    if (n.targets.size() == 1 && n.targets[0].value == state)
      return run_on_readers(n, weight.args[0]);
    bool below_log = false, elsewhere = false;
    for (const Target& t : n.targets) {
      const bool only = only_below_log(t.value, g.pool[state].variable());
      (only ? below_log : elsewhere) = true;
    }
    if (below_log && elsewhere) missed();
    if (elsewhere) return false;
    const auto before = rw.texts({id_});
    Node m = online(n, weight.args[0]);
    for (Target& t : m.targets) t.value = without_log(t.value, state, fused());
    g[id_] = m;
    rw.fired("logsumexp", "softmax_shift", rw.name(id_), before, {id_});
    return true;
  }

 private:
  void missed() {
    rw.missed("logsumexp", id_, "the sum of exponentials is also read outside a log");
  }

  // log of the sum's tensor in other definitions becomes a read of m + log l.
  bool run_on_readers(const Node& n, ExprId score) {
    const TensorId t = n.targets[0].tensor;
    std::vector<NodeId> readers = g.readers()[index(t)];
    if (readers.empty()) return false;
    bool below_log = false, elsewhere = g.is_output(t);
    for (NodeId r : readers)
      for_each_expr(g[r], [&](ExprId e) { scan_uses(e, t, below_log, elsewhere); });
    if (!below_log) return false;
    if (elsewhere) {
      missed();
      return false;
    }
    std::vector<NodeId> touched = {id_};
    touched.insert(touched.end(), readers.begin(), readers.end());
    const auto before = rw.texts(touched);
    Tensor lse = g[t];
    lse.name = g.fresh_name(lse.name + "_lse");
    const TensorId made = g.add_tensor(lse);
    Node m = online(n, score);
    m.targets = {{made, n.targets[0].points, fused()}};
    g[id_] = m;
    g[made].node = id_;
    for (NodeId r : readers) {
      Node reader = g[r];
      map_exprs(reader, [&](ExprId e) { return log_reads_replaced(e, t, made); });
      g[r] = reader;
    }
    rw.fired("logsumexp", "softmax_shift", join_names(g, touched), before, touched);
    return true;
  }

  Node online(Node n, ExprId score) {
    const Kind real = Kind::real;
    n.folds[0].monoid = *builtin_monoid(g, "online", std::span(&real, 1));
    n.folds[0].args = {score};
    return n;
  }

  ExprId fused() {
    return g.make(Op::add, g.state(0, Kind::real), g.make(Op::log, g.state(1, Kind::real)));
  }

  bool only_below_log(ExprId value, uint32_t state) {
    bool found = false;
    for (ExprId id : g.pool.reachable(value)) {
      const ExprNode& n = g.pool[id];
      for (ExprId a : n.operands())
        if (g.pool[a].op == Op::var && g.pool[a].variable() == state) {
          if (n.op != Op::log) return false;
          found = true;
        }
    }
    return found;
  }

  void scan_uses(ExprId e, TensorId t, bool& below_log, bool& elsewhere) {
    const auto reads = [&](ExprId x) {
      return g.pool[x].op == Op::var && g.leaf_of(x).tensor == t &&
             g.leaf_of(x).what == Leaf::What::read;
    };
    elsewhere |= reads(e);
    for (ExprId id : g.pool.reachable(e))
      for (ExprId a : g.pool[id].operands())
        if (reads(a)) (g.pool[id].op == Op::log ? below_log : elsewhere) = true;
  }

  ExprId without_log(ExprId value, ExprId operand, ExprId by) {
    return rewrite_expr(g, value, [&](ExprId old, const ExprNode& now) {
      const bool found = now.op == Op::log && g.pool[old].args[0] == operand;
      return found ? std::optional(by) : std::nullopt;
    });
  }

  ExprId log_reads_replaced(ExprId e, TensorId t, TensorId made) {
    std::vector<ExprId> reads;
    for (ExprId id : g.pool.reachable(e))
      if (g.pool[id].op == Op::var && g.leaf_of(id).tensor == t) reads.push_back(id);
    for (ExprId read : reads) {
      Leaf leaf = g.leaf_of(read);
      leaf.tensor = made;
      e = without_log(e, read, g.variable(leaf));
    }
    return e;
  }

  Rewriting& rw;
  Graph& g;
  NodeId id_;
};

}  // namespace

bool recognise_logsumexp(Rewriting& rw) {
  bool any = false;
  for (NodeId id : rw.g.order())
    if (is_sum_fold(rw.g, rw.g[id])) any |= LogSumExp(rw, id).run();
  return any;
}

}  // namespace tang
