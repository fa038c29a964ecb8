// Element formats: their names, sizes, rounding and storage (language.md section 1.4, algebra.md
// section 7.1). The list is format.def; nothing else in tang enumerates formats by hand.
//
// Three functions give a format its meaning. `round_to` is rnd_F over the reals: the only rounding
// the evaluator and the emulator use. `store_element` rounds and writes the storage bits;
// `load_element` reads them back, so load(store(x)) = round_to(x) for every double x. Integers have
// exact twins (`load_integer`, `store_integer`), since f64 holds integers only to 2^53.
//
// There is one NaN: storing any NaN writes the positive quiet one of the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tang {

enum class Kind : uint8_t { real, integer, boolean };

enum class Format : uint8_t {
#define TANG_FORMAT(id, ...) id,
#include "base/format.def"
#undef TANG_FORMAT
};

// One row of format.def, which explains the fields.
struct FormatInfo {
  std::string_view spelling;
  Kind kind;
  int bits;
  int block;
  int block_bytes;
  int precision;
  int min_exponent;
  double max_finite;
  double tolerance;
};

inline constexpr int format_count = 0
#define TANG_FORMAT(...) +1
#include "base/format.def"
#undef TANG_FORMAT
    ;

const FormatInfo& info(Format format);

std::optional<Format> parse_format(std::string_view spelling);
std::string_view name(Format format);
Kind kind(Format format);
std::string_view name(Kind kind);  // "real", "integer", "bool"
bool is_block(Format format);
double default_tolerance(Format format);

// Least and largest value of an integer or bool format.
int64_t integer_min(Format format);
int64_t integer_max(Format format);

// Bytes of `elements` packed elements; i4 and u4 take half a byte each, rounded up together. Empty
// if `elements` is negative, is not a whole number of blocks, or the size overflows int64_t.
std::optional<int64_t> bytes_for(Format format, int64_t elements);

// rnd_F of algebra.md 7.1: to nearest even, subnormals kept, overflow by the format's column
// (f8e4m3 saturates), NaN passes. Integers: to nearest even, then clamped, NaN gives 0; the clamp
// of i64 is 2^63 as a double. bool: 1 if x != 0 (a NaN is 1). Block formats pass x unchanged.
double round_to(Format format, double x);

// round_to for an integer or bool format, as an exact integer.
int64_t round_to_integer(Format format, double x);

// The storage bits of the 8- and 16-bit floats (bf16, f16, f8e4m3, f8e5m2).
uint32_t encode_float(Format format, double x);
double decode_float(Format format, uint32_t bits);

// Element `index` of packed storage that starts at `data`; index counts elements, not bytes. The
// caller keeps it in range. Elements of block formats are decoded (blocks.h); single ones are not
// stored: storing does nothing. Storing i4 and u4 rewrites the byte shared with the neighbour.
// Storage need not be aligned.
double load_element(Format format, const std::byte* data, int64_t index);
void store_element(Format format, std::byte* data, int64_t index, double value);

// The same with exact integers. Loading a real format rounds to nearest even and clamps to i64;
// storing clamps to an integer format and rounds once to a real one.
int64_t load_integer(Format format, const std::byte* data, int64_t index);
void store_integer(Format format, std::byte* data, int64_t index, int64_t value);

}  // namespace tang
