#include "ir/topk_chain.h"

#include <algorithm>
#include <limits>
#include <set>

#include "expr/canon.h"
#include "ir/expand.h"
#include "ir/guards.h"
#include "ir/monoids.h"

namespace tang {

namespace {

class ChainFinder {
 public:
  explicit ChainFinder(Graph& graph) : g(graph), canon_(graph.pool) {}

  std::vector<ChainMember> run() {
    for (NodeId id : g.order())
      if (auto member = take(id)) found_.emplace(id, std::move(*member));
    std::set<NodeId> heads;
    for (const auto& [id, m] : found_)
      if (m.rank > 0) heads.insert(m.head);
    std::vector<ChainMember> result;
    for (NodeId id : g.order())
      if (const auto at = found_.find(id); at != found_.end() && heads.contains(at->second.head))
        result.push_back(at->second);
    return result;
  }

 private:
  std::optional<ChainMember> take(NodeId id) {
    const Node n = g[id];
    if (n.scan || n.folds.size() != 1 || n.folds[0].args.size() != 2) return std::nullopt;
    const MonoidId monoid = n.folds[0].monoid;
    const MonoidFacts known = facts(g, monoid);
    if (!g[monoid].flat_index || !(known.argmax || known.argmin)) return std::nullopt;
    ChainMember m;
    m.node = m.head = id;
    m.smallest = known.argmin;
    const std::vector<Leaf> excluded = strip(n, m);
    if (excluded.empty())
      for (DimId d : n.points) m.at.push_back(Form::coordinate(d));
    for (const Leaf& read : excluded)
      if (!extends(n, read, m)) return std::nullopt;
    m.rank = excluded.size();
    std::set<size_t> ranks;
    for (const Leaf& read : excluded) ranks.insert(found_.at(g[read.tensor].node).rank);
    if (ranks.size() != m.rank || (m.rank > 0 && *ranks.rbegin() + 1 != m.rank))
      return std::nullopt;
    return m;
  }

  // Sets what m compares and under which guards; returns the indices it leaves out, once each.
  std::vector<Leaf> strip(const Node& n, ChainMember& m) {
    std::set<Leaf> excluded;
    m.argument = expand_maps(g, n.folds[0].args[0]);
    const double worst = std::numeric_limits<double>::infinity() * (m.smallest ? 1 : -1);
    for (;;) {
      const ExprNode e = g.pool[m.argument];
      if (e.op != Op::select) break;
      const bool keeps_first = g.pool.is_number(e.args[2], worst);
      if (!keeps_first && !g.pool.is_number(e.args[1], worst)) break;
      const ExprId kept = keeps_first ? e.args[0] : g.make(Op::logical_not, e.args[0]);
      const std::vector<Guard> guards = guards_from(g, kept);
      std::vector<Leaf> here;
      for (const Guard& guard : guards)
        if (const auto read = exclusion(n, guard)) here.push_back(*read);
      if (here.size() != guards.size()) break;
      excluded.insert(here.begin(), here.end());
      m.argument = e.args[keeps_first ? 1 : 2];
    }
    for (const Guard& guard : n.guards)
      if (const auto read = exclusion(n, guard))
        excluded.insert(*read);
      else
        m.guards.push_back(guard);
    return {excluded.begin(), excluded.end()};
  }

  // The read a of a guard `r != a`, r the flat index of the reduce box.
  std::optional<Leaf> exclusion(const Node& n, const Guard& guard) {
    if (guard.what != Guard::What::data) return std::nullopt;
    const ExprNode negation = g.pool[guard.condition];
    if (negation.op != Op::logical_not) return std::nullopt;
    const std::vector<Guard> equal = guards_from(g, negation.args[0]);
    if (equal.size() != 1 || equal[0].what != Guard::What::zero) return std::nullopt;
    const Form& form = equal[0].form;
    if (form.gathers.size() != 1) return std::nullopt;
    const Poly c = form.gathers[0].coeff;
    if (c != Poly(1) && c != Poly(-1)) return std::nullopt;
    if (Poly(-1) * c * form != flat(n) - Form::gathered(form.gathers[0].leaf)) return std::nullopt;
    const Leaf leaf = g.leaf(form.gathers[0].leaf);
    return leaf.guarded ? std::nullopt : std::optional(leaf);
  }

  Form flat(const Node& n) const {
    Form f(0);
    for (DimId d : n.reduce) f = g.extent(d) * f + Form::coordinate(d);
    return f;
  }

  // `read` is the index of an earlier member that compares the same; sets m's head and where it is.
  bool extends(const Node& n, const Leaf& read, ChainMember& m) {
    const auto at = found_.find(g[read.tensor].node);
    if (at == found_.end()) return false;
    const ChainMember& earlier = at->second;
    const Node& e = g[earlier.node];
    const auto target = std::find_if(e.targets.begin(), e.targets.end(), [&](const Target& t) {
      return t.tensor == read.tensor && t.value == g.state(1, Kind::integer);
    });
    if (target == e.targets.end() || target->points != e.points ||
        e.reduce.size() != n.reduce.size() || earlier.smallest != m.smallest)
      return false;
    std::map<DimId, Form> image;
    for (size_t k = 0; k < read.forms.size(); ++k) image[target->points[k]] = read.forms[k];
    for (size_t k = 0; k < n.reduce.size(); ++k) {
      if (g.extent(e.reduce[k]) != g.extent(n.reduce[k])) return false;
      image[e.reduce[k]] = Form::coordinate(n.reduce[k]);
    }
    const DimMap there = [&](DimId d) -> std::optional<Form> {
      const auto found = image.find(d);
      return found == image.end() ? std::nullopt : std::optional(found->second);
    };
    std::vector<Guard> guards;
    for (const Guard& guard : earlier.guards) guards.push_back(substitute_dims(g, guard, there));
    std::sort(guards.begin(), guards.end());
    const ExprId argument = substitute_dims(g, earlier.argument, there);
    std::vector<Form> head_points;
    for (const Form& f : earlier.at) head_points.push_back(substitute_dims(g, f, there));
    if (m.at.empty()) m.head = earlier.head, m.at = head_points;
    return m.head == earlier.head && m.at == head_points && guards == m.guards &&
           almost_equal(canon_.sum(argument), canon_.sum(m.argument));
  }

  Graph& g;
  Canon canon_;
  std::map<NodeId, ChainMember> found_;
};

}  // namespace

std::vector<ChainMember> topk_chains(Graph& g) { return ChainFinder(g).run(); }

}  // namespace tang
