// 5.6 topk: an arg-max chain is one top-k.
//
//   a_1 = argmax[x](g);  a_2 = argmax[x](select(x == a_1, -inf, g));  …
//     =  (v[n], a[n]) = topk[x; n](g);  a_1 = a[0];  a_2 = a[1];  …
//
// One pass over x in place of k.
#include "ir/monoids.h"
#include "ir/topk_chain.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

class TopK {
 public:
  TopK(Rewriting& rw, std::vector<ChainMember> members)
      : rw(rw), g(rw.g), members_(std::move(members)) {}

  bool run() {
    const ChainMember& head = members_[0];
    size_t k = 0;
    Poly terms(1);
    for (const ChainMember& m : members_) k = std::max(k, m.rank + 1);
    for (DimId d : g[head.node].reduce) terms = terms * g.extent(d);
    const Poly count(static_cast<int64_t>(k));
    if (!(terms - count).proved_nonnegative()) {
      rw.missed("topk", head.node, "there may be fewer terms than the chain takes");
      return false;
    }
    std::vector<NodeId> touched;
    for (const ChainMember& m : members_) touched.push_back(m.node);
    const auto before = rw.texts(touched);
    const std::string summary = join_names(g, touched) + " as entries of one top-k";
    make_fold(head, count);
    for (const ChainMember& m : members_) pick(m);
    touched.insert(touched.begin(), fold_);
    rw.fired("topk", "topk_merge", summary, before, touched);
    return true;
  }

 private:
  ExprId turned(ExprId e, const ChainMember& m) { return m.smallest ? g.make(Op::neg, e) : e; }

  // The top-k, with tensors of the values and of their places.
  void make_fold(const ChainMember& head, const Poly& count) {
    const Kind real[] = {Kind::real};
    const MonoidId topk = *builtin_monoid(g, "topk", real);
    const DimId entry = g.add_dim(g.fresh_name("n"), count);
    const std::string base = rw.name(head.node);
    Node n = g[head.node];
    n.points.push_back(entry);
    n.guards = head.guards;
    n.folds = {Fold{topk, {turned(head.argument, head), n.folds[0].args[1]}, entry}};
    n.targets.clear();
    for (const Kind kind : {Kind::real, Kind::integer}) {
      Tensor t;
      t.name = g.fresh_name(base + (kind == Kind::real ? "_value" : "_index"));
      t.kind = kind;
      t.where = n.where;
      for (DimId d : n.points) t.shape.push_back(g.extent(d));
      const uint32_t number = kind == Kind::real ? 0 : 1;
      n.targets.push_back({g.add_tensor(std::move(t)), n.points, g.state(number, kind)});
    }
    value_ = n.targets[0].tensor, place_ = n.targets[1].tensor;
    fold_ = g.add_node(std::move(n));
  }

  // The member as maps that read its entry, one a target.
  void pick(const ChainMember& m) {
    std::vector<Form> at = m.at;
    at.push_back(Form(static_cast<int64_t>(m.rank)));
    const ExprId value = turned(g.read(value_, at), m), place = g.read(place_, at);
    Node n = g[m.node];
    n.reduce.clear();
    n.guards.clear();
    n.folds.clear();
    for (Target& t : n.targets)
      t.value = rw.simplify(substitute_leaves(g, t.value, [&](LeafId l) -> std::optional<ExprId> {
        if (g.leaf(l).what != Leaf::What::state) return std::nullopt;
        return g.leaf(l).number == 0 ? value : place;
      }));
    const std::vector<Target> targets = std::move(n.targets);
    n.targets = {targets[0]};
    g[m.node] = n;
    for (size_t k = 1; k < targets.size(); ++k) {
      n.targets = {targets[k]};
      g.add_node(n);
    }
  }

  Rewriting& rw;
  Graph& g;
  std::vector<ChainMember> members_;
  NodeId fold_ = NodeId::none;
  TensorId value_ = TensorId::none, place_ = TensorId::none;
};

}  // namespace

bool recognise_topk(Rewriting& rw) {
  std::map<NodeId, std::vector<ChainMember>> chains;
  for (ChainMember& m : topk_chains(rw.g)) {
    const NodeId head = m.head;
    chains[head].push_back(std::move(m));
  }
  bool any = false;
  for (auto& [head, members] : chains) any |= TopK(rw, std::move(members)).run();
  return any;
}

}  // namespace tang
