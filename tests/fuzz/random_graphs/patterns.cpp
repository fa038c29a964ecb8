// The shapes that the rewrites look for, and their neighbours that they must leave alone.
#include <fmt/format.h>

#include "fuzz/random_graphs/generator.h"

namespace tang::fuzz {

void Generator::pattern() {
  switch (choice_.below(30)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      return attention();
    case 20:
    case 21:
    case 22:
      return shifted_softmax();
    case 23:
      return two_softmaxes();
    case 24:
      return matrix_recurrence();
    case 25:
      return largest();
    case 26:
      return segments();
    case 27:
      return pooling();
    case 5:
    case 6:
      return log_sum_exp();
    case 7:
    case 8:
      return variance();
    case 9:
      return pair();
    case 10:
      return transposes();
    case 11:
    case 12:
      return hoist();
    case 13:
      return duplicates();
    case 14:
      return promotion();
    case 15:
    case 16:
      return windows();
    case 17:
      return gathers();
    case 18:
      return selections();
    case 28:
      return chain();
    case 29:
      return largest_in_turn();
    default:
      return in_place();
  }
}

// A masked score, or a condition for the binders over j. The first point is the query's.
std::string Generator::mask(std::string score, const Dims& points, int j, std::string& binder) {
  const std::string i = points.empty() ? "2" : name(points.back()), key = name(j);
  Dims both = points;
  both.push_back(j);
  const auto select = [&](const std::string& c) {
    return fmt::format("select({}, {}, -inf)", c, score);
  };
  const auto bind = [&](const std::string& c) {
    binder = " | " + c;
    return score;
  };
  switch (choice_.below(15)) {
    case 0:
      return select(fmt::format("{} <= {}", key, i));
    case 1:
      return fmt::format("select({} < {}, -inf, {})", i, key, score);
    case 2:
      return bind(fmt::format("{} <= {}", key, i));
    case 3:
      return bind(fmt::format("{0} - 2 <= {1} and {1} <= {0}", i, key));
    case 4: {
      const TensorInfo b = input("bool", both);
      TensorInfo m{fresh(), both};
      m.finite = false;
      define(m, fmt::format("select({}, 0, -inf)", at(b, both)));
      return fmt::format("{} + {}", score, at(m, both));
    }
    case 5:
      return select(at(input("bool", both), both));
    case 6:
      return bind(at(input("bool", both), both));
    case 7:
      return select(fmt::format("{} < 0", key));  // nothing is left
    case 8:
      return bind(fmt::format("{} + 2 <= {}", key, i));  // some rows are empty
    case 9:
      return select(fmt::format("{} + 2 <= {}", key, i));
    case 10:
      return select(at(input("bool", points), points));  // whole rows
    case 11:
      return fmt::format("{} + select({} <= {}, 0, -inf)", score, key, i);
    case 12:
      return select(
          fmt::format("{} == {}", at(input("i32", points), points), at(input("i32", {j}), {j})));
    case 13:
      return bind(fmt::format("{} < {}", key, at(input("i32", points), points)));
    default:
      return score;
  }
}

// exp of a score minus its maximum over j, as a definition.
TensorInfo Generator::weights(const TensorInfo& s, const std::string& binder, int j) {
  Dims points;
  for (int d : s.dims)
    if (d != j) points.push_back(d);
  std::string maximum = fmt::format("max[{}{}]({})", name(j), binder, at(s, s.dims));
  if (choice_.chance(40)) {
    TensorInfo m{fresh(), points};
    m.finite = false;
    define(m, maximum);
    maximum = at(m, points);
  }
  TensorInfo w{fresh(), s.dims};
  w.size = 20;
  const std::string difference = fmt::format("{} - {}", at(s, s.dims), maximum);
  const std::string format = choice_.chance(20) ? choice_.chance(50) ? "bf16" : "f16" : "";
  define(w,
         choice_.chance(25) ? fmt::format("exp(0.5 * ({}))", difference)
                            : fmt::format("exp({})", difference),
         format);
  return w;
}

void Generator::attention() {
  const Dims all = some_dims(4, 5);
  const int j = all[1], d = all[2], e = all[3];
  Dims points = {all[0]};
  if (all.size() > 4) points.insert(points.begin(), all[4]);
  const Dims head(points.begin(), points.end() - 1);
  const auto with = [&](Dims dims) {
    Dims r = head;
    r.insert(r.end(), dims.begin(), dims.end());
    return r;
  };
  const Dims scores = with({all[0], j}), values = with({j, e}), outs = with({all[0], e});
  const TensorInfo q = input("f32", with({all[0], d})), k = input("f32", with({j, d}));
  const TensorInfo v = input(choice_.chance(80) ? "f32" : "f16", values);
  std::string score = choice_.chance(80) ? fmt::format("sum[{}]({} * {}) / sqrt(4)", name(d),
                                                       at(q, q.dims), at(k, k.dims))
                                         : real(1, scores, Fill::stated).text;
  if (choice_.chance(15)) score = fmt::format("3 * tanh(({}) / 3)", score);
  if (choice_.chance(15))
    score = fmt::format("{} - 0.25 * ({} - {})", score, name(all[0]), name(j));
  std::string binder;
  TensorInfo s{fresh(), scores};
  s.finite = false;
  const std::string masked = mask("(" + score + ")", points, j, binder);
  define(s, masked);
  TensorInfo o{fresh(), outs};
  o.size = 4;
  const std::string sum = fmt::format("sum[{}{}]", name(j), binder);
  switch (choice_.below(6)) {
    case 0:
      define(o, fmt::format("sum[{0}{1}](softmax[{0}]({2}) * {3})", name(j), binder, at(s, scores),
                            at(v, values)));
      break;
    case 1:
      define(
          o,
          fmt::format("o * select(l < 0.5, 0, recip(l))\n  where (m, l, o) = online[{}{}]({}, {})",
                      name(j), binder, at(s, scores), at(v, values)),
          storage(Kind::real));
      break;
    case 2: {
      const TensorInfo w = weights(s, binder, j);
      TensorInfo l{fresh(), points};
      l.size = 20;
      define(l, fmt::format("{}({})", sum, at(w, scores)));
      define(o, fmt::format("{}({} * {}) * recip({})", sum, at(w, scores), at(v, values),
                            at(l, points)));
      o.finite = l.finite;
      break;
    }
    default: {
      const TensorInfo w = weights(s, binder, j);
      define(o, fmt::format("{0}({1} * {2}) / {0}({1})", sum, at(w, scores), at(v, values)),
             storage(Kind::real));
    }
  }
}

void Generator::log_sum_exp() {
  const Dims all = some_dims(2, 3);
  const int j = all[0];
  const Dims points(all.begin() + 1, all.end());
  Dims both = points;
  both.push_back(j);
  std::string binder;
  TensorInfo s{fresh(), both};
  s.finite = false;
  const std::string score = mask("(" + real(1, both, Fill::stated).text + ")", points, j, binder);
  define(s, score);
  TensorInfo y{fresh(), points};
  y.finite = false;
  const std::string x = at(s, both), over = name(j) + binder;
  switch (choice_.below(4)) {
    case 0:
      define(y, fmt::format("log(sum[{}](exp(min({}, 8))))", over, x));
      break;
    case 1:
      define(y, fmt::format("logsumexp[{}]({})", over, x));
      break;
    case 2:
      define(y, fmt::format("log(sum[{}](exp({})))", over, x));
      break;
    default:
      define(y, fmt::format("log(sum[{0}](exp({1} - max[{0}]({1})))) + max[{0}]({1})", over, x));
  }
}

void Generator::variance() {
  const Dims points = some_dims(1, 2), reduce = some_dims(1, 1, points);
  Dims both = points;
  both.insert(both.end(), reduce.begin(), reduce.end());
  TensorInfo x{fresh(), both};
  const Real body = real(choice_.below(2), both, Fill::either);
  x.size = body.size;
  define(x, body.text);
  const std::string over = names(reduce), value = at(x, both);
  if (choice_.chance(40)) {
    TensorInfo y{fresh(), both};
    define(y, fmt::format("({0} - mean[{1}]({0})) * rsqrt(var[{1}]({0}) + 0.1)", value, over),
           storage(Kind::real));
    return;
  }
  TensorInfo mu{fresh(), points}, v{fresh(), points}, y{fresh(), both};
  define(mu, fmt::format("mean[{}]({})", over, value));
  const std::string deviation = fmt::format("({} - {})", value, at(mu, points));
  define(v, choice_.chance(50)
                ? fmt::format("mean[{}]({} * {})", over, deviation, deviation)
                : fmt::format("sum[{}](pow({}, 2)) / (size({}) + 1)", over, deviation, over));
  v.size = 20;
  define(y, fmt::format("2 * {} * rsqrt({} + 0.1)", deviation, at(v, points)));
}

// Two projections of one row, one through a nonlinearity.
void Generator::pair() {
  const Dims all = some_dims(3, 3);
  const Dims x_dims = {all[0], all[2]}, w_dims = {all[1], all[2]}, points = {all[0], all[1]};
  const TensorInfo x = input("f32", x_dims), w = input("f32", w_dims), u = input("f16", w_dims);
  const auto dot = [&](const TensorInfo& t) {
    return fmt::format("sum[{}]({} * {})", name(all[2]), at(x, x_dims), at(t, w_dims));
  };
  TensorInfo y{fresh(), points};
  y.size = 30;
  define(y, fmt::format("{}({}) * {}", choice_.chance(50) ? "silu" : "gelu", dot(w), dot(u)),
         storage(Kind::real));
}

// Two contractions in a row.
void Generator::chain() {
  const Dims all = some_dims(4, 4);
  const Dims a_dims = {all[0], all[1]}, b_dims = {all[1], all[2]}, c_dims = {all[2], all[3]};
  const TensorInfo a = input("f32", a_dims), b = input("f32", b_dims), c = input("f32", c_dims);
  TensorInfo t{fresh(), {all[0], all[2]}}, y{fresh(), {all[0], all[3]}};
  define(t, fmt::format("sum[{}]({} * {}) * 0.5", name(all[1]), at(a, a_dims), at(b, b_dims)));
  define(y, fmt::format("sum[{}]({} * {})", name(all[2]), at(t, {all[0], all[2]}), at(c, c_dims)));
}

void Generator::transposes() {
  const Dims all = some_dims(2, 3);
  const Dims turned(all.rbegin(), all.rend());
  const Real body = real(1, all, Fill::either);
  TensorInfo x{fresh(), all}, t{fresh(), turned}, y{fresh(), {all[0]}};
  x.size = t.size = body.size;
  define(x, body.text);
  define(t, at(x, all));
  const Dims reduce(all.begin() + 1, all.end());
  y.size = 3 * body.size;
  define(y, fmt::format("sum[{}]({} * {})", names(reduce), at(t, turned),
                        choice_.chance(50) ? "0.5" : at(x, all)));
}

void Generator::hoist() {
  const Dims points = some_dims(1, 2), reduce = some_dims(1, 1, points);
  Dims both = points;
  both.insert(both.end(), reduce.begin(), reduce.end());
  const std::string c = fmt::format("tanh({})", leaf(points, Fill::stated).text);
  const Real x = real(1, both, Fill::stated);
  TensorInfo y{fresh(), points};
  y.size = 3 * x.size;
  const std::string over = names(reduce) + binder_condition(both, reduce);
  const int kind = choice_.below(8);
  y.finite = kind < 2;
  switch (kind) {
    case 0:
      define(y, fmt::format("sum[{}]({} * ({}))", over, c, x.text));
      break;
    case 1:
      define(y, fmt::format("sum[{}]((0.5 * ({})) / (1 + abs({})))", over, x.text, c));
      break;
    case 2:
      define(y, fmt::format("max[{}]({} + ({}))", over, c, x.text));
      break;
    case 3:
      define(y, fmt::format("max[{}](2 * ({}) * 0.125 - {} + 3)", over, x.text, c));
      break;
    case 4:
      define(y, fmt::format("min[{}]({} - 0.5 * ({}))", over, c, x.text));
      break;
    case 5:
      define(y, fmt::format("max[{}](({}) / 4 + {})", over, x.text, c));
      break;
    case 6:  // a negative factor turns the order round
      define(y, fmt::format("max[{}](-2 * ({}))", over, x.text));
      break;
    default:
      define(y, fmt::format("min[{}](0.5 * ({}))", over, x.text));
  }
}

// One value under two names.
void Generator::duplicates() {
  const Dims points = some_dims(1, 2), reduce = some_dims(1, 1, points);
  Dims both = points;
  both.insert(both.end(), reduce.begin(), reduce.end());
  const Real x = real(1, both, Fill::either);
  TensorInfo a{fresh(), points}, b{fresh(), points}, y{fresh(), points};
  a.size = b.size = 3 * x.size;
  y.size = 6 * x.size;
  define(a, fmt::format("sum[{}]({})", names(reduce), x.text));
  define(b, fmt::format("sum[{}]({})", names(reduce), x.text));
  define(y, fmt::format("{} + 0.5 * {}", at(a, points), at(b, points)));
}

void Generator::promotion() {
  const Dims points = some_dims(1, 2), reduce = some_dims(1, 2, points);
  Dims both = points;
  both.insert(both.end(), reduce.begin(), reduce.end());
  const std::string c = condition(1, both);
  const Real x = real(1, both, Fill::stated);
  TensorInfo y{fresh(), points};
  y.size = 3 * x.size;
  switch (choice_.below(4)) {
    case 0:
      define(y, fmt::format("sum[{}](select({}, {}, 0))", names(reduce), c, x.text));
      break;
    case 1:
      define(y, fmt::format("sum[{}](select({}, 0, {}) * 2)", names(reduce), c, x.text));
      break;
    case 2:
      define(y, fmt::format("prod[{}](select({}, tanh({}), 1))", names(reduce), c, x.text));
      break;
    default:
      y.finite = false;
      define(y, fmt::format("max[{}](select({}, {}, -inf))", names(reduce), c, x.text));
  }
}

// Convolutions and pooling: padded, strided, transposed.
void Generator::windows() {
  const Dims all = some_dims(3, 3);
  const int i = all[0], r = all[1], c = all[2];
  const TensorInfo x = input("f32", {c, i}), w = input("f32", {c, r});
  TensorInfo y{fresh(), {i}};
  y.size = 20;
  switch (choice_.below(4)) {
    case 0:
      define(y, fmt::format("sum[{1}, {2}]({3}?[{1}, {0} + {2} - 1] * {4})", name(i), name(c),
                            name(r), x.name, at(w, w.dims)));
      break;
    case 1:
      define(y, fmt::format("sum[{1}, {2}]({3}?[{1}, 2*{0} + {2} - 1] * {4})", name(i), name(c),
                            name(r), x.name, at(w, w.dims)));
      break;
    case 2:
      y.finite = false;
      y.dims = {c, i};
      define(y,
             fmt::format("max[{2}]({3}?[{1}, {0} + {2} - 1])", name(i), name(c), name(r), x.name));
      break;
    default: {
      const Dims other = some_dims(1, 1, all);
      y.dims = other;
      define(y, fmt::format("sum[{1}, {0}, {2} | 2*{0} + {2} - 1 == {3}]({4} * {5})", name(i),
                            name(c), name(r), name(other[0]), at(x, x.dims), at(w, w.dims)));
    }
  }
}

// Folds over windows that reach outside: reads that yield the identity there, or a stated fill.
void Generator::pooling() {
  const Dims all = some_dims(3, 3);
  const int i = all[0], r = all[1], c = all[2];
  const TensorInfo x = input("f32", {i, c}), w = input("f32", {r, c});
  const std::string place = choice_.chance(30)
                                ? fmt::format("{} - {}", name(i), name(r))
                                : fmt::format("{}{} + {} - {}", choice_.chance(30) ? "2*" : "",
                                              name(i), name(r), choice_.between(0, 2));
  const std::string read = fmt::format("{}?[{}, {}]", x.name, place, name(c));
  const std::string over = name(r), weight = at(w, {r, c});
  TensorInfo y{fresh(), {i, c}};
  y.size = 30;
  y.finite = false;
  switch (choice_.below(8)) {
    case 0:
      return define(y, fmt::format("sum[{}]({} * {} * {})", over, read, read, weight));
    case 1:
      return define(y, fmt::format("sum[{}](tanh({}) * {} / 2)", over, read, weight));
    case 2:  // not the identity outside
      return define(y, fmt::format("sum[{}](exp(-abs({})) + {})", over, read, weight));
    case 3:
      return define(y, fmt::format("max[{}]({} + {})", over, read, weight));
    case 4:
      return define(y, fmt::format("max[{}](0.25 * {} - {})", over, read, at(x, {i, c})));
    case 5:
      return define(y, fmt::format("min[{}]({} + 1)", over, read));
    case 6:
      return define(y, fmt::format("prod[{}]({})", over, read));
    default:
      return define(y, fmt::format("max[{}](-{}?[{}, {}; 0.5])", over, x.name, place, name(c)));
  }
}

// Embeddings, segments, and attention over pages.
void Generator::gathers() {
  const Dims all = some_dims(4, 4);
  const int a = all[0], b = all[1], c = all[2], d = all[3];
  const int kind = choice_.below(4);
  if (kind == 0) {
    const TensorInfo table = input("f32", {a, c}), token = input("i32", {b});
    TensorInfo y{fresh(), {b, c}};
    define(y, fmt::format("{}[{}, {}] * 2", table.name, at(token, {b}), name(c)),
           storage(Kind::real));
  } else if (kind == 1) {
    const TensorInfo x = input("f32", {a, c}), segment = input("i32", {a});
    TensorInfo y{fresh(), {b, c}};
    y.size = 10;
    define(y, fmt::format("sum[{} | {} == {}]({})", name(a), at(segment, {a}), name(b),
                          at(x, {a, c})));
  } else if (kind == 2) {
    const TensorInfo x = input("f32", {a}), first = input("i32", {a}), second = input("i32", {b});
    TensorInfo y{fresh(), {b}};
    define(y, fmt::format("{}?[{}?[{}; 0]] + {}", x.name, first.name, at(second, {b}), name(b)));
  } else {
    const TensorInfo q = input("f32", {d}), keys = input("f32", {a, c, d}),
                     page = input("i32", {b});
    const TensorInfo length = input("i32", {});
    TensorInfo s{fresh(), {b, c}}, m{fresh(), {}}, w{fresh(), {b, c}}, o{fresh(), {d}};
    s.finite = m.finite = false;
    w.size = 20;
    define(s, fmt::format("sum[{0}]({1} * {2}?[{3}, {4}, {0}]) / 2", name(d), at(q, {d}), keys.name,
                          at(page, {b}), name(c)));
    const std::string over =
        fmt::format("{}, {} | 2*{} + {} < {}", name(b), name(c), name(b), name(c), length.name);
    define(m, fmt::format("max[{}]({})", over, at(s, s.dims)));
    define(w, fmt::format("exp({} - {})", at(s, s.dims), m.name));
    define(o, fmt::format("sum[{0}]({1} * {2}?[{3}, {4}, {5}]) / sum[{0}]({1})", over,
                          at(w, w.dims), keys.name, at(page, {b}), name(c), name(d)));
  }
}

// Concatenation, slices, division where it is meant.
void Generator::selections() {
  const Dims all = some_dims(2, 2);
  const int i = all[0], c = all[1];
  const TensorInfo x = input("f32", {i, c}), z = input("f32", {i, c});
  TensorInfo y{fresh(), {i, c}};
  switch (choice_.below(3)) {
    case 0:
      define(y, fmt::format("select({0} < 2, {1}?[{0}, {3}], {2}?[{0} - 2, {3}])", name(i), x.name,
                            z.name, name(c)));
      break;
    case 1:
      define(y, fmt::format("select(0 < {0}, {1} / {0}, 0)", name(i), at(x, x.dims)));
      break;
    default:
      define(y, fmt::format("select({0} < 0, -sqrt(-{0}), sqrt({0}))", at(x, x.dims)));
  }
}

// An output that takes the buffer of an input, which others still read as it was.
void Generator::in_place() {
  const Dims all = some_dims(2, 2);
  const TensorInfo x = input("f32", all), position = input("i32", {}),
                   fresh_row = input("f32", {all[1]});
  TensorInfo y{fresh(), all}, z{fresh(), {all[1]}};
  const int kind = choice_.below(3);
  if (kind == 0)
    define(y, fmt::format("select({} == {}, {}, {})", name(all[0]), position.name,
                          at(fresh_row, {all[1]}), at(x, all)));
  else if (kind == 1)
    define(y, fmt::format("{} - 0.5 * {}", at(x, all), at(fresh_row, {all[1]})));
  else
    define(y,
           fmt::format("{} + {}?[{} - 1, {}; 0]", at(x, all), x.name, name(all[0]), name(all[1])));
  z.size = 10;
  define(z, fmt::format("sum[{}]({})", name(all[0]), at(x, all)));
  program_.outputs.push_back(fmt::format("{} into {}", y.name, x.name));
}

}  // namespace tang::fuzz
