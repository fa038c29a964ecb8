// Elements of block formats in the expressions of gpu_expr.h: which bytes they are made of.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "emit/gpu_expr.h"

namespace tang {

using loop::Type;

namespace {

// The bytes of a buffer, by where they lie in a block that begins at `base`.
class Bytes {
 public:
  Bytes(const GpuDialect& dialect, const GpuArgument& x, std::string base, bool wide)
      : dialect_(dialect), x_(x), base_(std::move(base)), wide_(wide) {}

  std::string byte(const std::string& at) const {
    const std::string place = fmt::format("{} + {}", base_, at);
    if (!dialect_.packed()) return fmt::format("{}[{}]", x_.name, place);
    return fmt::format("tang_bits_8({}, {})", word(place), as_word(place));
  }
  // Of two bytes from an even place on.
  std::string half(int at) const {
    const std::string place = at == 0 ? base_ : fmt::format("{} + {}", base_, at);
    if (!dialect_.packed())
      return fmt::format("tang_bytes_16({0}[{1}], {0}[{1} + 1])", x_.name, place);
    return fmt::format("tang_bits_16({}, {} >> 1u)", word(place), as_word(place));
  }
  std::string as_word(const std::string& index) const {
    const std::string type = respell("uint", dialect_.spelling());
    return dialect_.cast(type, index).text;
  }

 private:
  std::string word(const std::string& place) const {
    return dialect_.word(x_, dialect_.subscript(fmt::format("({}) / 4", place), wide_));
  }

  const GpuDialect& dialect_;
  const GpuArgument& x_;
  std::string base_;
  bool wide_;
};

}  // namespace

GpuText GpuExpr::block(const GpuArgument& x, const GpuText& at, Type as) {
  const FormatInfo& f = info(x.format);
  const std::string i = repeatable(at, index_type(), "at");
  const std::string base = repeatable(
      {fmt::format("{} / {} * {}", i, f.block, f.block_bytes), gpu_product}, index_type(), "block");
  const std::string k =
      repeatable({fmt::format("{} % {}", i, f.block), gpu_product}, index_type(), "number");
  const Bytes b(dialect_, x, base, wide_);
  const std::string number = b.as_word(k);
  switch (x.format) {
    case Format::q8_0:
      return {fmt::format("tang_q8_0({}, {})", b.half(0), b.byte("2 + " + k)), gpu_atom};
    case Format::q4_0:
      return {fmt::format("tang_q4_0({}, {}, {})", b.half(0), b.byte(fmt::format("2 + {} % 16", k)),
                          number),
              gpu_atom};
    case Format::mxfp4:
      return {fmt::format("tang_mxfp4_{}({}, {}, {})", name(as), b.byte("0"),
                          b.byte(fmt::format("1 + {} % 16", k)), number),
              gpu_atom};
    case Format::q4_k:
      return {
          fmt::format("tang_q4_k_{}({}, {}, {}, {}, {}, {}, {})", name(as), b.half(0), b.half(2),
                      b.byte(fmt::format("4 + {} / 32", k)), b.byte(fmt::format("8 + {} / 32", k)),
                      b.byte(fmt::format("4 + {} / 32 % 4", k)),
                      b.byte(fmt::format("16 + {0} / 64 * 32 + {0} % 32", k)), number),
          gpu_atom};
    default:
      return {fmt::format("tang_q6_k({}, {}, {}, {}, {})", b.half(208),
                          b.byte(fmt::format("192 + {} / 16", k)),
                          b.byte(fmt::format("{0} / 128 * 64 + {0} / 32 % 2 * 32 + {0} % 32", k)),
                          b.byte(fmt::format("128 + {0} / 128 * 32 + {0} % 32", k)), number),
              gpu_atom};
  }
}

}  // namespace tang
