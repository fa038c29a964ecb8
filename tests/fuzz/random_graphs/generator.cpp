#include "fuzz/random_graphs/generator.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tang::fuzz {

uint64_t Choice::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void Generator::declare_dims() {
  static const char* const letters[] = {"i", "j", "k", "p", "q", "b", "c"};
  if (choice_.chance(50)) program_.sizes["n"] = choice_.chance(6) ? 0 : choice_.between(1, 6);
  if (!program_.sizes.empty() && choice_.chance(30)) program_.sizes["s"] = choice_.between(1, 5);
  for (const char* letter : letters) {
    DimInfo d{letter, "", 0, false};
    if (!program_.sizes.empty() && choice_.chance(40)) {
      const bool second = program_.sizes.contains("s") && choice_.chance(40);
      const int64_t value = program_.sizes[second ? "s" : "n"];
      d.symbolic = true;
      d.extent = second ? "s" : "n";
      d.size = value;
      if (choice_.chance(15)) d.extent += " + 1", d.size += 1;
    } else {
      d.size = choice_.chance(3) ? 0 : choice_.between(1, 7);
      d.extent = fmt::format("{}", d.size);
    }
    program_.dims.emplace_back(d.name, d.extent);
    dims_.push_back(d);
  }
}

int64_t Generator::size(const Dims& dims) const {
  int64_t n = 1;
  for (int d : dims) n *= size(d);
  return n;
}

Dims Generator::some_dims(int least, int most, const Dims& without) {
  Dims rest, result;
  for (size_t d = 0; d < dims_.size(); ++d)
    if (!dims_[d].apart &&
        std::find(without.begin(), without.end(), static_cast<int>(d)) == without.end())
      rest.push_back(static_cast<int>(d));
  for (int n = choice_.between(least, most); n > 0 && !rest.empty(); --n) {
    const auto k = choice_.below(static_cast<int>(rest.size()));
    result.push_back(rest[static_cast<size_t>(k)]);
    rest.erase(rest.begin() + k);
  }
  return result;
}

std::string Generator::names(const Dims& dims) const {
  std::string s;
  for (int d : dims) s += (s.empty() ? "" : ", ") + name(d);
  return s;
}

std::string Generator::tensor(const std::string& base, const Dims& dims) const {
  return dims.empty() ? base : base + "[" + names(dims) + "]";
}

std::string Generator::at(const TensorInfo& t, const Dims& dims) const {
  return tensor(t.name, dims);
}

TensorInfo Generator::input(const std::string& format, const Dims& dims) {
  TensorInfo t;
  t.name = fmt::format("x{}", program_.inputs.size());
  t.dims = dims;
  t.kind = kind(*parse_format(format));
  t.exact = true;
  t.size = t.kind == Kind::real ? 4 : 7;
  program_.inputs.push_back(fmt::format("{} : {}", tensor(t.name, dims), format));
  // Inputs come first: definitions go after them, patterns may add more inputs later.
  tensors_.insert(tensors_.begin(), t);
  return tensors_.front();
}

void Generator::declare_inputs() {
  static const std::vector<std::string> formats = {"f32", "f32",  "f32", "f32",
                                                   "f16", "bf16", "f64"};
  for (int n = choice_.between(2, 4); n > 0; --n) input(choice_.of(formats), some_dims(0, 3));
  input("f32", some_dims(2, 2));
  if (choice_.chance(10)) input(choice_.chance(50) ? "f8e4m3" : "f8e5m2", some_dims(0, 2));
  if (choice_.chance(10)) blocks();
  if (choice_.chance(50)) input(choice_.chance(80) ? "i32" : "i64", some_dims(1, 2));
  if (choice_.chance(12)) input(choice_.chance(50) ? "i4" : "u4", some_dims(1, 2));
  if (choice_.chance(40)) input("bool", some_dims(1, 2));
  if (choice_.chance(40)) {
    input("i32", some_dims(1, 1));
    tensors_.front().gathers = true;
  }
}

// An input in blocks, with a dim for its last axis that nothing else is over.
void Generator::blocks() {
  static const std::vector<std::string> formats = {"q8_0", "q4_0", "mxfp4", "q4_k", "q6_k"};
  const std::string& format = choice_.of(formats);
  Dims dims = some_dims(0, 1);
  const int64_t extent = info(*parse_format(format)).block;
  dims_.push_back({"w", fmt::format("{}", extent), extent, false, true});
  program_.dims.emplace_back(dims_.back().name, dims_.back().extent);
  dims.push_back(static_cast<int>(dims_.size()) - 1);
  input(format, dims);
  TensorInfo t{fresh(), {dims.front()}};
  if (dims.size() == 1) t.dims.clear();
  t.size = 8;
  const std::string sum = fmt::format("sum[w]({}) / 16", at(tensors_.front(), dims));
  program_.definitions.push_back(fmt::format("{} = {}", at(t, t.dims), sum));
  tensors_.push_back(t);
}

std::string Generator::storage(Kind kind) {
  static const std::vector<std::string> reals = {"f16",  "bf16", "f64",    "f32",
                                                 "tf32", "f16",  "f8e4m3", "f8e5m2"};
  static const std::vector<std::string> integers = {"i64", "i32", "i8", "u8", "i4", "u4"};
  if (!choice_.chance(14)) return {};
  return kind == Kind::real      ? choice_.of(reals)
         : kind == Kind::integer ? choice_.of(integers)
                                 : "bool";
}

void Generator::define(const TensorInfo& t, const std::string& value, const std::string& format) {
  program_.definitions.push_back(fmt::format("{}{} = {}", tensor(t.name, t.dims),
                                             format.empty() ? "" : " : " + format, value));
  tensors_.push_back(t);
}

void Generator::map() {
  const Dims points = some_dims(1, 3);
  TensorInfo t{fresh(), points};
  if (choice_.chance(15)) {
    t.kind = Kind::integer;
    t.exact = true;
    t.size = 50;
    define(t, integer(2, points), storage(t.kind));
  } else if (choice_.chance(8)) {
    t.kind = Kind::boolean;
    t.exact = true;
    define(t, condition(2, points), storage(t.kind));
  } else {
    const Real r = real(choice_.between(1, 3), points, Fill::either);
    t.size = r.size;
    define(t, r.text, storage(t.kind));
  }
}

// A reduction of a real expression, alone, inside a larger expression or with a `where` clause.
void Generator::reduction() {
  struct Monoid {
    const char* name;
    Fill fill;
    bool finite;  // without terms
    double growth;
  };
  static const std::vector<Monoid> monoids = {
      {"sum", Fill::either, true, 3},        {"sum", Fill::either, true, 3},
      {"sum", Fill::either, true, 3},        {"mean", Fill::either, true, 1},
      {"max", Fill::stated, false, 1},       {"max", Fill::stated, false, 1},
      {"min", Fill::stated, false, 1},       {"var", Fill::stated, true, 8},
      {"logsumexp", Fill::stated, false, 1}, {"prod", Fill::either, true, 1},
      {"moments", Fill::stated, true, 1},    {"maxabs", Fill::stated, true, 1}};
  const Monoid& m = choice_.of(monoids);
  const Dims points = some_dims(0, 2), reduce = some_dims(1, 2, points);
  Dims scope = points;
  scope.insert(scope.end(), reduce.begin(), reduce.end());
  const std::string condition = binder_condition(scope, reduce);
  Real body = real(choice_.between(0, 2), scope, m.fill);
  if (std::string(m.name) == "prod" && body.size > 1.5)
    body = {fmt::format("1 + 0.5 * tanh({})", body.text), 1.5};
  const std::string fold = fmt::format("{}[{}{}]({})", m.name, names(reduce), condition, body.text);
  TensorInfo t{fresh(), points};
  t.finite = m.finite || (condition.empty() && size(reduce) > 0);
  t.size = body.size * m.growth;
  if (std::string(m.name) == "prod")
    t.size = std::pow(std::max(body.size, 1.0), static_cast<double>(size(reduce)));
  const std::string format = storage(Kind::real);
  const int kind = choice_.below(10);
  if (kind < 4 || (kind < 7 && !points.empty() && points.size() > 2)) {
    define(t, fold, format);
  } else if (kind < 7) {
    const Real other = leaf(points, Fill::stated);
    t.size = 1 + other.size;
    t.finite = true;
    define(t, fmt::format("tanh({}) + {}", fold, other.text), format);
  } else {
    const bool expanded = std::string(m.name) == "mean" || std::string(m.name) == "var";
    const Real other = leaf(points, Fill::stated);
    t.size = 1 + other.size;
    t.finite = true;
    if (expanded || std::string(m.name) == "moments")
      define(t,
             fmt::format(
                 "{} * sigmoid({})",
                 other.text.find(' ') == std::string::npos ? other.text : "(" + other.text + ")",
                 fold),
             format);
    else
      define(t, fmt::format("sigmoid(u) * ({})\n  where u = {}", other.text, fold), format);
  }
}

// Several folds over one index set: the product monoid.
void Generator::product() {
  const Dims points = some_dims(0, 2), reduce = some_dims(1, 2, points);
  Dims scope = points;
  scope.insert(scope.end(), reduce.begin(), reduce.end());
  const std::string binder = names(reduce) + binder_condition(scope, reduce);
  const Real x = real(1, scope, Fill::stated), y = real(1, scope, Fill::stated);
  const bool total = binder == names(reduce) && size(reduce) > 0;
  if (choice_.chance(50)) {
    TensorInfo a{fresh(), points}, b{fresh(), points};
    a.size = 3 * x.size;
    b.size = y.size;
    b.finite = total;
    program_.definitions.push_back(fmt::format("({}, {}) = (sum[{}]({}), max[{}]({}))",
                                               at(a, points), at(b, points), binder, x.text, binder,
                                               y.text));
    tensors_.push_back(a);
    tensors_.push_back(b);
    return;
  }
  TensorInfo t{fresh(), points};
  t.size = 3 * x.size;
  define(t, fmt::format("u / (1 + abs(w)) + tanh(z)\n  where (u, w, z) = (sum[{0}]({1}), "
                        "sum[{0}]({2}), min[{0}]({2}))",
                        binder, x.text, y.text));
}

void Generator::exact_reduction() {
  static const std::vector<std::string> integers = {"sum",  "max",    "min",
                                                    "prod", "argmax", "argmin"};
  const Dims points = some_dims(0, 2), reduce = some_dims(1, 2, points);
  Dims scope = points;
  scope.insert(scope.end(), reduce.begin(), reduce.end());
  const std::string binder = names(reduce) + binder_condition(scope, reduce);
  TensorInfo t{fresh(), points};
  t.exact = true;
  t.size = 1000;
  const int kind = choice_.below(10);
  if (kind < 2) {
    t.kind = Kind::boolean;
    define(t, fmt::format("{}[{}]({})", choice_.chance(50) ? "any" : "all", binder,
                          condition(1, scope)));
  } else if (kind < 5) {
    t.kind = Kind::integer;
    const std::string monoid = choice_.of(integers);
    // Without terms an extreme is the end of i64, and an i32 buffer holds less.
    const bool total = binder == names(reduce) && size(reduce) > 0;
    t.exact = total || (monoid != "max" && monoid != "min");
    define(t, fmt::format("{}[{}]({})", monoid, binder, integer(1, scope)), storage(t.kind));
  } else if (kind < 6) {
    t.kind = Kind::integer;
    define(t, fmt::format("sum[{}]({})", binder, condition(1, scope)));
  } else if (kind < 8) {
    t.kind = Kind::integer;
    define(t, fmt::format("{}[{}]({})", choice_.chance(50) ? "argmax" : "argmin", binder,
                          exact_read(Kind::real, scope)));
  } else {
    TensorInfo value{fresh(), points};
    value.finite = false;
    value.exact = true;
    t.kind = Kind::integer;
    program_.definitions.push_back(fmt::format("({}, {}) = argmax[{}]({})", at(value, points),
                                               at(t, points), binder,
                                               exact_read(Kind::real, scope)));
    tensors_.push_back(value);
    tensors_.push_back(t);
  }
}

// Monoids with several state components, of the language and of the user.
void Generator::states() {
  const Dims points = some_dims(0, 2), reduce = some_dims(1, 2, points);
  Dims scope = points;
  scope.insert(scope.end(), reduce.begin(), reduce.end());
  const std::string binder = names(reduce) + binder_condition(scope, reduce);
  const Real x = real(1, scope, Fill::stated), y = leaf(scope, Fill::stated);
  TensorInfo t{fresh(), points};
  t.size = 20;
  switch (choice_.below(7)) {
    case 0:
      define(t, fmt::format("l + tanh(m) + tanh(o)\n  where (m, l, o) = online[{}]({}, {})", binder,
                            x.text, y.text));
      break;
    case 1:
      define(t, fmt::format("moments[{}]({}).m2", binder, x.text));
      t.size = 100;
      break;
    case 2:
      define(t, fmt::format("moments[{}](sigmoid({}), {}).mean", binder, y.text, x.text));
      break;
    case 3:
      define(t, fmt::format("welford[{}]({}).mean", binder, x.text));
      break;
    case 4:
      define(t, fmt::format("latest[{}]({}).v", binder, x.text));
      break;
    case 5:
      define(t, fmt::format("affine[{}](sigmoid({}), {})", binder, y.text, x.text));
      break;
    default:
      define(t,
             fmt::format("0.5 * longest[{}]({}).best", binder, exact_read(Kind::boolean, scope)));
      t.kind = Kind::real;
      break;
  }
}

void Generator::choose_outputs() {
  std::vector<std::string> defined;
  for (const TensorInfo& t : tensors_)
    if (t.name[0] == 't') defined.push_back(t.name);
  const auto taken = [&](const std::string& name) {
    return std::any_of(program_.outputs.begin(), program_.outputs.end(),
                       [&](const std::string& o) { return o.starts_with(name + " into "); });
  };
  for (size_t k = 0; k < defined.size(); ++k)
    if ((k + 1 == defined.size() || choice_.chance(35)) && !taken(defined[k]))
      program_.outputs.push_back(defined[k]);
}

Program Generator::run() {
  program_.operations = {
      "fn softmax[x](s) = exp(s - max[x](s)) / sum[x](exp(s - max[x](s)))",
      "monoid maxabs(m) identity 0 lift(x) = abs(x) combine(a, b) = max(a.m, b.m) commutative",
      "monoid latest(has, v) identity (0, 0) lift(x) = (1, x)\n"
      "  combine(a, b) = (max(a.has, b.has), select(0 < b.has, b.v, a.v))",
      "monoid longest(all, head, tail, best, n) identity (1, 0, 0, 0, 0)\n"
      "  lift(x) = (select(x, 1, 0), select(x, 1, 0), select(x, 1, 0), select(x, 1, 0), 1)\n"
      "  combine(a, b) = (a.all * b.all, select(0.5 < a.all, a.n + b.head, a.head),\n"
      "    select(0.5 < b.all, a.tail + b.n, b.tail), max(max(a.best, b.best), a.tail + b.head), "
      "a.n + b.n)",
      "monoid welford(n, mean, m2) identity (0, 0, 0) lift(x) = (1, x, 0)\n"
      "  combine(a, b) = (a.n + b.n,\n"
      "    a.mean + (b.mean - a.mean) * select(0 < a.n + b.n, b.n / (a.n + b.n), 0),\n"
      "    a.m2 + b.m2 + (b.mean - a.mean) * ((b.mean - a.mean)\n"
      "      * select(0 < a.n + b.n, a.n * b.n / (a.n + b.n), 0))) commutative"};
  declare_dims();
  declare_inputs();
  for (int n = choice_.between(3, 8); n > 0; --n) {
    const int kind = choice_.below(100);
    if (kind < 22)
      map();
    else if (kind < 40)
      reduction();
    else if (kind < 46)
      product();
    else if (kind < 54)
      exact_reduction();
    else if (kind < 61)
      states();
    else if (kind < 68)
      scan();
    else
      pattern();
    if (program_.definitions.size() >= 10) break;
  }
  choose_outputs();
  return std::move(program_);
}

Program random_program(uint64_t seed) { return Generator(seed).run(); }

}  // namespace tang::fuzz
