// Tensors of the caller: descriptors with the fields of DLPack. A descriptor owns nothing; what it
// points to outlives its use.
//
//   TensorView q(data, {8, 512, 64});             row-major memory of the host, f32 for a float*
//   TensorView t = *TensorView::from(*managed);   a DLManagedTensorVersioned, with its flags
//
// Element types are those of the formats: f64 f32 f16 bf16 f8e4m3 f8e5m2, i64 i32 i8 u8, bool; tf32
// is stored as f32; i4 and u4 are packed, two in a byte, the first in its low half. A tensor of a
// block format is one of u8 whose last axis counts bytes.
#pragma once

#include <string>
#include <tang/dlpack.h>
#include <type_traits>
#include <vector>

#include "base/array.h"

namespace tang {

// The element type of a format, f32 of tf32 and u8 of block formats.
DLDataType dlpack_type(Format format);

namespace detail {

template <class T>
constexpr Format format_of() {
  using U = std::remove_const_t<T>;
  constexpr size_t bytes = sizeof(U);
  constexpr bool is_int = std::is_integral_v<U>, is_signed = std::is_signed_v<U>;
  if constexpr (std::is_same_v<U, bool>) {
    return Format::boolean;
  } else if constexpr (std::is_floating_point_v<U> && (bytes == 4 || bytes == 8)) {
    return bytes == 4 ? Format::f32 : Format::f64;
  } else if constexpr (is_int && is_signed && bytes != 2) {
    return bytes == 1 ? Format::i8 : bytes == 4 ? Format::i32 : Format::i64;
  } else {
    static_assert(is_int && bytes == 1, "no format has such elements: name one");
    return Format::u8;
  }
}

}  // namespace detail

struct TensorView {
  void* data = nullptr;
  DLDevice device = {kDLCPU, 0};
  DLDataType type = {kDLFloat, 32, 1};
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements, one for each axis; empty: row-major
  uint64_t byte_offset = 0;
  bool read_only = false;

  TensorView() = default;
  // Row-major memory of the host; that of const elements is not written.
  template <class T>
  TensorView(T* elements, std::vector<int64_t> extents)
      : TensorView(const_cast<std::remove_const_t<T>*>(elements), detail::format_of<T>(),
                   std::move(extents)) {
    read_only = std::is_const_v<T>;
  }
  TensorView(void* elements, Format format, std::vector<int64_t> extents)
      : data(elements), type(dlpack_type(format)), shape(std::move(extents)) {}
  TensorView(Array& array) : TensorView(array.data.data(), array.format, array.shape) {}  // NOLINT

  // What another library describes. E0704: another major version of DLPack, vectors as elements, or
  // a structure that cannot be right.
  static Result<TensorView> from(const DLTensor& tensor, uint64_t flags = 0);
  static Result<TensorView> from(const DLManagedTensorVersioned& tensor);
};

struct NamedTensor {
  std::string name;
  TensorView tensor;
};

// Hands an array over: the caller, or the library it is given to, calls the deleter. Of an array of
// a block format, the bytes.
DLManagedTensorVersioned* to_dlpack(Array array);

}  // namespace tang
