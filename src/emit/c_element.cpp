#include "emit/c_element.h"

#include <fmt/format.h>

namespace tang {

using loop::Type;

std::string_view c_type(Type type) {
  constexpr std::string_view names[] = {"double", "float", "int64_t", "int32_t", "bool"};
  return names[static_cast<size_t>(type)];
}

std::string_view c_storage(Format format) {
  switch (format) {
    case Format::f64:
      return "double";
    case Format::f32:
    case Format::tf32:
      return "float";
    case Format::bf16:
    case Format::f16:
      return "uint16_t";
    case Format::i64:
      return "int64_t";
    case Format::i32:
      return "int32_t";
    case Format::i8:
      return "int8_t";
    default:
      return "uint8_t";
  }
}

bool is_wide_block(Format format) {
  return is_block(format) && loop::compute_type(format) == Type::f64;
}

std::string decode_element(Format format, Type as, std::string_view base, std::string_view at) {
  switch (format) {
    case Format::f16:
    case Format::bf16:
    case Format::f8e4m3:
    case Format::f8e5m2:
      return fmt::format("tang_load_{}({}[{}])", name(format), base, at);
    case Format::boolean:
      return fmt::format("{}[{}] != 0", base, at);
    default:
      break;
  }
  // Elements of less than a byte and elements of blocks are found by their number.
  if (is_wide_block(format))
    return fmt::format("tang_load_{}_{}({}, {})", name(format), name(as), base, at);
  if (info(format).bits < 8) return fmt::format("tang_load_{}({}, {})", name(format), base, at);
  return fmt::format("{}[{}]", base, at);
}

std::string encode_element(Format format, Type type, std::string_view base, std::string_view at,
                           std::string_view value, std::string_view atom) {
  if (format == Format::i4 || format == Format::u4) {
    return fmt::format("tang_store_4bits({}, {}, (uint32_t)tang_round_{}_{}({}));", base, at,
                       name(format), name(type), value);
  }
  std::string text(value);
  switch (format) {
    case Format::f32:
      if (type == Type::f64) text = fmt::format("(float){}", atom);
      break;
    case Format::f64:
    case Format::i64:
      break;
    case Format::i32:
      if (type == Type::i64) text = fmt::format("tang_cast_i64_i32({})", value);
      break;
    case Format::i8:
    case Format::u8:
      text = fmt::format("({})tang_round_{}_{}({})", c_storage(format), name(format), name(type),
                         value);
      break;
    case Format::boolean:
      text = fmt::format("(uint8_t){}", atom);
      break;
    default:
      text = fmt::format("tang_store_{}_{}({})", name(format), name(type), value);
      break;
  }
  return fmt::format("{}[{}] = {};", base, at, text);
}

}  // namespace tang
