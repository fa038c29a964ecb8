#include "ir/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ir/expand.h"
#include "ir/guards.h"
#include "ir/monoids.h"

namespace tang {

namespace {

bool is_state(const Graph& g, ExprId e, uint32_t number) {
  const ExprNode& n = g.pool[e];
  return n.op == Op::var && g.leaf(n.variable()).what == Leaf::What::state &&
         g.leaf(n.variable()).number == number;
}

// The coordinates of `max` as the reader's: points become `at`, J becomes `over`.
DimMap to_reader(const MaxFold& max, const std::vector<Form>& at, const std::vector<Form>& over) {
  return [&](DimId d) -> std::optional<Form> {
    for (size_t k = 0; k < max.over.size(); ++k)
      if (max.over[k] == d) return over[k];
    for (size_t k = 0; k < max.points.size(); ++k)
      if (max.points[k] == d) return at[k];
    return std::nullopt;
  };
}

std::vector<Form> coordinates(const std::vector<DimId>& dims) {
  std::vector<Form> forms;
  for (DimId d : dims) forms.push_back(Form::coordinate(d));
  return forms;
}

ExprId score_at(Graph& g, const MaxFold& max, const std::vector<Form>& at,
                const std::vector<Form>& over) {
  return expand_maps(g, substitute_dims(g, max.score, to_reader(max, at, over)));
}

std::vector<Guard> guards_at(Graph& g, const MaxFold& max, const std::vector<Form>& at,
                             const std::vector<Form>& over) {
  std::vector<Guard> result;
  for (const Guard& guard : max.guards) {
    result.push_back(substitute_dims(g, guard, to_reader(max, at, over)));
    if (guard.what == Guard::What::data)
      result.back().condition = expand_maps(g, result.back().condition);
  }
  return result;
}

// e where the guards hold: selects on conditions that they imply take their arm.
ExprId where_guards_hold(Graph& g, ExprId e, const std::vector<Guard>& guards) {
  const auto holds = [&](ExprId condition) {
    const std::vector<Guard> all = guards_from(g, condition);
    return !all.empty() && std::all_of(all.begin(), all.end(), [&](const Guard& x) {
      return std::find(guards.begin(), guards.end(), x) != guards.end();
    });
  };
  return rewrite_expr(g, e, [&](ExprId old, const ExprNode& now) -> std::optional<ExprId> {
    if (now.op != Op::select) return std::nullopt;
    const ExprId condition = g.pool[old].args[0];
    if (holds(condition)) return now.args[1];
    if (holds(g.make(Op::logical_not, condition))) return now.args[2];
    return std::nullopt;
  });
}

// Ways to send J to distinct coordinates of the reader of equal extent that M's read does not
// mention, the unchanged names first.
std::vector<std::vector<DimId>> pairings(const Graph& g, const MaxFold& max,
                                         const std::vector<Form>& at,
                                         const std::vector<DimId>& candidates) {
  std::vector<DimId> free;
  for (DimId d : candidates)
    if (std::none_of(at.begin(), at.end(), [d](const Form& f) { return f.mentions(d); }))
      free.push_back(d);
  std::vector<std::vector<DimId>> result;
  const auto fits = [&](const std::vector<DimId>& choice) {
    for (size_t k = 0; k < choice.size(); ++k)
      if (g.extent(choice[k]) != g.extent(max.over[k])) return false;
    return true;
  };
  const bool same = std::all_of(max.over.begin(), max.over.end(), [&](DimId d) {
    return std::find(free.begin(), free.end(), d) != free.end();
  });
  if (same) result.push_back(max.over);
  if (max.over.size() > 3 || free.size() < max.over.size() || free.size() > 6) return result;
  std::vector<DimId> order = free;  // small: at most 6 coordinates
  std::sort(order.begin(), order.end());
  do {
    const std::vector<DimId> choice(order.begin(),
                                    order.begin() + static_cast<long>(max.over.size()));
    if (fits(choice) && std::find(result.begin(), result.end(), choice) == result.end())
      result.push_back(choice);
  } while (std::next_permutation(order.begin(), order.end()));
  return result;
}

}  // namespace

namespace {

// Targets c·m of an online fold, c > 0.
void add_online_maxima(Graph& g, NodeId id, const Node& n, std::vector<MaxFold>& result) {
  if (n.folds.size() != 1 || n.scan || !facts(g, n.folds[0].monoid).online_softmax) return;
  for (const Target& t : n.targets) {
    double scale = 1;
    ExprId value = t.value;
    if (const ExprNode& v = g.pool[value]; v.op == Op::mul && g.pool.is_constant(v.args[0])) {
      scale = g.pool[v.args[0]].value().as_real();
      value = v.args[1];
    } else if (v.op == Op::mul && g.pool.is_constant(v.args[1])) {
      scale = g.pool[v.args[1]].value().as_real();
      value = v.args[0];
    }
    if (!is_state(g, value, 0) || !(scale > 0)) continue;
    const ExprId score = n.folds[0].args[0];
    result.push_back({id, t.tensor, t.points, n.reduce,
                      scale == 1 ? score : g.make(Op::mul, score, g.pool.real(scale)), n.guards});
  }
}

}  // namespace

namespace {

// Every target that is a max, whatever else its node computes.
void add_maxima(Graph& g, NodeId id, const Node& n, std::vector<MaxFold>& result) {
  uint32_t state = 0;
  for (const Fold& f : n.folds) {
    const bool is_max =
        f.args.size() == 1 && g.pool[f.args[0]].kind == Kind::real && facts(g, f.monoid).max;
    for (const Target& t : n.targets)
      if (is_max && is_state(g, t.value, state))
        result.push_back({id, t.tensor, t.points, n.reduce, f.args[0], n.guards});
    state += static_cast<uint32_t>(g[f.monoid].fin.size());
  }
}

}  // namespace

// `online` means: any node that computes a max. Otherwise those that compute nothing else.
std::vector<MaxFold> max_folds(Graph& g, bool online) {
  std::vector<MaxFold> result;
  for (NodeId id : g.order()) {
    const Node n = g[id];
    if (online) add_online_maxima(g, id, n, result);
    if (!n.scan && (online || (n.folds.size() == 1 && n.targets.size() == 1)))
      add_maxima(g, id, n, result);
  }
  return result;
}

namespace {

// Why a term that mentions a max is not -κ·M: the maxima it hides in, or a κ that is no constant.
std::string why_not_alone(const Graph& g, const std::vector<MaxFold>& maxima,
                          const CanonTerm& term) {
  const auto is_max = [&](TensorId t) {
    return std::any_of(maxima.begin(), maxima.end(),
                       [t](const MaxFold& m) { return m.tensor == t; });
  };
  for (const auto& [atom, power] : term.factors)
    for (LeafId l : leaves_of(g, atom)) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read || !is_max(leaf.tensor)) continue;
      const std::string name = "`" + g[leaf.tensor].name + "`";
      if (g.pool[atom].op != Op::var) return "what is subtracted is not exactly the max " + name;
      if (term.factors.size() > 1)
        return "the scale of the max " + name + " is not a positive constant";
    }
  return {};
}

}  // namespace

std::optional<Weight> match_weight(Graph& g, Canon& canon, const std::vector<MaxFold>& maxima,
                                   ExprId exponent, const std::vector<DimId>& candidates,
                                   std::string* reason, bool within_guards) {
  const CanonSum theta = canon.sum(exponent);
  for (const CanonTerm& term : theta) {
    if (!(term.coeff < 0)) continue;
    if (reason && reason->empty()) *reason = why_not_alone(g, maxima, term);
    if (term.factors.size() != 1 || term.factors[0].second != 1) continue;
    const ExprId atom = term.factors[0].first;
    if (g.pool[atom].op != Op::var) continue;
    const Leaf leaf = g.leaf_of(atom);
    if (leaf.what != Leaf::What::read || leaf.guarded) continue;
    for (const MaxFold& max : maxima) {
      if (max.tensor != leaf.tensor) continue;
      const double scale = -term.coeff;
      const CanonSum rest = Canon::added(theta, {{term.factors, scale}});
      for (const auto& over : pairings(g, max, leaf.forms, candidates)) {
        const std::vector<Form> there_over = coordinates(over);
        const ExprId score = score_at(g, max, leaf.forms, there_over);
        const CanonSum wanted = Canon::scaled(canon.sum(score), scale);
        if (almost_equal(rest, wanted)) return Weight{scale, max, atom, leaf.forms, over};
        if (!within_guards || max.guards.empty()) continue;
        const ExprId there =
            where_guards_hold(g, exponent, guards_at(g, max, leaf.forms, there_over));
        if (almost_equal(Canon::added(canon.sum(there), {{term.factors, scale}}), wanted))
          return Weight{scale, max, atom, leaf.forms, over};
      }
      if (reason) *reason = "`" + g[max.tensor].name + "` is not the max of the same scores";
    }
  }
  return std::nullopt;
}

namespace {

// -h of a sum of terms in which `atom` stands alone or times h; nullopt if it stands otherwise.
std::optional<CanonSum> minus_cofactor(const Graph& g, const CanonSum& sum, ExprId atom) {
  CanonSum h;
  for (CanonTerm term : sum) {
    const auto at = std::find_if(term.factors.begin(), term.factors.end(),
                                 [atom](const auto& f) { return f.first == atom; });
    if (at != term.factors.end()) {
      if (at->second != 1) return std::nullopt;
      term.factors.erase(at);
      term.coeff = -term.coeff;
      h = Canon::added(h, {term});
    }
    for (const auto& [factor, power] : term.factors) {
      const auto inside = g.pool.reachable(factor);
      if (std::binary_search(inside.begin(), inside.end(), atom)) return std::nullopt;
    }
  }
  return h;
}

// The weight exp(h·(x - M)) of a row with a temperature of its own, h free of J and no constant.
// `exponent` is its argument, as match_weight takes it.
std::optional<Weight> match_tempered(Graph& g, Canon& canon, const std::vector<MaxFold>& maxima,
                                     ExprId exponent, const std::vector<DimId>& candidates) {
  const CanonSum theta = canon.sum(exponent);
  for (LeafId l : leaves_of(g, exponent)) {
    const Leaf leaf = g.leaf(l);
    if (leaf.what != Leaf::What::read || leaf.guarded) continue;
    for (const MaxFold& max : maxima) {
      if (max.tensor != leaf.tensor) continue;
      const ExprId atom = g.read(leaf.tensor, leaf.forms);
      const auto h = minus_cofactor(g, theta, atom);
      if (!h || h->empty()) continue;
      const auto shift = canon.multiplied(*h, canon.sum(atom));
      const std::vector<DimId> fixed = dims_of(g, canon.build(*h));
      for (const auto& over : pairings(g, max, leaf.forms, candidates)) {
        if (std::any_of(over.begin(), over.end(), [&](DimId d) {
              return std::find(fixed.begin(), fixed.end(), d) != fixed.end();
            }))
          continue;
        const auto wanted =
            canon.multiplied(*h, canon.sum(score_at(g, max, leaf.forms, coordinates(over))));
        if (!shift || !wanted) continue;
        const ExprId there =
            where_guards_hold(g, exponent, guards_at(g, max, leaf.forms, coordinates(over)));
        if (almost_equal(Canon::added(theta, *shift), *wanted) ||
            almost_equal(Canon::added(canon.sum(there), *shift), *wanted))
          return Weight{1, max, atom, leaf.forms, over};
      }
    }
  }
  return std::nullopt;
}

// What J is where `there` reads, if that is the read `here` of the max's score elsewhere in the
// row.
std::optional<std::vector<Form>> unified(const MaxFold& max, const Leaf& here, const Leaf& there) {
  if (here.what != Leaf::What::read || there.what != here.what || there.tensor != here.tensor)
    return std::nullopt;
  std::vector<Form> over;
  for (DimId d : max.over) {
    const auto axis = std::find(here.forms.begin(), here.forms.end(), Form::coordinate(d));
    if (axis == here.forms.end()) return std::nullopt;
    over.push_back(there.forms[static_cast<size_t>(axis - here.forms.begin())]);
  }
  return over;
}

// The leaf with no read guarded, the indices it gathers through included.
Leaf unguarded(Graph& g, Leaf leaf) {
  leaf.guarded = false;
  leaf.fill_bits = 0;
  for (Form& f : leaf.forms)
    for (Form::Gather& x : f.gathers) x.leaf = g.intern(unguarded(g, g.leaf(x.leaf)));
  return leaf;
}

// The read as an expression of reads of its fold's states, where those are stored as well.
std::optional<ExprId> through_states(Graph& g, const Leaf& read) {
  if (read.what != Leaf::What::read || g[read.tensor].node == NodeId::none) return std::nullopt;
  const Node n = g[g[read.tensor].node];
  const auto own = std::find_if(n.targets.begin(), n.targets.end(),
                                [&](const Target& t) { return t.tensor == read.tensor; });
  if (n.folds.empty() || g[read.tensor].format || g.pool[own->value].op == Op::var)
    return std::nullopt;
  bool all = true;
  const ExprId value = substitute_leaves(g, own->value, [&](LeafId l) -> std::optional<ExprId> {
    const Leaf leaf = g.leaf(l);
    const auto stored = std::find_if(n.targets.begin(), n.targets.end(), [&](const Target& t) {
      return leaf.what == Leaf::What::state && is_state(g, t.value, leaf.number);
    });
    all &= stored != n.targets.end();
    if (!all) return std::nullopt;
    std::vector<Form> at;
    for (DimId d : stored->points) at.push_back(Form::coordinate(d));
    return g.read(stored->tensor, at);
  });
  if (!all) return std::nullopt;
  return substitute_dims(g, value, [&](DimId d) -> std::optional<Form> {
    const auto at = std::find(own->points.begin(), own->points.end(), d);
    if (at == own->points.end()) return std::nullopt;
    return read.forms[static_cast<size_t>(at - own->points.begin())];
  });
}

ExprId unguarded(Graph& g, ExprId e) {
  return substitute_leaves(g, e, [&](LeafId l) {
    const Leaf leaf = unguarded(g, g.leaf(l));
    const auto seen = through_states(g, leaf);
    return std::optional(seen ? *seen : g.variable(leaf));
  });
}

// The weight exp(h·(x - M)) read at one place of its row, or in an order of its own: no coordinate
// of the reader runs over the row as J does. Reads may be guarded, as they are under the bounds of
// a guarded read of the weight.
std::optional<Weight> match_elsewhere(Graph& g, Canon& canon, const std::vector<MaxFold>& maxima,
                                      ExprId written) {
  const ExprId exponent = unguarded(g, written);
  const CanonSum theta = canon.sum(exponent);
  const std::vector<LeafId> reads = leaves_of(g, exponent);
  for (LeafId l : g.pool.variables(written)) {
    const Leaf leaf = unguarded(g, g.leaf(l));
    if (leaf.what != Leaf::What::read) continue;
    for (const MaxFold& max : maxima) {
      if (max.tensor != leaf.tensor) continue;
      const ExprId atom = g.variable(leaf), max_read = g.variable(g.leaf(l));
      const auto h = minus_cofactor(g, theta, atom);
      if (!h || h->empty()) continue;
      const auto shift = canon.multiplied(*h, canon.sum(atom));
      const ExprId own = unguarded(g, expand_maps(g, max.score));
      for (LeafId here : leaves_of(g, own))
        for (LeafId there : reads) {
          const auto over = unified(max, g.leaf(here), g.leaf(there));
          if (!over || !shift) continue;
          const auto wanted =
              canon.multiplied(*h, canon.sum(unguarded(g, score_at(g, max, leaf.forms, *over))));
          if (!wanted) continue;
          const ExprId within =
              where_guards_hold(g, exponent, guards_at(g, max, leaf.forms, *over));
          if (almost_equal(Canon::added(theta, *shift), *wanted) ||
              almost_equal(Canon::added(canon.sum(within), *shift), *wanted))
            return Weight{1, max, max_read, leaf.forms, {}};
        }
    }
  }
  return std::nullopt;
}

// e with y/L and recip L, for L a sum that `is_sum` names, by way of L's reciprocal.
ExprId rewrite_quotients(Graph& g, ExprId e, const std::function<bool(ExprId)>& is_sum,
                         const std::function<ExprId(ExprId)>& reciprocal) {
  return rewrite_expr(g, e, [&](ExprId, const ExprNode& now) -> std::optional<ExprId> {
    const bool quotient = now.op == Op::quot && is_sum(now.args[1]);
    if (!quotient && !(now.op == Op::recip && is_sum(now.args[0]))) return std::nullopt;
    const ExprId rl = reciprocal(quotient ? now.args[1] : now.args[0]);
    return quotient ? g.make(Op::mul, now.args[0], rl) : rl;
  });
}

// The graph being read, with what has been found so far.
class Reader {
 public:
  explicit Reader(Graph graph) : g(std::move(graph)), maxima_(max_folds(g, true)) {}

  Graph run() {
    find_sums();
    if (maxima_.empty() && weights_.states.empty() && bare_.states.empty()) return std::move(g);
    for (NodeId id : g.order()) {
      Node n = g[id];
      current_ = id;
      coordinates_ = n.points;
      coordinates_.insert(coordinates_.end(), n.reduce.begin(), n.reduce.end());
      map_exprs(n, [this](ExprId e) { return read(e); });
      g[id] = n;
    }
    return std::move(g);
  }

 private:
  // Sums of exponentials: the tensors that are one, and where states are one, in their own targets.
  struct Sums {
    std::set<TensorId> tensors;
    std::set<std::pair<NodeId, uint32_t>> states;
  };

  // Sums Σ_J of weights over the weight's own coordinates and the l of online folds; and bare sums,
  // Σ_J of exponentials that nothing was subtracted from.
  void find_sums() {
    for (NodeId id : g.order()) {
      const Node n = g[id];
      uint32_t state = 0;
      for (const Fold& f : n.folds) {
        const MonoidFacts known = facts(g, f.monoid);
        if (known.online_softmax) mark(weights_, id, n, state + 1);
        if (known.sum && f.args.size() == 1 && !n.scan)
          if (const auto exponent = sole_exponent(f.args[0]))
            mark(is_weight(*exponent, n.reduce) ? weights_ : bare_, id, n, state);
        state += static_cast<uint32_t>(g[f.monoid].fin.size());
      }
    }
  }

  void mark(Sums& sums, NodeId id, const Node& n, uint32_t state) {
    sums.states.insert({id, state});
    for (const Target& t : n.targets)
      if (is_state(g, t.value, state)) sums.tensors.insert(t.tensor);
  }

  // The exponent of an argument that is one exponential.
  std::optional<ExprId> sole_exponent(ExprId argument) {
    const ExprId e = expand_maps(g, argument);
    const CanonSum s = canon_.sum(e);
    if (s.size() != 1 || s[0].coeff != 1 || s[0].factors.size() != 1 || s[0].factors[0].second != 1)
      return std::nullopt;
    const ExprId factor = s[0].factors[0].first;
    if (g.pool[factor].op != Op::exp) return std::nullopt;
    // As it stands if possible: canonical conditions no longer split into guards.
    ExprId written = e;
    while (g.pool[written].op == Op::cast) written = g.pool[written].args[0];
    return g.pool[g.pool[written].op == Op::exp ? written : factor].args[0];
  }

  // Over coordinates of the reader.
  std::optional<Weight> weight(ExprId exponent, const std::vector<DimId>& candidates) {
    auto w = match_weight(g, canon_, maxima_, exponent, candidates, nullptr, true);
    return w ? w : match_tempered(g, canon_, maxima_, exponent, candidates);
  }

  bool is_weight(ExprId exponent, const std::vector<DimId>& candidates) {
    return weight(exponent, candidates).has_value();
  }

  bool is_one_of(const Sums& sums, ExprId x) {
    const ExprId seen = expand_maps(g, x);
    if (g.pool[seen].op != Op::var) return false;
    const Leaf& l = g.leaf_of(seen);
    return l.what == Leaf::What::state
               ? sums.states.contains({current_, l.number})
               : l.what == Leaf::What::read && sums.tensors.contains(l.tensor);
  }

  ExprId read(ExprId e) {
    ExprId safe = substitute_weights(e);
    safe = safe_quotients(g, safe, [this](ExprId x) { return is_one_of(weights_, x); });
    return rewrite_quotients(
        g, safe, [this](ExprId x) { return is_one_of(bare_, x); },
        [this](ExprId l) {
          return g.make(Op::select, g.make(Op::eq, l, g.pool.real(0)), g.pool.real(0),
                        g.make(Op::recip, l));
        });
  }

  ExprId substitute_weights(ExprId e) {
    return rewrite_expr(g, e, [&](ExprId old, const ExprNode& now) -> std::optional<ExprId> {
      if (now.op != Op::exp) return std::nullopt;
      const ExprId exponent = g.pool[old].args[0], theta = expand_maps(g, exponent);
      auto w = weight(theta, coordinates_);
      if (!w) w = match_elsewhere(g, canon_, maxima_, theta);
      if (!w) return std::nullopt;
      return safe_exponential(exponent, theta, w->max_read);
    });
  }

  // exp of the exponent with M replaced by M°; the expanded exponent when M hides inside a map.
  ExprId safe_exponential(ExprId as_written, ExprId expanded, ExprId max_read) {
    const auto mentions = [&](ExprId e) {
      const auto nodes = g.pool.reachable(e);
      return std::binary_search(nodes.begin(), nodes.end(), max_read);
    };
    const ExprId exponent = mentions(as_written) ? as_written : expanded;
    const ExprId lowest = g.pool.real(-std::numeric_limits<double>::infinity());
    const ExprId finite =
        g.make(Op::select, g.make(Op::lt, lowest, max_read), max_read, g.pool.real(0));
    const uint32_t variable = g.pool[max_read].variable();
    return g.make(Op::exp, substitute_leaves(g, exponent, [&](LeafId l) {
                    return l == variable ? std::optional(finite) : std::nullopt;
                  }));
  }

  Graph g;
  Canon canon_{g.pool};
  std::vector<MaxFold> maxima_;
  Sums weights_, bare_;
  NodeId current_ = NodeId::none;
  std::vector<DimId> coordinates_;
};

}  // namespace

ExprId safe_quotients(Graph& g, ExprId e, const std::function<bool(ExprId)>& is_weight_sum) {
  return rewrite_quotients(g, e, is_weight_sum, [&g](ExprId l) {
    return g.make(Op::select, g.make(Op::lt, l, g.pool.real(0.5)), g.pool.real(0),
                  g.make(Op::recip, l));
  });
}

Graph softmax_reading(const Graph& g) { return Reader(g).run(); }

}  // namespace tang
