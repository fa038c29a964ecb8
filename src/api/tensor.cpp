#include "api/tensor.h"

#include <fmt/format.h>

namespace tang {

namespace {

constexpr uint32_t major_version = 1, minor_version = 1;
constexpr int32_t most_axes = 64;

// What a managed tensor points to.
struct Exported {
  Array array;
  std::vector<int64_t> strides;
  DLManagedTensorVersioned tensor;
};

tl::unexpected<Diagnostic> refused(std::string message) {
  return error("E0704", "a DLPack tensor " + std::move(message), "give a tensor of DLPack 1.x");
}

}  // namespace

DLDataType dlpack_type(Format format) {
  const auto code = [&]() -> uint8_t {
    if (is_block(format)) return kDLUInt;
    switch (format) {
      case Format::bf16:
        return kDLBfloat;
      case Format::f8e4m3:
        return kDLFloat8_e4m3fn;
      case Format::f8e5m2:
        return kDLFloat8_e5m2;
      case Format::u8:
      case Format::u4:
        return kDLUInt;
      case Format::boolean:
        return kDLBool;
      default:
        return kind(format) == Kind::real ? kDLFloat : kDLInt;
    }
  };
  return {code(), static_cast<uint8_t>(is_block(format) ? 8 : info(format).bits), 1};
}

Result<TensorView> TensorView::from(const DLTensor& t, uint64_t flags) {
  if (t.ndim < 0 || t.ndim > most_axes) return refused(fmt::format("of {} axes", t.ndim));
  if (t.ndim > 0 && t.shape == nullptr) return refused("without a shape");
  if (t.dtype.lanes != 1)
    return refused(fmt::format("of vectors of {} elements cannot be read", t.dtype.lanes));
  if (t.dtype.bits < 8 && (flags & TANG_DLPACK_PADDED) != 0)
    return refused(fmt::format("of {} bits in a byte each cannot be read", t.dtype.bits));
  TensorView v;
  v.data = t.data;
  v.device = t.device;
  v.type = t.dtype;
  v.shape.assign(t.shape, t.shape + t.ndim);
  if (t.strides != nullptr) v.strides.assign(t.strides, t.strides + t.ndim);
  v.byte_offset = t.byte_offset;
  v.read_only = (flags & TANG_DLPACK_READ_ONLY) != 0;
  return v;
}

Result<TensorView> TensorView::from(const DLManagedTensorVersioned& t) {
  if (t.version.major != major_version)
    return refused(fmt::format("of version {}.{}", t.version.major, t.version.minor));
  return from(t.dl_tensor, t.flags);
}

DLManagedTensorVersioned* to_dlpack(Array array) {
  auto* all = new Exported{std::move(array), {}, {}};
  Array& a = all->array;
  if (is_block(a.format) && !a.shape.empty())
    a.shape.back() = a.shape.back() / info(a.format).block * info(a.format).block_bytes;
  all->strides.assign(a.shape.size(), 1);
  for (size_t k = a.shape.size(); k-- > 1;)
    all->strides[k - 1] = all->strides[k] * std::max<int64_t>(a.shape[k], 1);
  DLManagedTensorVersioned& t = all->tensor;
  t.version = {major_version, minor_version};
  t.manager_ctx = all;
  t.deleter = [](DLManagedTensorVersioned* self) {
    delete static_cast<Exported*>(self->manager_ctx);
  };
  t.dl_tensor = {a.data.data(),
                 {kDLCPU, 0},
                 static_cast<int32_t>(a.shape.size()),
                 dlpack_type(a.format),
                 a.shape.data(),
                 all->strides.data(),
                 0};
  return &t;
}

}  // namespace tang
