// Whether a tile in shared memory lies as an operand of an instruction may lie.
//
// A matrix unit and a bulk copy read shared memory through a few layouts, which tables list
// (`layout`). A tile's storage was chosen for other reasons as well; here it is compared with each
// layout at every element, and the numbers that a layout leaves open, the byte offsets of a matrix
// descriptor, are read off.
#pragma once

#include "target/table.h"

namespace tang {

struct Canonical {
  uint32_t layout = 0;  // of Tables::layouts
  uint32_t major = 0;   // the operand's axis that runs fastest
  int64_t span = 0;     // bytes of the swizzle, 0 for none
  int64_t leading = 0;  // lbo, bytes; 0 where the box does not reach so far
  int64_t stride = 0;   // sbo, bytes
  int64_t start = 0;    // the box's first byte in the tile, before the swizzle
};

// A layout as a storage: elements of `element` bytes, the box's extents under the axes' names.
Result<Storage> layout_storage(const Layout& layout, const Point& box, int64_t element,
                               int64_t span, int64_t leading, int64_t stride);

// How the box of the operand's size at `at` in a tile lies; storage, `at` and `box` are over the
// operand's axes. Error E0910 says what is wrong with each layout.
Result<Canonical> canonical(const Tables& tables, const Operand& operand, const Storage& storage,
                            const Point& at, const Point& box, int64_t element);

}  // namespace tang
