// Softmaxes that are not exp(s - max(s)) over its own sum: with sinks, temperatures, without a max,
// and differences of two.
#include <fmt/format.h>

#include "fuzz/random_graphs/generator.h"

namespace tang::fuzz {

// A score over points and j, bounded so that its exponential is a number in every format. It
// depends on an input: a sum over nothing of what is the same for every j is no softmax.
TensorInfo Generator::score(const Dims& points, int j, std::string& binder) {
  Dims both = points;
  both.push_back(j);
  std::string x = at(input("f32", both), both);
  if (choice_.chance(50)) x += " + " + real(1, both, Fill::stated).text;
  TensorInfo s{fresh(), both};
  s.finite = false;
  define(s, mask(fmt::format("(3 * tanh(({}) / 3))", x), points, j, binder));
  return s;
}

void Generator::shifted_softmax() {
  const Dims all = some_dims(3, 4);
  const int j = all[0], e = all[1];
  const Dims points(all.begin() + 2, all.end());
  Dims both = points, outs = points;
  both.push_back(j);
  outs.push_back(e);
  std::string binder;
  const TensorInfo s = score(points, j, binder);
  const TensorInfo v = input("f32", {j, e}), row = input("f32", points);
  const std::string over = name(j) + binder, x = at(s, both), z = at(row, points);
  TensorInfo m{fresh(), points}, p{fresh(), both}, l{fresh(), points}, y{fresh(), outs};
  m.finite = p.finite = l.finite = y.finite = false;
  std::string weight, sink;
  switch (choice_.below(6)) {
    case 0:  // a sink beside the scores
      define(m, fmt::format("max(max[{}]({}), {})", over, x, z));
      weight = fmt::format("exp({} - {})", x, at(m, points));
      sink = fmt::format(" + exp({} - {})", z, at(m, points));
      break;
    case 1:  // a temperature of each row outside the max
      define(m, fmt::format("max[{}]({})", over, x));
      weight = fmt::format("exp(({} - {}) * (1 + abs({})))", x, at(m, points), z);
      break;
    case 2:
      define(m, fmt::format("max[{}]({})", over, x));
      weight = fmt::format("exp(({} - {}) / (0.5 + abs({})))", x, at(m, points), z);
      break;
    case 3:  // shifted by what is no max
      weight = fmt::format("exp({} + {})", x, z);
      break;
    case 4:
      weight = fmt::format("exp({} / 2)", x);
      break;
    default:
      weight = fmt::format("exp({})", x);
  }
  define(p, weight);
  if (choice_.chance(50)) {
    define(l, fmt::format("sum[{}]({}){}", over, at(p, both), sink));
    define(y,
           fmt::format("sum[{}]({} / {} * {})", over, at(p, both), at(l, points), at(v, {j, e})));
  } else {
    define(y, fmt::format("sum[{0}]({1} * {2}) / (sum[{0}]({1}){3})", over, at(p, both),
                          at(v, {j, e}), sink));
  }
}

// Attention by the difference of two softmaxes.
void Generator::two_softmaxes() {
  const Dims all = some_dims(3, 4);
  const int j = all[0], e = all[1];
  const Dims points(all.begin() + 2, all.end());
  Dims both = points, outs = points;
  both.push_back(j);
  outs.push_back(e);
  std::string binder;
  const TensorInfo a = score(points, j, binder);
  const TensorInfo b = input("f32", both), v = input("f32", {j, e}), c = input("f32", {});
  const auto softmax = [&](const TensorInfo& t) {
    return fmt::format("softmax[{}]({})", name(j), at(t, both));
  };
  TensorInfo y{fresh(), outs};
  y.finite = false;
  define(y,
         fmt::format("sum[{}]({}({} - {} * {}) * {})", name(j), choice_.chance(30) ? "0.5 * " : "",
                     softmax(a), choice_.chance(50) ? "0.5" : c.name, softmax(b), at(v, {j, e})));
}

}  // namespace tang::fuzz
