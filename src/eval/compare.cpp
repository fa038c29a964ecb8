#include "eval/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

namespace tang {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double difference(double want, double got) {
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) && std::isnan(got) ? 0 : infinite;
  if (want == got) return 0;
  if (std::isinf(want) || std::isinf(got)) return infinite;
  return std::abs(got - want);
}

double difference(int64_t want, int64_t got) {
  const auto high = static_cast<uint64_t>(std::max(want, got));
  return static_cast<double>(high - static_cast<uint64_t>(std::min(want, got)));
}

// `got` gives the element of a flat index; `stored` what a wanted value is in its format.
Comparison compare_with(const Values& want, const std::function<Value(int64_t)>& got,
                        const std::function<Value(const Value&)>& stored) {
  Comparison c;
  c.exact = want.kind != Kind::real;
  const std::vector<int64_t> flats = want.points ? want.flats() : std::vector<int64_t>{};
  double scale = 0, worst = -1;
  for (int64_t slot = 0; slot < want.stored(); ++slot) {
    const int64_t flat = want.points ? flats[static_cast<size_t>(slot)] : slot;
    const Value w = stored(want.slot(slot));
    const Value x = got(flat);
    const double d = c.exact ? difference(w.i, x.as_integer()) : difference(w.r, x.as_real());
    const double size = std::abs(w.as_real());
    if (std::isfinite(size)) scale = std::max(scale, size);
    ++c.compared;
    if (d <= worst) continue;
    worst = d;
    c.worst = flat;
    c.got = x;
    c.want = w;
  }
  c.error = worst <= 0 ? 0 : scale > 0 ? worst / scale : worst;
  return c;
}

std::string text(const Value& v) {
  if (v.kind == Kind::real) return fmt::format("{:.9g}", v.r);
  if (v.kind == Kind::integer) return fmt::format("{}", v.i);
  return v.i ? "true" : "false";
}

}  // namespace

Comparison compare(const Values& want, const Array& got) {
  const auto element = [&](int64_t flat) {
    if (want.kind == Kind::real) return Value::real(got.at(flat));
    return Value::integer(got.integer_at(flat)).to(want.kind);
  };
  const Kind stored_kind = kind(got.format);
  return compare_with(want, element, [&](const Value& v) {
    if (v.kind == Kind::integer && stored_kind == Kind::integer)
      return Value::integer(std::clamp(v.i, integer_min(got.format), integer_max(got.format)));
    const double rounded =
        v.kind == Kind::real && stored_kind == Kind::real ? round_to(got.format, v.r) : 0;
    return std::isinf(rounded) ? Value::real(rounded) : v;
  });
}

Comparison compare(const Values& want, const Values& got) {
  return compare_with(
      want, [&](int64_t flat) { return got.at(flat); }, [](const Value& v) { return v; });
}

std::string comparison_text(const Comparison& c) {
  return fmt::format("got {}, want {} (error {:.3g})", text(c.got), text(c.want), c.error);
}

}  // namespace tang
