#include "ir/widths.h"

#include <algorithm>

#include "expr/range.h"
#include "ir/monoids.h"

namespace tang {

namespace {

constexpr double i32_lowest = -2147483648.0;
constexpr double i32_highest = 2147483647.0;

class Widths {
 public:
  explicit Widths(Graph& g) : g_(g), ranges_(g.tensors.size()) {}

  void run() {
    for (NodeId id : g_.order()) {
      const Node n = g_[id];
      states_ = state_ranges(n);
      for (const Target& t : n.targets) {
        if (t.value == ExprId::none || g_[t.tensor].kind != Kind::integer) continue;
        const ScalarRange r = range_of(t.value);
        ranges_[index(t.tensor)] = r;
        if (!g_[t.tensor].format) g_[t.tensor].wide = !(i32_lowest <= r.lo && r.hi <= i32_highest);
      }
    }
  }

 private:
  ScalarRange range_of(ExprId e) {
    return scalar_range(g_.pool, e, [this](uint32_t v) { return leaf_range(g_.leaf(v)); });
  }

  ScalarRange leaf_range(const Leaf& leaf) {
    if (leaf.kind == Kind::boolean) return ScalarRange::between(0, 1);
    if (leaf.kind == Kind::real) return {};
    if (leaf.what == Leaf::What::iota) return form_range(leaf.form());
    if (leaf.what == Leaf::What::state && leaf.number < states_.size()) return states_[leaf.number];
    if (leaf.what != Leaf::What::read) return {};
    ScalarRange r = tensor_range(leaf.tensor);
    if (!leaf.guarded && leaf.forms.empty()) return r;
    const double fill = leaf.fill().as_real();
    return ScalarRange::between(std::min(r.lo, fill), std::max(r.hi, fill));
  }

  ScalarRange tensor_range(TensorId t) {
    if (g_[t].format)
      return ScalarRange::between(static_cast<double>(integer_min(*g_[t].format)),
                                  static_cast<double>(integer_max(*g_[t].format)));
    return ranges_[index(t)];
  }

  ScalarRange form_range(const Form& f) {
    double lo = 0, hi = 0;
    const auto add = [&](const Poly& c, double from, double to) {
      const auto k = c.constant();
      const double scale = k ? static_cast<double>(*k) : i32_highest;
      lo += std::min(scale * from, scale * to);
      hi += std::max(scale * from, scale * to);
    };
    for (const Form::Term& t : f.terms) add(t.coeff, 0, extent_of(t.dim) - 1);
    for (const Form::Gather& t : f.gathers) {
      const ScalarRange r = leaf_range(g_.leaf(t.leaf));
      add(t.coeff, r.lo, r.hi);
    }
    const auto base = f.base.constant();
    lo += base ? static_cast<double>(*base) : static_cast<double>(f.base.constant_term());
    hi += base ? static_cast<double>(*base) : i32_highest;
    return ScalarRange::between(lo, hi);
  }

  double extent_of(DimId d) const {
    const auto n = g_.extent(d).constant();
    return n ? static_cast<double>(*n) : i32_highest;
  }

  std::vector<ScalarRange> state_ranges(const Node& n) {
    double terms = 1;
    for (DimId d : n.reduce) terms *= extent_of(d);
    if (n.scan) terms = extent_of(n.scan->along);
    std::vector<ScalarRange> result;
    for (const Fold& f : n.folds) {
      const MonoidFacts known = facts(g_, f.monoid);
      const Monoid m = g_[f.monoid];
      for (size_t k = 0; k < m.fin.size(); ++k) {
        if (m.flat_index && k == 1) {
          result.push_back(ScalarRange::between(-1, terms - 1));
        } else if (f.args.size() == 1 && (known.sum || known.max || known.min) &&
                   g_.pool[f.args[0]].kind != Kind::real) {
          const ScalarRange x = range_of(f.args[0]);
          const double count = known.sum ? terms : 1;
          result.push_back(
              ScalarRange::between(std::min(0.0, count * x.lo), std::max(0.0, count * x.hi)));
        } else {
          result.push_back({});
        }
      }
    }
    return result;
  }

  Graph& g_;
  std::vector<ScalarRange> ranges_;
  std::vector<ScalarRange> states_;
};

}  // namespace

void mark_wide(Graph& g) { Widths(g).run(); }

}  // namespace tang
