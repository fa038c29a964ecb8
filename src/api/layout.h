// A tensor of the caller in host memory, checked against what the program declares.
#pragma once

#include "api/tensor.h"

namespace tang {

// What the program says of one of its inputs or outputs.
struct Declared {
  std::string_view name;
  Format format = Format::f32;
  std::span<const int64_t> shape;
};

// Elements of `width` bytes at begin + width · Σ index·stride. Of formats whose elements are not
// whole bytes or numbers, elements are the bytes of the packed tensor.
struct Layout {
  std::byte* begin = nullptr;
  int64_t width = 1;
  std::vector<int64_t> shape, strides;  // without axes of one element, neighbours merged
  int64_t elements = 0;

  int64_t bytes() const { return elements * width; }
  bool row_major() const { return strides.empty() || (strides.size() == 1 && strides[0] == 1); }
  // Whether kernels can use the memory as it is.
  bool direct() const;
  // The bytes from the first to the last element, past the end.
  std::pair<const std::byte*, const std::byte*> range() const;
  bool shares_bytes(const Layout& other) const;

  // Between the tensor and row-major memory.
  void gather(std::byte* to) const;
  void scatter(const std::byte* from) const;
};

// Errors: E0705 another element type; E0706 another shape; E0719 a negative stride, a missing
// pointer, strides of packed elements, or a size that overflows.
Result<Layout> input_layout(const Declared& declared, const TensorView& tensor);
// E0719 also where two elements may share memory, E0721 where the tensor is read-only.
Result<Layout> output_layout(const Declared& declared, const TensorView& tensor);

}  // namespace tang
