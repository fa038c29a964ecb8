// Running a monoid by its scalar graphs, without the oracle.
#pragma once

#include <random>

#include "ir/monoids.h"

namespace tang::law {

using State = std::vector<Value>;

class MonoidRun {
 public:
  MonoidRun(std::string_view name, std::vector<Kind> kinds)
      : id_(*builtin_monoid(g, name, kinds)) {}

  const Monoid& monoid() const { return g[id_]; }
  State identity() const { return all(monoid().identity, {}, {}, {}); }
  State lift(const State& argument) const { return all(monoid().lift, argument, {}, {}); }
  State combine(const State& a, const State& b) const { return all(monoid().combine, {}, a, b); }
  State fin(const State& s) const { return all(monoid().fin, {}, s, {}); }

  // Terms are argument lists, without the flat index where the monoid takes one.
  std::vector<State> lifted(const std::vector<State>& terms) const {
    std::vector<State> out;
    for (size_t k = 0; k < terms.size(); ++k) {
      State x = terms[k];
      if (monoid().flat_index) x.push_back(Value::integer(static_cast<int64_t>(k)));
      out.push_back(lift(x));
    }
    return out;
  }
  State fold(const std::vector<State>& states) const {
    State s = identity();
    for (const State& x : states) s = combine(s, x);
    return s;
  }
  // A random ordered tree over the states.
  template <class Random>
  State tree(std::vector<State> states, Random& random) const {
    if (states.empty()) return identity();
    while (states.size() > 1) {
      const size_t at = random() % (states.size() - 1);
      states[at] = combine(states[at], states[at + 1]);
      states.erase(states.begin() + static_cast<long>(at) + 1);
    }
    return states[0];
  }

 private:
  State all(const std::vector<ExprId>& parts, const State& x, const State& a,
            const State& b) const {
    State out;
    for (size_t k = 0; k < parts.size(); ++k) {
      const Value v = evaluate(g.pool, parts[k], [&](uint32_t leaf) {
        const Leaf& l = g.leaf(leaf);
        const State& from = l.what == Leaf::What::argument ? x : l.what == Leaf::What::left ? a : b;
        return from.at(l.number);
      });
      out.push_back(v);
    }
    return out;
  }

  Graph g;
  MonoidId id_;
};

inline State reals(std::initializer_list<double> x) {
  State s;
  for (double v : x) s.push_back(Value::real(v));
  return s;
}

}  // namespace tang::law
