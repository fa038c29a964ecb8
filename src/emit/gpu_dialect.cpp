#include "emit/gpu_dialect.h"

#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "emit/snippets.h"

namespace tang {

using loop::Type;

std::string in(const GpuText& text, int least) {
  return text.level < least ? "(" + text.text + ")" : text.text;
}

std::string GpuDialect::declare(bool fixed, const std::string& type, const std::string& name,
                                const std::string& value) const {
  return fmt::format("{}{} {} = {};", fixed ? "const " : "", type, name, value);
}

std::string GpuDialect::array(const std::string& type, const std::string& name,
                              int64_t count) const {
  return fmt::format("{} {}[{}];", type, name, count);
}

std::string GpuDialect::loop(const std::string& type, const std::string& name,
                             const std::string& begin, const std::string& end,
                             const std::string& step) const {
  return fmt::format("for ({0} {1} = {2}; {1} < {3}; {1} += {4})", type, name, begin, end, step);
}

GpuText GpuDialect::select(const GpuText& c, const GpuText& a, const GpuText& b) const {
  return {fmt::format("{} ? {} : {}", in(c, gpu_logic), in(a, gpu_logic), in(b, gpu_select)),
          gpu_select};
}

GpuText GpuDialect::cast(const std::string& type, const std::string& text) const {
  return {fmt::format("({})({})", type, text), gpu_unary};
}

std::string GpuDialect::vector_type(const std::string& word, int words) const {
  return fmt::format("{}{}", word, words);
}

std::string GpuDialect::wide_value(const std::string& type, const std::string& parts) const {
  return fmt::format("{}({})", type, parts);
}

std::string GpuDialect::word(const GpuArgument& x, const std::string& at) const {
  return fmt::format("{}[{}]", x.name, at);
}

GpuText GpuDialect::i32(int64_t value) const {
  if (value == INT32_MIN) return {"(-2147483647 - 1)", gpu_atom};
  return {fmt::format("{}", value), value < 0 ? gpu_unary : gpu_atom};
}

GpuText GpuDialect::real(Type type, double v) const {
  const bool narrow = type == Type::f32;
  const int level = std::signbit(v) && !std::isnan(v) ? gpu_unary : gpu_atom;
  if (!std::isfinite(v)) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(std::isnan(v) ? NAN : v));
    const std::string text = fmt::format("tang_float(0x{:08x}u)", bits);
    return narrow ? GpuText{text, gpu_atom} : cast(this->type(Type::f64), text);
  }
  const bool plain = std::abs(v) < 1e6 && v == std::floor(v);
  const char* suffix = narrow ? "f" : "";
  return {plain ? fmt::format("{:.1f}{}", v, suffix) : fmt::format("{:a}{}", v, suffix), level};
}

// ---- snippets -----------------------------------------------------------------------------------

std::vector<std::string> gpu_library(const GpuLibrary& wanted, const GpuSpelling& spelling) {
  std::vector<std::string> texts = {std::string(snippet(wanted.own))};
  const bool plain = spelling.at("TANG_FN").empty();
  const auto add = [&](std::string text) {
    const std::string_view begin = "\nTANG_FN ";
    for (size_t at = 0; plain && (at = text.find(begin, at)) != std::string::npos;)
      text.erase(at + 1, begin.size() - 1);
    texts.push_back(respell(text, spelling));
  };
  const auto file = [](std::string_view name) { return std::string(snippet(name)); };
  add(file("gpu_integer.h"));
  add(file("gpu_nan.h"));
  add(file("gpu_casts.h"));
  if (wanted.pairs) {
    add(file("gpu_words.h"));
    add(file("gpu_pair.h"));
  } else {
    add(of_i64(file("gpu_integer.h")));
    add(file("gpu_i64.h"));
  }
  if (!wanted.own_math) {
    if (!wanted.pairs) add(file("gpu_words.h"));
    add(file("gpu_math.h"));
  }
  add(file("gpu_quot.h"));
  add(file("gpu_real.h"));
  add(file("gpu_formats.h"));
  add(file("gpu_blocks.h"));
  if (wanted.f64) {
    add(of_f64(file("gpu_real.h"), wanted.number_suffix));
    add(file("gpu_f64.h"));
  }
  return texts;
}

}  // namespace tang
