#include "eval/monoid_laws.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/random.h"
#include "expr/apply.h"

namespace tang {

namespace {

using State = std::vector<Value>;

std::string text(const Value& v) {
  if (v.kind == Kind::real) return fmt::format("{:.9g}", v.r);
  if (v.kind == Kind::integer) return fmt::format("{}", v.i);
  return v.i ? "true" : "false";
}

std::string text(const State& s) {
  std::string out = "(";
  for (size_t k = 0; k < s.size(); ++k) out += (k ? ", " : "") + text(s[k]);
  return out + ")";
}

class Laws {
 public:
  Laws(const Graph& g, const Monoid& m, uint64_t seed) : g_(g), m_(m), stream_(seed, m.name) {}

  std::optional<std::string> test(int trials);

 private:
  State evaluate_all(const std::vector<ExprId>& exprs, const State& argument, const State& left,
                     const State& right) const;
  State combine(const State& a, const State& b) const { return evaluate_all(m_.combine, {}, a, b); }
  Value draw(Kind kind);
  State draw_state();
  bool agree(const State& x, const State& y, double scale) const;
  std::optional<std::string> trial();

  const Graph& g_;
  const Monoid& m_;
  RandomStream stream_;
  uint64_t next_ = 0;
  State identity_;
};

State Laws::evaluate_all(const std::vector<ExprId>& exprs, const State& argument, const State& left,
                         const State& right) const {
  State out;
  for (size_t k = 0; k < exprs.size(); ++k) {
    const Value v = evaluate(g_.pool, exprs[k], [&](uint32_t number) {
      const Leaf& l = g_.leaf(number);
      const State& from = l.what == Leaf::What::argument ? argument
                          : l.what == Leaf::What::left   ? left
                                                         : right;
      return l.number < from.size() ? from[l.number] : Value{};
    });
    out.push_back(v.to(m_.kinds[k]));
  }
  return out;
}

// Half of the reals are small integers, so that ties and exact cancellation occur.
Value Laws::draw(Kind kind) {
  const uint64_t k = next_++;
  if (kind == Kind::boolean) return Value::boolean((stream_.bits(k) & 1) != 0);
  if (kind == Kind::integer) return Value::integer(stream_.integer(k, 0, 7));
  if ((stream_.bits(next_++) & 1) != 0)
    return Value::real(static_cast<double>(stream_.integer(k, -2, 3)));
  return Value::real(2 * stream_.normal(k));
}

State Laws::draw_state() {
  State state;
  const int64_t lifts = stream_.integer(next_++, 1, 4);
  for (int64_t k = 0; k < lifts; ++k) {
    State arguments;
    for (Kind kind : m_.argument_kinds) arguments.push_back(draw(kind));
    const State lifted = evaluate_all(m_.lift, arguments, {}, {});
    state = k == 0 ? lifted : combine(state, lifted);
  }
  return state;
}

bool Laws::agree(const State& x, const State& y, double scale) const {
  for (size_t k = 0; k < x.size(); ++k) {
    if (x[k].kind != Kind::real) {
      if (x[k].i != y[k].i) return false;
      continue;
    }
    const bool same = x[k].r == y[k].r || (std::isnan(x[k].r) && std::isnan(y[k].r));
    if (!same && !(std::abs(x[k].r - y[k].r) <= 1e-9 * scale)) return false;
  }
  return true;
}

double magnitude(std::initializer_list<State> states) {
  double scale = 1;
  for (const State& s : states)
    for (const Value& v : s)
      if (v.kind == Kind::real && std::isfinite(v.r)) scale = std::max(scale, std::abs(v.r));
  return scale;
}

bool has_nan(const State& s) {
  return std::any_of(s.begin(), s.end(),
                     [](const Value& v) { return v.kind == Kind::real && std::isnan(v.r); });
}

std::optional<std::string> Laws::trial() {
  const State a = draw_state(), b = draw_state(), c = draw_state();
  const auto fails = [&](const std::string& law, const std::string& given, const State& left,
                         const State& right) {
    return fmt::format("`{}` breaks {}: with {}, {} is not {}", m_.name, law, given, text(left),
                       text(right));
  };
  for (const State& s : {a, b, c})
    if (has_nan(s))
      return fmt::format("`{}` makes the state {} from finite arguments", m_.name, text(s));
  const std::string one = "a = " + text(a);
  if (const State x = combine(identity_, a); !agree(x, a, magnitude({a})))
    return fails("combine(identity, a) = a", one, x, a);
  if (const State x = combine(a, identity_); !agree(x, a, magnitude({a})))
    return fails("combine(a, identity) = a", one, x, a);
  const State ab = combine(a, b), bc = combine(b, c);
  const State left = combine(ab, c), right = combine(a, bc);
  const double scale = magnitude({a, b, c, ab, bc, left, right});
  if (!agree(left, right, scale))
    return fails("associativity", one + ", b = " + text(b) + ", c = " + text(c), left, right);
  if (const State ba = combine(b, a); m_.commutative && !agree(ab, ba, scale))
    return fails("commutativity", one + ", b = " + text(b), ab, ba);
  return std::nullopt;
}

std::optional<std::string> Laws::test(int trials) {
  identity_ = evaluate_all(m_.identity, {}, {}, {});
  for (int k = 0; k < trials; ++k)
    if (auto text = trial()) return text;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> monoid_counterexample(const Graph& g, MonoidId m, uint64_t seed,
                                                 int trials) {
  return Laws(g, g[m], seed).test(trials);
}

}  // namespace tang
