// Where workspace buffers lie. Sizes may hold symbols, so offsets are sums of whole buffers.
//
// A buffer lives from the first kernel that touches it to the last. Buffers whose lives overlap
// must not share bytes. In launch order each buffer takes the first place that is proved free for
// all values of the symbols; a place is 0 or the end of a buffer it conflicts with. An offset is a
// constant plus how often each buffer's size, rounded up to 64 bytes, is counted: so it is
// evaluated when the symbols are known, and "a ends before b begins" is proved by comparing counts.
#pragma once

#include <cstdint>
#include <vector>

#include "loop/program.h"

namespace tang {

// Bytes: a constant plus count[k] times the size of buffer k. Constant sizes are in the constant.
struct Extent {
  int64_t constant = 0;
  std::vector<int64_t> count;  // by BufferId
};

struct WorkspacePlan {
  struct Place {
    loop::BufferId buffer{};
    size_t first = 0, last = 0;  // kernels, inclusive
    Extent offset, end;
  };
  std::vector<Place> places;  // in the order of first use
};

WorkspacePlan plan_workspace(const loop::Program& program);

// Bytes of `count` elements rounded up to 64; negative if that overflows.
int64_t aligned_bytes(Format format, int64_t count);

struct WorkspaceSizes {
  std::vector<int64_t> offsets;  // by place
  int64_t total = 0;
};
// The plan at given symbols, every extent of which must be valid.
WorkspaceSizes measure(const loop::Program& program, const WorkspacePlan& plan,
                       const std::vector<int64_t>& symbols);

}  // namespace tang
