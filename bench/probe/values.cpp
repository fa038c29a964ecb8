#include "probe/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tang::probe {

namespace {

// A generator of 64 bits (splitmix64): the same numbers everywhere.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t integer(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(bits() % static_cast<uint64_t>(to - from + 1));
  }

 private:
  uint64_t state_;
};

// Any bits of an integer format; of a real one a finite number of moderate size and random digits.
uint64_t different(Format f, Draw& draw) {
  const FormatInfo& i = info(f);
  const uint64_t raw = draw.bits();
  if (i.kind != Kind::real) return i.bits == 64 ? raw : raw & ((uint64_t{1} << i.bits) - 1);
  const int range = i.bits == 8 ? 4 : 8;
  const double digits = 1 + static_cast<double>(raw >> 12) / static_cast<double>(uint64_t{1} << 52);
  const double cut = std::ldexp(std::floor(std::ldexp(digits, i.precision - 1)), 1 - i.precision);
  const double x = std::ldexp(cut, static_cast<int>(draw.integer(-range, range)));
  return encode(f, (raw & 1) != 0 ? -x : x);
}

class Maker {
 public:
  Maker(const Plan& plan, const Case& c)
      : plan_(plan), c_(c), kernel_(plan.kernel(c)), row_(*kernel_.row), draw_(17 + c.kernel) {}

  Values values() {
    for (size_t i = 0; i < row_.operands.size(); ++i) fill(i);
    if (!row_.computes.result) return std::move(v_);
    for (uint32_t i : row_.computes.arguments) index(i);
    const Operand& d = row_.operands[*row_.computes.result];
    v_.keep = keep();
    v_.result = v_.before[*row_.computes.result];
    for (size_t t = 0; t < v_.result.size(); ++t)
      for (size_t k = 0; k < v_.result[t].size(); ++k)
        v_.result[t][k] = expected(t, point_of(row_.box(d, c_.sizes), static_cast<int64_t>(k)), k);
    return std::move(v_);
  }

 private:
  Format format(size_t i) const { return plan_.format(c_, row_.operands[i]); }

  void fill(size_t i) {
    const Operand& o = row_.operands[i];
    const Point box = row_.box(o, c_.sizes);
    v_.before[i].resize(instances(row_));
    if (!c_.given.empty()) {
      v_.before[i].assign(instances(row_), c_.given[i]);
      return;
    }
    for (std::vector<uint64_t>& list : v_.before[i])
      for (int64_t k = 0; k < element_count(box); ++k) list.push_back(element(i, o, box, k));
  }

  // The place of operand i among the arguments: 0, 1, or 2 for the result.
  size_t role(size_t i) const {
    const auto& a = row_.computes.arguments;
    return std::find(a.begin(), a.end(), i) == a.end()
               ? 2
               : static_cast<size_t>(std::find(a.begin(), a.end(), i) - a.begin());
  }

  uint64_t element(size_t i, const Operand& o, const Point& box, int64_t k) {
    const Format f = format(i);
    const size_t place = role(i);
    const bool is_unsigned = f == Format::u8;
    if (c_.pattern == Pattern::integers) {
      const int64_t most = place == 2 ? 100 : 3;
      return encode(f, static_cast<double>(draw_.integer(is_unsigned ? 0 : -most, most)));
    }
    if (c_.pattern == Pattern::different) return different(f, draw_);
    if (place == 2) return o.overwrites ? encode(f, std::nan("")) : encode(f, 0);
    const bool selects = (c_.pattern == Pattern::first) == (place == 0);
    if (!selects) return different(f, draw_);
    const Point x = point_of(box, k);
    return encode(f, x[1] == x[0] % box[1] ? 1 : 0);
  }

  // An argument's elements as numbers, and how far apart they are along the row's axes.
  struct Argument {
    std::vector<int64_t> strides;
    std::vector<std::vector<double>> numbers;

    int64_t at(const std::vector<int64_t>& x) const {
      int64_t k = 0;
      for (size_t a = 0; a < x.size(); ++a) k += strides[a] * x[a];
      return k;
    }
  };

  void index(size_t i) {
    const Operand& o = row_.operands[i];
    Argument a;
    a.strides.assign(row_.axes.size(), 0);
    int64_t stride = 1;
    for (size_t k = o.axes.size(); k-- > 0; stride *= c_.sizes[o.axes[k]])
      a.strides[o.axes[k]] = stride;
    for (const std::vector<uint64_t>& list : v_.before[i]) {
      a.numbers.emplace_back();
      for (uint64_t bits : list) a.numbers.back().push_back(decode(format(i), bits));
    }
    arguments_.push_back(std::move(a));
  }

  uint64_t argument(size_t n, size_t t, const std::vector<int64_t>& x) const {
    return v_.before[row_.computes.arguments[n]][t][arguments_[n].at(x)];
  }

  double number(size_t n, size_t t, const std::vector<int64_t>& x) const {
    return arguments_[n].numbers[t][arguments_[n].at(x)];
  }

  // The result at a point of its axes; `old` is its number in the result's list.
  uint64_t expected(size_t t, const Point& x, size_t old) const {
    const size_t d = *row_.computes.result;
    std::vector<int64_t> at(row_.axes.size(), 0);
    for (size_t a = 0; a < x.size(); ++a) at[row_.operands[d].axes[a]] = x[a];
    const uint64_t before = v_.before[d][t][old];
    switch (row_.computes.kind) {
      case Computes::Kind::move:
        return argument(0, t, at);
      case Computes::Kind::map:
        return encode(format(d), number(0, t, at));
      case Computes::Kind::shuffle:
        return exchanged(t, x[0]);
      case Computes::Kind::contract:
        return encode(format(d), contracted(t, at, before));
      case Computes::Kind::fold:
        return encode(format(d), folded(t, at, before));
      default:
        return before;
    }
  }

  uint64_t exchanged(size_t t, int64_t l) const {
    const std::string& how = row_.computes.exchange;
    int64_t from = how == "xor"     ? l ^ c_.by
                   : how == "index" ? c_.by % 32
                   : how == "down"  ? l + c_.by
                                    : l - c_.by;
    if (from < 0 || from >= 32) from = l;
    return argument(0, t, {from});
  }

  // Calls f at all values of the folded axes.
  template <class F>
  void over_folded(std::vector<int64_t> at, F f) const {
    Point box;
    for (uint32_t a : row_.folded()) box.push_back(c_.sizes[a]);
    for (int64_t k = 0; k < element_count(box); ++k) {
      const Point x = point_of(box, k);
      for (size_t a = 0; a < x.size(); ++a) at[row_.folded()[a]] = x[a];
      f(at);
    }
  }

  double contracted(size_t t, const std::vector<int64_t>& at, uint64_t before) const {
    const size_t d = *row_.computes.result;
    double sum = v_.keep ? decode(format(d), before) : 0;
    if (row_.computes.arguments.size() == 1) return sum + number(0, t, at);
    double sign = 1;
    for (uint32_t i : row_.computes.arguments) sign *= kernel_.sign[i];
    // Axes of a product are m, n and the one that is folded.
    const uint32_t folded = row_.folded()[0];
    std::vector<int64_t> x = at;
    for (x[folded] = 0; x[folded] < c_.sizes[folded]; ++x[folded])
      sum += sign * number(0, t, x) * number(1, t, x);
    return sum;
  }

  bool keep() const {
    const Operand& d = row_.operands[*row_.computes.result];
    return d.accumulates && !(d.overwrites && c_.pattern != Pattern::integers);
  }

  double folded(size_t t, const std::vector<int64_t>& at, uint64_t before) const {
    const Operand& d = row_.operands[*row_.computes.result];
    std::vector<double> all;
    if (d.accumulates) all.push_back(decode(format(*row_.computes.result), before));
    over_folded(at, [&](const std::vector<int64_t>& x) { all.push_back(number(0, t, x)); });
    double result = all[0];
    for (size_t k = 1; k < all.size(); ++k)
      result = row_.computes.op == Op::max   ? std::max(result, all[k])
               : row_.computes.op == Op::min ? std::min(result, all[k])
                                             : result + all[k];
    return result;
  }

  const Plan& plan_;
  const Case& c_;
  const Kernel& kernel_;
  const Row& row_;
  Draw draw_;
  Values v_;
  std::vector<Argument> arguments_;  // in the order of the row's arguments
};

}  // namespace

int64_t element_count(const Point& box) {
  int64_t total = 1;
  for (int64_t e : box) total *= e;
  return total;
}

Point point_of(const Point& box, int64_t k) {
  Point x(box.size());
  for (size_t a = box.size(); a-- > 0; k /= box[a]) x[a] = k % box[a];
  return x;
}

int64_t number_of(const Point& box, const Point& x) {
  int64_t k = 0;
  for (size_t a = 0; a < box.size(); ++a) k = k * box[a] + x[a];
  return k;
}

int64_t instances(const Row& row) { return row.scope == Scope::thread ? 32 : 1; }

double decode(Format format, uint64_t bits) {
  std::byte data[8];
  std::memcpy(data, &bits, sizeof data);
  if (kind(format) == Kind::integer) return static_cast<double>(load_integer(format, data, 0));
  return load_element(format, data, 0);
}

uint64_t encode(Format format, double value) {
  std::byte data[8] = {};
  if (kind(format) == Kind::integer)
    store_integer(format, data, 0, std::isnan(value) ? 0 : static_cast<int64_t>(value));
  else
    store_element(format, data, 0, value);
  uint64_t bits = 0;
  std::memcpy(&bits, data, sizeof bits);
  return bits;
}

Values make_values(const Plan& plan, const Case& c) { return Maker(plan, c).values(); }

}  // namespace tang::probe
