// The device's memory of one case: what it holds before the row, and what the table says it holds
// afterwards. All of it is one allocation, compared as a whole.
#pragma once

#include <functional>
#include <string>

#include "probe/plan.h"

namespace tang::probe {

// What a tensor map needs: the fields of cuTensorMapEncodeTiled, innermost first.
struct MapFields {
  Format format = Format::f32;
  std::optional<int> type;  // of the driver, if it is none that the format names
  uint64_t base = 0;        // bytes into the memory
  std::vector<uint64_t> extents, strides;
  std::vector<uint32_t> box;
  int64_t span = 0;
  bool nan_fill = false;
};

struct Area {
  std::string name;
  int64_t from = 0, bytes = 0;
  int64_t row_bytes = 0;  // registers: of a thread; 0 otherwise
  int64_t word_bytes = 4;
};

class Memory {
 public:
  std::vector<std::byte> before, after;  // `after` as expected
  std::vector<Area> areas;
  Args args{};  // addresses are bytes into the memory, made absolute by relocate
  std::optional<MapFields> map;
  uint32_t shared_bytes = 0;  // that a launch asks for
  // Bytes of the result's elements that are not in shared memory, by their number in the box.
  std::vector<int64_t> result_at;

  void relocate(uint64_t base);
  // The first difference between what is there and what is expected, and how many there are; empty
  // if none.
  std::string difference(const std::vector<std::byte>& found) const;
};

// Error E0910 where the table contradicts itself.
Result<Memory> make_memory(const Plan& plan, const Case& c);

}  // namespace tang::probe
