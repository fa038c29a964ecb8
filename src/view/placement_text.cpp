#include "view/placement_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tang {

namespace {

// Of positions, coefficients and bytes, so that no sum or product of them overflows.
constexpr int64_t most_positions = int64_t{1} << 30, most_coeff = most_positions;
constexpr int64_t most_bytes = int64_t{1} << 40;

class Reader {
 public:
  Reader(std::string_view text, const AxisNames& axes, const Names& names)
      : in_(text), axes_(axes), names_(names) {}

  Result<Placement> placement();
  Result<Storage> storage();

 private:
  Result<uint32_t> axis();
  Result<int64_t> positive(const char* what);
  Result<int64_t> bytes();
  Result<AxisTerm> term();
  Result<std::vector<AxisTerm>> terms();
  Result<Digit> digit(const Placement& before);
  Result<Digit> use_of(Digit d);
  Result<void> base(Placement& p);
  Result<StorageDigit> storage_digit();
  Result<void> storage_digits(Storage& s);
  Result<Swizzle> swizzle();

  Scanner in_;
  const AxisNames& axes_;
  const Names& names_;
};

Result<uint32_t> Reader::axis() {
  const int start = in_.column();
  const std::string_view name = in_.word();
  const auto at = std::find(axes_.begin(), axes_.end(), name);
  if (at != axes_.end()) return static_cast<uint32_t>(at - axes_.begin());
  const std::string hint = fmt::format("the axes are {}", fmt::join(axes_, ", "));
  if (name.empty()) return in_.fail("an axis is expected", hint);
  return Scanner::fail_at(start, fmt::format("no axis is called `{}`", name), hint);
}

// A quotient of at least 1.
Result<int64_t> Reader::positive(const char* what) {
  const int start = in_.column();
  auto value = in_.quotient(names_);
  if (value && *value < 1)
    return Scanner::fail_at(start, fmt::format("{} is {}", what, *value), "it is at least 1");
  return value;
}

// `n`, `8n` or `(n/8)m`.
Result<AxisTerm> Reader::term() {
  AxisTerm t{0, 1};
  const int start = in_.column();
  if (in_.peek_word().empty()) {
    const auto coeff = in_.primary(names_);
    if (!coeff) return tl::unexpected(coeff.error());
    t.coeff = *coeff;
  }
  if (t.coeff == 0)
    return Scanner::fail_at(start, "a coefficient is 0",
                            "write `replica` for a digit without axes");
  if (t.coeff > most_coeff || t.coeff < -most_coeff)
    return Scanner::fail_at(start, fmt::format("a coefficient is {}", t.coeff), "2^30 is the most");
  const auto of = axis();
  if (!of) return tl::unexpected(of.error());
  t.axis = *of;
  return t;
}

// A sum of terms, ascending by axis.
Result<std::vector<AxisTerm>> Reader::terms() {
  std::vector<AxisTerm> result;
  bool minus = in_.accept("-");
  do {
    auto t = term();
    if (!t) return tl::unexpected(t.error());
    if (minus) t->coeff = -t->coeff;
    const auto same = [&](const AxisTerm& other) { return other.axis == t->axis; };
    if (std::any_of(result.begin(), result.end(), same))
      return in_.fail(fmt::format("axis {} stands twice in a sum", axes_[t->axis]),
                      "write one term an axis");
    result.push_back(*t);
    minus = in_.accept("-");
  } while (minus || in_.accept("+"));
  std::sort(result.begin(), result.end());
  return result;
}

Result<Digit> Reader::use_of(Digit d) {
  if (in_.accept_word("replica")) {
    d.use = Use::replica;
  } else if (in_.accept_word("partial")) {
    d.use = Use::partial;
  } else if (in_.accept("->")) {
    auto moved = terms();
    if (!moved) return tl::unexpected(moved.error());
    d.terms = std::move(*moved);
  } else {
    return in_.fail("a digit's use is expected", "write `-> 8m`, `replica` or `partial`");
  }
  return d;
}

Result<Digit> Reader::digit(const Placement& before) {
  const int start = in_.column();
  const std::string_view word = in_.word();
  const auto level = parse_level(word);
  if (!level)
    return Scanner::fail_at(start, fmt::format("`{}` is not a level", word),
                            "write device, grid, cluster, group, warp, lane, reg, elem or step");
  Digit d{*level, 1, before.next_stride(*level), Use::index, {}};
  const auto extent = positive("an extent");
  if (!extent) return tl::unexpected(extent.error());
  d.extent = *extent;
  if (d.extent > most_positions / before.positions())
    return Scanner::fail_at(start, "there are more than 2^30 positions");
  if (in_.accept("*")) {
    const auto stride = positive("a stride");
    if (!stride) return tl::unexpected(stride.error());
    d.stride = *stride;
  }
  return use_of(std::move(d));
}

Result<void> Reader::base(Placement& p) {
  const auto moved = terms();
  if (!moved) return tl::unexpected(moved.error());
  for (const AxisTerm& t : *moved) p.base[t.axis] = t.coeff;
  return {};
}

Result<Placement> Reader::placement() {
  Placement p(axes_.size());
  if (!in_.accept_word("single")) {
    do {
      if (in_.accept_word("at")) {
        if (const auto read = base(p); !read) return tl::unexpected(read.error());
        break;
      }
      auto d = digit(p);
      if (!d) return tl::unexpected(d.error());
      p.digits.push_back(std::move(*d));
    } while (in_.accept(","));
  }
  if (!in_.at_end()) return in_.fail("the placement goes on", "write `,` between digits");
  if (const std::string wrong = p.fault(); !wrong.empty())
    return Scanner::fail_at(1, wrong, "digits of a level count it out: `lane 8*4, lane 4`");
  return p;
}

Result<int64_t> Reader::bytes() {
  const int start = in_.column();
  auto value = in_.sum(names_);
  if (value && (*value > most_bytes || *value < -most_bytes))
    return Scanner::fail_at(start, fmt::format("{} bytes are too many", *value),
                            "2^40 is the most");
  return value;
}

// `k`, `k/64`, `k%64` or `k/16%4`, then `: bytes`.
Result<StorageDigit> Reader::storage_digit() {
  const auto of = axis();
  if (!of) return tl::unexpected(of.error());
  StorageDigit d{{*of, 1, 0}, 0};
  for (const bool stride : {true, false}) {
    if (!in_.accept(stride ? "/" : "%")) continue;
    const int start = in_.column();
    const auto value = in_.primary(names_);
    if (!value) return tl::unexpected(value.error());
    if (*value < 1) return Scanner::fail_at(start, "a digit is divided by less than 1");
    (stride ? d.of.stride : d.of.extent) = *value;
  }
  if (!in_.accept(":")) return in_.fail("the digit's bytes are expected", "write `: 128`");
  const auto distance = bytes();
  if (!distance) return tl::unexpected(distance.error());
  d.bytes = *distance;
  return d;
}

Result<void> Reader::storage_digits(Storage& s) {
  if (!in_.accept("[")) return in_.fail("a storage begins with `[`", "write `[m : 128, k : 2]`");
  if (in_.accept("]")) return {};
  do {
    const auto d = storage_digit();
    if (!d) return tl::unexpected(d.error());
    s.digits.push_back(*d);
  } while (in_.accept(","));
  if (!in_.accept("]")) return in_.fail("a bracket is not closed", "write `]`, or `,` and a digit");
  return {};
}

// After `sw(`: bits, base, shift.
Result<Swizzle> Reader::swizzle() {
  uint8_t fields[3] = {};
  for (size_t k = 0; k < 3; ++k) {
    const auto value = in_.integer();
    if (!value || *value > 20)
      return in_.fail("a swizzle is bits, base and shift, each at most 20", "write `sw(3,4,3)`");
    fields[k] = static_cast<uint8_t>(*value);
    if (!in_.accept(k < 2 ? "," : ")"))
      return in_.fail("a swizzle has three numbers", "write `sw(3,4,3)`");
  }
  if (fields[0] > fields[2])
    return in_.fail("a swizzle's shift is less than its bits", "then it is no involution");
  return Swizzle{fields[0], fields[1], fields[2]};
}

Result<Storage> Reader::storage() {
  Storage s;
  if (const auto read = storage_digits(s); !read) return tl::unexpected(read.error());
  while (!in_.at_end()) {
    const int start = in_.column();
    const std::string_view word = in_.word();
    if (word == "sw" && in_.accept("(")) {
      const auto general = swizzle();
      if (!general) return tl::unexpected(general.error());
      s.swizzle = *general;
    } else if (word == "sw32" || word == "sw64" || word == "sw128") {
      s.swizzle = span_swizzle(word == "sw32" ? 32 : word == "sw64" ? 64 : 128);
    } else if (word == "at" || word == "align") {
      const auto value = bytes();
      if (!value) return tl::unexpected(value.error());
      (word == "at" ? s.origin : s.align) = *value;
    } else {
      return Scanner::fail_at(start, "the storage goes on", "write `at`, `sw128` or `align 1024`");
    }
  }
  if (s.align < 1) return in_.fail("an alignment is less than 1");
  return s;
}

// ---- printing ----------------------------------------------------------------------------------

std::string print_terms(const std::vector<AxisTerm>& terms, const AxisNames& axes) {
  std::string text;
  for (const AxisTerm& t : terms) {
    if (!text.empty()) text += t.coeff < 0 ? " - " : " + ";
    if (text.empty() && t.coeff < 0) text = "-";
    const int64_t size = t.coeff < 0 ? -t.coeff : t.coeff;
    text += size == 1 ? axes[t.axis] : fmt::format("{}{}", size, axes[t.axis]);
  }
  return text;
}

std::string print_digit(const Digit& d, bool with_stride, const AxisNames& axes) {
  std::string text = fmt::format("{} {}", name(d.level), d.extent);
  if (with_stride) text += fmt::format("*{}", d.stride);
  if (d.use == Use::replica) return text + " replica";
  if (d.use == Use::partial) return text + " partial";
  return text + " -> " + print_terms(d.terms, axes);
}

}  // namespace

Result<Placement> parse_placement(std::string_view text, const AxisNames& axes,
                                  const Names& names) {
  return Reader(text, axes, names).placement();
}

Result<Storage> parse_storage(std::string_view text, const AxisNames& axes, const Names& names) {
  return Reader(text, axes, names).storage();
}

std::string print(const Placement& p, const AxisNames& axes) {
  std::vector<std::string> items;
  Placement before(p.rank());
  for (const Digit& d : p.digits) {
    items.push_back(print_digit(d, d.stride != before.next_stride(d.level), axes));
    before.digits.push_back(d);
  }
  std::vector<AxisTerm> base;
  for (uint32_t a = 0; a < p.rank(); ++a)
    if (p.base[a] != 0) base.push_back({a, p.base[a]});
  if (!base.empty()) items.push_back("at " + print_terms(base, axes));
  return items.empty() ? "single" : fmt::format("{}", fmt::join(items, ", "));
}

std::string print(const Storage& s, const AxisNames& axes) {
  std::vector<std::string> items;
  for (const StorageDigit& d : s.digits) {
    std::string text = axes[d.of.axis];
    if (d.of.stride != 1) text += fmt::format("/{}", d.of.stride);
    if (d.of.extent != 0) text += fmt::format("%{}", d.of.extent);
    items.push_back(fmt::format("{} : {}", text, d.bytes));
  }
  std::string text = fmt::format("[{}]", fmt::join(items, ", "));
  if (s.origin != 0) text += fmt::format(" at {}", s.origin);
  const Swizzle w = s.swizzle;
  if (w.bits > 0 && w.bits <= 3 && w == span_swizzle(int64_t{16} << w.bits))
    text += fmt::format(" sw{}", 16 << w.bits);
  else if (w != Swizzle{})
    text += fmt::format(" sw({},{},{})", w.bits, w.base, w.shift);
  if (s.align != 1) text += fmt::format(" align {}", s.align);
  return text;
}

}  // namespace tang
