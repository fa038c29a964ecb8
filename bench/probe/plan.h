// What is probed: kernels, and cases that run them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "probe/kernel.h"

namespace tang::probe {

// How an operand lies in shared memory.
struct Lie {
  int layout = -1;    // of Tables::layouts; -1: plain
  int64_t span = 0;   // bytes of the swizzle
  int64_t shift = 0;  // bytes from a multiple of smem_align to the tile
};

// What the operands hold. `first` and `second` are for products: one operand has a single 1 in each
// row and so selects elements of the other, which are all different as far as the format goes.
enum class Pattern : uint8_t { first, second, integers, different };
std::string_view name(Pattern p);

struct Case {
  size_t kernel = 0;    // of Plan::kernels
  Sizes sizes;          // of the row; those of the kernel may be others if its text is the same
  uint32_t format = 0;  // of each operand's formats, the last if there are fewer
  std::array<Lie, operands_most> lies{};
  Pattern pattern = Pattern::different;
  Point extents, at;      // of a tensor, and of the box in it; innermost first
  bool nan_fill = false;  // the map's fill
  int64_t by = 0;         // of a shuffle
  int64_t bytes = 0;      // that a copy with a fill reads; 0: all
  // Storage bits of each operand's elements in place of the pattern's; empty: the pattern's.
  std::vector<std::vector<uint64_t>> given;
};

struct Plan {
  const Tables* tables = nullptr;
  std::vector<Kernel> kernels;
  std::vector<Case> cases;

  const Kernel& kernel(const Case& c) const { return kernels[c.kernel]; }
  Format format(const Case& c, const Operand& o) const;
  // `a k sw128, b n sw64`: the axis that runs fastest and the swizzle of each operand.
  std::string majors(const Case& c) const;
  std::string swizzles(const Case& c) const;
  std::string sizes(const Case& c) const;
};

// Every row that needs an NVIDIA GPU.
Plan make_plan(const Tables& tables);

// Kernels of a file are neighbours, so the kernel's number says the file.
constexpr size_t kernels_per_file = 32;

}  // namespace tang::probe
