#include "emit/gpu_native.h"

#include <fmt/format.h>

namespace tang {

std::string native_element(Format format, std::string_view prefix, std::string_view i64) {
  switch (format) {
    case Format::f64:
      return "double";
    case Format::f32:
    case Format::tf32:
      return "float";
    case Format::i64:
      return std::string(i64);
    case Format::i32:
      return "int";
    case Format::bf16:
    case Format::f16:
      return std::string(prefix) + "short";
    default:
      return std::string(prefix) + "char";
  }
}

std::string native_symbols(const GpuDialect& dialect, const GpuFrame& frame) {
  std::string text;
  for (const auto& [passed, used] : frame.symbols) {
    const std::string type = dialect.type(frame.wide ? loop::Type::i64 : loop::Type::i32);
    text += fmt::format("  const {} {} = ({}){};\n", type, used, type, passed);
  }
  return text;
}

GpuText native_i64(int64_t value, std::string_view suffix) {
  if (value == INT64_MIN) return {fmt::format("(-9223372036854775807{} - 1)", suffix), gpu_atom};
  return {fmt::format("{}{}", value, suffix), value < 0 ? gpu_unary : gpu_atom};
}

}  // namespace tang
