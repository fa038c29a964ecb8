// Scans, recurrences, top-k and sorted segments.
#include <algorithm>

#include <fmt/format.h>

#include "fuzz/random_graphs/generator.h"

namespace tang::fuzz {

namespace {

Dims without(const Dims& dims, int d) {
  Dims rest;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(rest), [d](int x) { return x != d; });
  return rest;
}

}  // namespace

std::string Generator::modifiers() {
  std::string text = choice_.chance(40) ? ", exclusive" : "";
  if (choice_.chance(40)) text += ", reverse";
  return text;
}

int Generator::new_dim(const std::string& base, const DimInfo& like) {
  DimInfo d = like;
  d.name = fmt::format("{}{}", base, dims_.size());
  d.apart = true;
  program_.dims.emplace_back(d.name, d.extent);
  dims_.push_back(d);
  return static_cast<int>(dims_.size()) - 1;
}

// A scan of reals; what it holds is finite unless some prefix has no terms.
std::string Generator::real_scan(const std::string& along, const Dims& scope, TensorInfo& t) {
  struct Monoid {
    const char* name;
    const char* field;
    bool finite;  // without terms
    double growth;
  };
  static const std::vector<Monoid> monoids = {
      {"sum", "", true, 7},         {"prod", "", true, 1},       {"max", "", false, 1},
      {"min", "", false, 1},        {"logsumexp", "", false, 2}, {"moments", "", true, 1},
      {"moments", ".m2", true, 9},  {"maxabs", "", true, 1},     {"latest", ".v", true, 1},
      {"welford", ".mean", true, 1}};
  const Monoid& m = choice_.of(monoids);
  Real x = real(choice_.below(2), scope, Fill::stated);
  if (std::string(m.name) == "prod") x = {fmt::format("1 + 0.5 * tanh({})", x.text), 8};
  const std::string after = modifiers();
  t.finite = m.finite || after.find("exclusive") == std::string::npos;
  t.size = x.size * m.growth;
  return fmt::format("scan[{}; {}{}]({}){}", along, m.name, after, x.text, m.field);
}

// h(t) = a·h(t-1) + b, with or without an initial state, and states of several components.
std::string Generator::recurrence(int t, const Dims& scope, TensorInfo& y) {
  const Real a = leaf(scope, Fill::stated), b = real(1, scope, Fill::stated);
  const std::string along = name(t), decay = fmt::format("sigmoid({})", a.text);
  y.size = 7 * b.size;
  switch (choice_.below(6)) {
    case 0:
      return fmt::format("scan[{}]({}, {})", along, decay, b.text);
    case 1:
    case 2:
      return fmt::format("scan[{}{}]({}, {}, {})", along, choice_.chance(40) ? "; reverse" : "",
                         decay, b.text, leaf(without(scope, t), Fill::stated).text);
    case 3:
      return fmt::format("scan[{}; affine{}]({}, {})", along, modifiers(), decay, b.text);
    case 4:
      return fmt::format("cumsum[{}]({})", along, b.text);
    default:
      return fmt::format("scan[{}; online{}]({}, {}).o", along, modifiers(), a.text, b.text);
  }
}

std::string Generator::exact_scan(int along, const Dims& scope, TensorInfo& t) {
  t.exact = true;
  t.size = 1000;
  const std::string t_name = name(along), after = modifiers();
  const bool total = after.find("exclusive") == std::string::npos;
  switch (choice_.below(5)) {
    case 0:
      t.kind = Kind::boolean;
      return fmt::format("scan[{}; {}{}]({})", t_name, choice_.chance(50) ? "any" : "all", after,
                         condition(0, scope));
    case 1:
      t.kind = Kind::integer;
      t.exact = total;  // without terms it is the end of i64, and an i32 buffer holds less
      return fmt::format("scan[{}; {}{}]({})", t_name, choice_.chance(50) ? "max" : "min", after,
                         exact_read(Kind::integer, scope));
    case 2:
      t.kind = Kind::integer;
      return fmt::format("scan[{}; {}{}]({})", t_name, choice_.chance(50) ? "argmax" : "argmin",
                         after, exact_read(Kind::real, scope));
    case 3:
      t.kind = Kind::integer;
      return fmt::format("scan[{}; sum{}]({})", t_name, after, exact_read(Kind::integer, scope));
    default:
      t.kind = Kind::integer;
      return fmt::format("scan[{}; longest{}]({}).best", t_name, after,
                         exact_read(Kind::boolean, scope));
  }
}

void Generator::scan() {
  const Dims points = some_dims(1, 3);
  const int t = choice_.of(points);
  TensorInfo y{fresh(), points};
  const int kind = choice_.below(10);
  const std::string value = kind < 4   ? real_scan(name(t), points, y)
                            : kind < 8 ? recurrence(t, points, y)
                                       : exact_scan(t, points, y);
  if (kind < 8 && choice_.chance(30)) {
    const Real other = leaf(points, Fill::stated);
    y.size = 1 + other.size;
    define(y, fmt::format("tanh({}) + {}", value, other.text));
    return;
  }
  define(y, value, kind < 8 ? storage(Kind::real) : "");
}

// H(t)[x] = sum over y of A·H(t-1)[y], plus B.
void Generator::matrix_recurrence() {
  const Dims all = some_dims(2, 3);
  const int t = all[0], x = all[1];
  const int y = new_dim("y", dims_[static_cast<size_t>(x)]);
  Dims inner = {t, x, y};
  const Real a = real(1, inner, Fill::stated), b = real(1, all, Fill::stated);
  TensorInfo h{fresh(), all};
  h.size = 8 * b.size;
  define(h, fmt::format("matscan[{}; {}, {}](tanh({}) / 8 + select({} == {}, 0.5, 0), {}, {})",
                        name(t), name(x), name(y), a.text, name(x), name(y), b.text,
                        leaf(without(all, t), Fill::stated).text));
}

// The largest of a row: values, places, and what is gathered by the places.
void Generator::largest() {
  Dims all = some_dims(2, 3);
  const auto constant = std::find_if(all.begin(), all.end(), [&](int d) {
    return !dims_[static_cast<size_t>(d)].symbolic && size(d) > 0;
  });
  if (constant == all.end()) return map();
  const int x = *constant;
  const Dims rest = without(all, x);
  const int k = choice_.between(1, static_cast<int>(std::min<int64_t>(4, size(x))));
  const int n = new_dim("n", {"", fmt::format("{}", k), k, false, true});
  Dims points = rest, scope = rest;
  points.push_back(n);
  scope.push_back(x);
  const TensorInfo given = input("f32", scope);
  const std::string chosen = choice_.chance(60) ? at(given, scope) : exact_read(Kind::real, scope);
  const std::string binder =
      choice_.chance(25) ? fmt::format("{} < {}", name(x), exact_read(Kind::integer, rest)) : "";
  const std::string fold = fmt::format("topk[{}; {}{}]({})", name(x), name(n),
                                       binder.empty() ? "" : " | " + binder, chosen);
  TensorInfo w{fresh(), points}, e{fresh(), points}, y{fresh(), points};
  w.exact = e.exact = true;
  w.finite = binder.empty();
  e.kind = Kind::integer;
  if (choice_.chance(25)) return define(w, fold);
  if (choice_.chance(25)) return define(e, fold + ".index");
  program_.definitions.push_back(fmt::format("({}, {}) = {}", at(w, points), at(e, points), fold));
  tensors_.push_back(w);
  tensors_.push_back(e);
  if (!choice_.chance(50)) return;
  const TensorInfo table = input("f32", {x});
  y.finite = w.finite;
  define(y, fmt::format("{}?[{}; 0] * {}", table.name, at(e, points), at(w, points)));
}

// The largest, the largest of what is left, …: a chain that reads as a top-k.
void Generator::largest_in_turn() {
  Dims all = some_dims(1, 3);
  const int x = all.back();
  all.pop_back();
  Dims scope = all;
  scope.push_back(x);
  const bool largest = choice_.chance(70);
  const std::string base = at(input("f32", scope), scope), worst = largest ? "-inf" : "inf";
  std::string taken;
  for (int k = choice_.between(2, 4); k > 0; --k) {
    std::string term = base, condition;
    if (!taken.empty() && choice_.chance(50)) condition = fmt::format(" | not ({})", taken);
    if (!taken.empty() && condition.empty())
      term = fmt::format("select({}, {}, {})", taken, worst, base);
    TensorInfo a{fresh(), all};
    a.kind = Kind::integer;
    a.exact = true;
    define(a, fmt::format("{}[{}{}]({})", largest ? "argmax" : "argmin", name(x), condition, term));
    taken += fmt::format("{}{} == {}", taken.empty() ? "" : " or ", name(x), at(a, all));
  }
}

// Reductions over segments of a sorted tensor.
void Generator::segments() {
  const Dims all = some_dims(2, 3);
  const int a = all[0], b = all[1];
  const Dims rest(all.begin() + 2, all.end());
  Dims from = {a}, to = {b};
  from.insert(from.end(), rest.begin(), rest.end());
  to.insert(to.end(), rest.begin(), rest.end());
  const TensorInfo x = input("f32", from), segment = input("i32", {a});
  if (choice_.chance(80)) program_.definitions.push_back("sorted " + segment.name);
  static const std::vector<std::string> folds = {"sum", "mean", "max", "min", "logsumexp"};
  const std::string& fold = choice_.of(folds);
  TensorInfo y{fresh(), to};
  y.size = 16;
  y.finite = fold == "sum" || fold == "mean";
  define(y, fmt::format("{}[{} | {} == {}]({})", fold, name(a), at(segment, {a}), name(b),
                        at(x, from)));
}

}  // namespace tang::fuzz
