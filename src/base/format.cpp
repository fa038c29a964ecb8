#include "base/format.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/blocks.h"

namespace tang {
namespace {

static_assert(std::numeric_limits<double>::is_iec559 && std::numeric_limits<float>::is_iec559);
static_assert(std::endian::native == std::endian::little, "storage is read and written in place");

constexpr FormatInfo table[] = {
#define TANG_FORMAT(id, spelling, kind, bits, block, block_bytes, precision, min_exponent, max, \
                    tol)                                                                        \
  {spelling, Kind::kind, bits, block, block_bytes, precision, min_exponent, max, tol},
#include "base/format.def"
#undef TANG_FORMAT
};

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// 2^e for a normal exponent.
double power_of_two(int e) { return std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52); }

int exponent_of(double magnitude) {
  return static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> 52) - 1023;
}

bool has_infinity(Format format) { return format != Format::f8e4m3; }

// Rounds a normal double to p significand bits. A carry out of the significand moves into the
// exponent, which is the right result.
double round_significand(double magnitude, int p) {
  const int drop = 53 - p;
  uint64_t bits = std::bit_cast<uint64_t>(magnitude);
  const uint64_t unit = uint64_t{1} << drop;
  bits += (unit >> 1) - 1 + ((bits >> drop) & 1);
  return std::bit_cast<double>(bits & ~(unit - 1));
}

double round_real(Format format, double x) {
  const FormatInfo& f = info(format);
  const double magnitude = std::fabs(x);
  double rounded = magnitude;
  if (magnitude < infinity) {
    if (exponent_of(magnitude) >= f.min_exponent) {
      rounded = round_significand(magnitude, f.precision);
    } else {
      const double q = power_of_two(f.min_exponent - f.precision + 1);
      rounded = q * std::nearbyint(magnitude / q);
    }
  }
  if (rounded > f.max_finite) rounded = has_infinity(format) ? infinity : f.max_finite;
  return std::copysign(rounded, x);
}

int64_t clamp_integer(Format format, int64_t value) {
  if (format == Format::boolean) return value != 0 ? 1 : 0;
  if (value < integer_min(format)) return integer_min(format);
  if (value > integer_max(format)) return integer_max(format);
  return value;
}

// The integer as a double that rounds to any float format of at most 51 bits as the integer
// itself would: bits beyond the 53rd are folded into a sticky one, so nothing is rounded twice.
double sticky_double(int64_t value) {
  uint64_t magnitude =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (magnitude >> 53 != 0) {
    const uint64_t lost = magnitude & 0x7ff;
    magnitude = (magnitude & ~uint64_t{0x7ff}) | (lost != 0 ? 0x800 : 0);
  }
  const double x = static_cast<double>(magnitude);
  return value < 0 ? -x : x;
}

template <class T>
T load_as(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store_as(std::byte* data, int64_t index, T value) {
  std::memcpy(data + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

uint32_t load_nibble(const std::byte* data, int64_t index) {
  const auto byte = std::to_integer<uint32_t>(data[index / 2]);
  return index % 2 == 0 ? byte & 15 : byte >> 4;
}

void store_nibble(std::byte* data, int64_t index, uint32_t nibble) {
  const auto byte = std::to_integer<uint32_t>(data[index / 2]);
  nibble &= 15;
  data[index / 2] =
      std::byte(index % 2 == 0 ? (byte & 0xf0) | nibble : (byte & 0x0f) | (nibble << 4));
}

}  // namespace

const FormatInfo& info(Format format) { return table[static_cast<size_t>(format)]; }

std::optional<Format> parse_format(std::string_view spelling) {
  for (int i = 0; i < format_count; ++i) {
    if (table[i].spelling == spelling) return static_cast<Format>(i);
  }
  return std::nullopt;
}

std::string_view name(Format format) { return info(format).spelling; }
Kind kind(Format format) { return info(format).kind; }
bool is_block(Format format) { return info(format).block > 1; }
double default_tolerance(Format format) { return info(format).tolerance; }

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::real:
      return "real";
    case Kind::integer:
      return "integer";
    case Kind::boolean:
      return "bool";
  }
  return "";
}

int64_t integer_min(Format format) {
  switch (format) {
    case Format::i64:
      return std::numeric_limits<int64_t>::min();
    case Format::i32:
      return std::numeric_limits<int32_t>::min();
    case Format::i8:
      return -128;
    case Format::i4:
      return -8;
    default:
      return 0;
  }
}

int64_t integer_max(Format format) {
  if (format == Format::i64) return std::numeric_limits<int64_t>::max();
  return kind(format) == Kind::real ? 0 : static_cast<int64_t>(info(format).max_finite);
}

std::optional<int64_t> bytes_for(Format format, int64_t elements) {
  const FormatInfo& f = info(format);
  if (elements < 0 || elements % f.block != 0) return std::nullopt;
  if (f.bits == 4) return elements / 2 + elements % 2;
  const int64_t unit = f.block > 1 ? f.block_bytes : f.bits / 8;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements / f.block, unit, &bytes)) return std::nullopt;
  return bytes;
}

double round_to(Format format, double x) {
  if (kind(format) != Kind::real) return static_cast<double>(round_to_integer(format, x));
  if (format == Format::f64 || is_block(format) || std::isnan(x)) return x;
  if (format == Format::f32) return static_cast<float>(x);
  return round_real(format, x);
}

int64_t round_to_integer(Format format, double x) {
  if (format == Format::boolean) return x != 0 ? 1 : 0;
  if (std::isnan(x)) return 0;
  const double r = std::nearbyint(x);
  if (r >= 0x1p63) return integer_max(format);
  if (r < -0x1p63) return integer_min(format);
  return clamp_integer(format, static_cast<int64_t>(r));
}

uint32_t encode_float(Format format, double x) {
  const FormatInfo& f = info(format);
  const int mantissa_bits = f.precision - 1;
  const uint32_t sign = 1U << (f.bits - 1);
  const uint32_t exponent_mask = (sign - 1) >> mantissa_bits << mantissa_bits;
  if (std::isnan(x)) {
    return has_infinity(format) ? exponent_mask | (1U << (mantissa_bits - 1)) : sign - 1;
  }
  const double rounded = round_real(format, x);
  const uint32_t sign_bit = std::signbit(rounded) ? sign : 0;
  const double magnitude = std::fabs(rounded);
  if (magnitude == infinity) return sign_bit | exponent_mask;
  const int e = exponent_of(magnitude);
  if (e < f.min_exponent) {
    const double q = power_of_two(f.min_exponent - mantissa_bits);
    return sign_bit | static_cast<uint32_t>(magnitude / q);
  }
  const uint64_t fraction = std::bit_cast<uint64_t>(magnitude) & ((uint64_t{1} << 52) - 1);
  return sign_bit | static_cast<uint32_t>(e - f.min_exponent + 1) << mantissa_bits |
         static_cast<uint32_t>(fraction >> (52 - mantissa_bits));
}

double decode_float(Format format, uint32_t bits) {
  const FormatInfo& f = info(format);
  const int mantissa_bits = f.precision - 1;
  const uint32_t sign = 1U << (f.bits - 1);
  const uint32_t field = (bits & (sign - 1)) >> mantissa_bits;
  const uint32_t fraction = bits & ((1U << mantissa_bits) - 1);
  const uint32_t all_ones = (sign - 1) >> mantissa_bits;
  double magnitude = 0;
  if (field == all_ones && has_infinity(format)) {
    if (fraction != 0) return not_a_number;
    magnitude = infinity;
  } else if (!has_infinity(format) && (bits & (sign - 1)) == sign - 1) {
    return not_a_number;
  } else if (field == 0) {
    magnitude = fraction * power_of_two(f.min_exponent - mantissa_bits);
  } else {
    const auto e = static_cast<uint64_t>(static_cast<int>(field) - 1 + f.min_exponent + 1023);
    magnitude = std::bit_cast<double>(e << 52 | uint64_t{fraction} << (52 - mantissa_bits));
  }
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

double load_element(Format format, const std::byte* data, int64_t index) {
  switch (format) {
    case Format::f64:
      return load_as<double>(data, index);
    case Format::f32:
    case Format::tf32:
      return load_as<float>(data, index);
    case Format::bf16:
    case Format::f16:
      return decode_float(format, load_as<uint16_t>(data, index));
    case Format::f8e4m3:
    case Format::f8e5m2:
      return decode_float(format, load_as<uint8_t>(data, index));
    default:
      break;
  }
  if (is_block(format)) return load_block_element(format, data, index);
  return static_cast<double>(load_integer(format, data, index));
}

void store_element(Format format, std::byte* data, int64_t index, double value) {
  switch (format) {
    case Format::f64:
      store_as(data, index, std::isnan(value) ? not_a_number : value);
      return;
    case Format::f32:
    case Format::tf32:
      store_as(data, index,
               static_cast<float>(std::isnan(value) ? not_a_number : round_to(format, value)));
      return;
    case Format::bf16:
    case Format::f16:
      store_as(data, index, static_cast<uint16_t>(encode_float(format, value)));
      return;
    case Format::f8e4m3:
    case Format::f8e5m2:
      store_as(data, index, static_cast<uint8_t>(encode_float(format, value)));
      return;
    default:
      break;
  }
  if (!is_block(format)) store_integer(format, data, index, round_to_integer(format, value));
}

int64_t load_integer(Format format, const std::byte* data, int64_t index) {
  switch (format) {
    case Format::i64:
      return load_as<int64_t>(data, index);
    case Format::i32:
      return load_as<int32_t>(data, index);
    case Format::i8:
      return load_as<int8_t>(data, index);
    case Format::u8:
      return load_as<uint8_t>(data, index);
    case Format::boolean:
      return load_as<uint8_t>(data, index) != 0 ? 1 : 0;
    case Format::u4:
      return load_nibble(data, index);
    case Format::i4:
      return static_cast<int64_t>(load_nibble(data, index) ^ 8U) - 8;
    default:
      break;
  }
  return round_to_integer(Format::i64, load_element(format, data, index));
}

void store_integer(Format format, std::byte* data, int64_t index, int64_t value) {
  const int64_t clamped = kind(format) == Kind::real ? value : clamp_integer(format, value);
  switch (format) {
    case Format::i64:
      store_as(data, index, clamped);
      return;
    case Format::i32:
      store_as(data, index, static_cast<int32_t>(clamped));
      return;
    case Format::i8:
      store_as(data, index, static_cast<int8_t>(clamped));
      return;
    case Format::u8:
    case Format::boolean:
      store_as(data, index, static_cast<uint8_t>(clamped));
      return;
    case Format::u4:
    case Format::i4:
      store_nibble(data, index, static_cast<uint32_t>(clamped));
      return;
    case Format::f64:
      store_as(data, index, static_cast<double>(value));
      return;
    default:
      break;
  }
  store_element(format, data, index, sticky_double(value));
}

}  // namespace tang
