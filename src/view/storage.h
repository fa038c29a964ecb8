// Storage: where an element of a tile sits in a memory.
//
//   [k/64 : 16384, m : 128, k%64 : 2] sw128
//
// cuts coordinates into digits, each with a number of bytes, adds them up and, outermost, XORs bits
// of the address into lower ones (a swizzle, linear over bits and not over integers). A tile wider
// than one span of a swizzle and every packed panel of a matrix product is such a map of digits.
#pragma once

#include "view/placement.h"

namespace tang {

// a ^ (((a >> (base + shift)) & (2^bits - 1)) << base); none if bits is 0.
struct Swizzle {
  uint8_t bits = 0;
  uint8_t base = 4;
  uint8_t shift = 3;
  friend auto operator<=>(const Swizzle&, const Swizzle&) = default;

  int64_t apply(int64_t address) const;
  int64_t period() const;  // addresses a multiple of this apart are moved alike
};
// Of 32, 64 or 128 bytes: the swizzles of matrix units and bulk copies. 0 is none.
Swizzle span_swizzle(int64_t bytes);

struct StorageDigit {
  AxisDigit of;
  int64_t bytes = 0;
  friend auto operator<=>(const StorageDigit&, const StorageDigit&) = default;
};

class Storage {
 public:
  std::vector<StorageDigit> digits;
  int64_t origin = 0;  // bytes
  Swizzle swizzle;
  int64_t align = 1;  // bytes, of the tile's first byte; at least the swizzle's period

  friend bool operator==(const Storage&, const Storage&) = default;

  int64_t address(const Point& coordinate) const;
  // Bytes from 0 to the end of the last element of the box.
  int64_t bytes(const Point& box, int64_t element) const;
  // No two elements of the box overlap.
  bool is_injective(const Point& box, int64_t element) const;
};

// Row-major over the box, elements of so many bytes.
Storage row_major(const Point& box, int64_t element);

// The most elements, a power of two up to `most`, that every thread of `p` holds in consecutive
// registers (or elements of one) and finds in consecutive bytes, from an address that is a multiple
// of their size whatever aligned place the tile starts at: the width of a vector access. At
// least 1.
int64_t vector_width(const Placement& p, const Storage& s, int64_t element, int64_t most);

// How many different words of one bank of shared memory a warp asks for at a time, at worst over
// the accesses of `width` consecutive elements that move the tile; 1 is free of conflicts. There
// are 32 banks of 4 bytes; lanes that ask for one word share it; accesses of 8 and 16 bytes take
// two and four passes of fewer lanes.
int64_t bank_conflicts(const Placement& p, const Storage& s, int64_t element, int64_t width);

}  // namespace tang
