#include "api/layout.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tang {

namespace {

std::string describe(DLDataType t) {
  const char* kind = t.code == kDLInt      ? "int"
                     : t.code == kDLUInt   ? "uint"
                     : t.code == kDLFloat  ? "float"
                     : t.code == kDLBfloat ? "bfloat"
                     : t.code == kDLBool   ? "bool"
                                           : nullptr;
  return kind ? fmt::format("{}{}", kind, t.bits)
              : fmt::format("DLPack code {} of {} bits", t.code, t.bits);
}

tl::unexpected<Diagnostic> bad_layout(std::string message, std::string hint) {
  return error("E0719", std::move(message), std::move(hint));
}

Result<void> check_type(const Declared& d, const TensorView& t) {
  const DLDataType want = dlpack_type(d.format);
  if (t.type.lanes == 1 && t.type.code == want.code && t.type.bits == want.bits) return {};
  return error("E0705",
               fmt::format("`{}` is declared {} and the tensor holds {}", d.name,
                           tang::name(d.format), describe(t.type)),
               fmt::format("give a tensor of {}", describe(want)));
}

// The declared shape as tensors have it: the last axis of a block format counts bytes.
std::vector<int64_t> expected_shape(const Declared& d) {
  std::vector<int64_t> shape(d.shape.begin(), d.shape.end());
  if (is_block(d.format) && !shape.empty())
    shape.back() = shape.back() / info(d.format).block * info(d.format).block_bytes;
  return shape;
}

// Bytes from the first element to behind the last, which also bounds every product of the walk.
bool fits(const Layout& l, uint64_t offset) {
  int64_t last = 0;
  for (size_t k = 0; k < l.shape.size(); ++k) {
    int64_t step = 0;
    if (__builtin_mul_overflow(l.shape[k] - 1, l.strides[k], &step)) return false;
    if (__builtin_add_overflow(last, step, &last)) return false;
  }
  int64_t bytes = 0;
  return !__builtin_mul_overflow(last + 1, l.width, &bytes) && offset <= INT64_MAX / 2 &&
         bytes <= INT64_MAX / 2;
}

// Leaves out axes of one element and merges those that continue each other.
void simplify(Layout& l) {
  std::vector<int64_t> shape, strides;
  for (size_t k = 0; k < l.shape.size(); ++k) {
    if (l.shape[k] == 1) continue;
    if (!shape.empty() && l.strides[k] != 0 && strides.back() == l.strides[k] * l.shape[k]) {
      shape.back() *= l.shape[k];
      strides.back() = l.strides[k];
    } else {
      shape.push_back(l.shape[k]);
      strides.push_back(l.strides[k]);
    }
  }
  l.shape = std::move(shape);
  l.strides = std::move(strides);
}

std::vector<int64_t> row_major_strides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t k = shape.size(); k-- > 1;)
    strides[k - 1] = strides[k] * std::max<int64_t>(shape[k], 1);
  return strides;
}

Result<void> check_strides(const Declared& d, const TensorView& t) {
  for (size_t k = 0; k < t.strides.size(); ++k)
    if (t.shape[k] > 1 && t.strides[k] < 0)
      return bad_layout(fmt::format("axis {} of `{}` has the stride {}", k, d.name, t.strides[k]),
                        "tensors run forwards: copy this one");
  return {};
}

// Elements of less than a byte lie as they are declared, row-major, or not at all.
Result<void> pack(const Declared& d, Layout& l) {
  simplify(l);
  if (!l.row_major())
    return bad_layout(fmt::format("`{}` is {}, whose elements share bytes, and is not row-major",
                                  d.name, tang::name(d.format)),
                      "copy it to row-major memory");
  l.elements = bytes_for(d.format, l.elements).value_or(0);
  l.shape = {l.elements};
  l.strides = {1};
  return {};
}

// Calls run(bytes in the tensor, bytes in row-major memory) for each run along the last axis.
template <class Run>
void walk(const Layout& l, size_t axis, int64_t at, int64_t& packed, Run run) {
  if (axis + 1 >= l.shape.size()) {
    run(at, packed);
    packed += (l.shape.empty() ? 1 : l.shape.back()) * l.width;
    return;
  }
  for (int64_t k = 0; k < l.shape[axis]; ++k)
    walk(l, axis + 1, at + k * l.strides[axis] * l.width, packed, run);
}

// One run of elements of W bytes (0: of `width`), `from` and `to` so many bytes apart.
template <size_t W>
void copy_run(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step, int64_t n) {
  for (int64_t k = 0; k < n; ++k) std::memcpy(to + k * to_step, from + k * from_step, W);
}

void copy(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step, int64_t n,
          int64_t width) {
  if (from_step == width && to_step == width) {
    std::memcpy(to, from, static_cast<size_t>(n * width));
    return;
  }
  switch (width) {
    case 1:
      return copy_run<1>(from, from_step, to, to_step, n);
    case 2:
      return copy_run<2>(from, from_step, to, to_step, n);
    case 4:
      return copy_run<4>(from, from_step, to, to_step, n);
    default:
      return copy_run<8>(from, from_step, to, to_step, n);
  }
}

}  // namespace

bool Layout::direct() const {
  return row_major() &&
         (elements == 0 || reinterpret_cast<uintptr_t>(begin) % static_cast<uintptr_t>(width) == 0);
}

std::pair<const std::byte*, const std::byte*> Layout::range() const {
  if (elements == 0) return {begin, begin};
  int64_t last = 0;
  for (size_t k = 0; k < shape.size(); ++k) last += (shape[k] - 1) * strides[k];
  return {begin, begin + (last + 1) * width};
}

bool Layout::shares_bytes(const Layout& other) const {
  const auto [a, b] = range();
  const auto [c, d] = other.range();
  return a < d && c < b;
}

void Layout::gather(std::byte* to) const {
  if (elements == 0) return;
  const int64_t n = shape.empty() ? 1 : shape.back(), step = strides.empty() ? 1 : strides.back();
  int64_t packed = 0;
  walk(*this, 0, 0, packed,
       [&](int64_t at, int64_t p) { copy(begin + at, step * width, to + p, width, n, width); });
}

void Layout::scatter(const std::byte* from) const {
  if (elements == 0) return;
  const int64_t n = shape.empty() ? 1 : shape.back(), step = strides.empty() ? 1 : strides.back();
  int64_t packed = 0;
  walk(*this, 0, 0, packed,
       [&](int64_t at, int64_t p) { copy(from + p, width, begin + at, step * width, n, width); });
}

Result<Layout> input_layout(const Declared& d, const TensorView& t) {
  if (auto ok = check_type(d, t); !ok) return tl::unexpected(ok.error());
  const std::vector<int64_t> shape = expected_shape(d);
  if (t.shape != shape)
    return error("E0706", fmt::format("`{}` has the shape {} and the tensor {}", d.name,
                                      shape_text(shape), shape_text(t.shape)));
  if (!t.strides.empty() && t.strides.size() != t.shape.size())
    return bad_layout(
        fmt::format("`{}` has {} axes and {} strides", d.name, t.shape.size(), t.strides.size()),
        "give a stride for each axis, or none");
  Layout l;
  l.elements = element_count(shape).value_or(0);
  l.width = std::max(1, t.type.bits / 8);
  l.shape = shape;
  if (l.elements == 0) {
    l.shape = {0};
    l.strides = {1};
    return l;
  }
  if (auto ok = check_strides(d, t); !ok) return tl::unexpected(ok.error());
  if (t.data == nullptr)
    return bad_layout(fmt::format("`{}` has no memory", d.name), "give its address");
  l.strides = t.strides.empty() ? row_major_strides(shape) : t.strides;
  if (!fits(l, t.byte_offset))
    return bad_layout(fmt::format("`{}` spans more bytes than memory has", d.name),
                      "check its strides");
  l.begin = static_cast<std::byte*>(t.data) + t.byte_offset;
  if (t.type.bits < 8) {
    if (auto ok = pack(d, l); !ok) return tl::unexpected(ok.error());
  }
  simplify(l);
  return l;
}

Result<Layout> output_layout(const Declared& d, const TensorView& t) {
  if (t.read_only)
    return error("E0721", fmt::format("`{}` is an output, and its tensor is read-only", d.name),
                 "give memory that may be written");
  auto l = input_layout(d, t);
  if (!l || l->elements == 0) return l;
  // Axes from the smallest stride up: each must step over all that lies inside.
  std::vector<std::pair<int64_t, int64_t>> axes;
  for (size_t k = 0; k < l->shape.size(); ++k) axes.emplace_back(l->strides[k], l->shape[k]);
  std::sort(axes.begin(), axes.end());
  int64_t span = 1;
  for (const auto& [stride, extent] : axes) {
    if (stride < span)
      return bad_layout(fmt::format("elements of the output `{}` share memory", d.name),
                        "strides of an output step over the axes inside of them");
    span += (extent - 1) * stride;
  }
  return l;
}

}  // namespace tang
