#include "front/array_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tang {
namespace {

void swap_bytes(std::span<std::byte> data, size_t width) {
  for (size_t at = 0; at + width <= data.size(); at += width) {
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at),
                 data.begin() + static_cast<std::ptrdiff_t>(at + width));
  }
}

// Walks an index space in row-major order and gives each point's column-major position.
class ColumnMajorWalk {
 public:
  explicit ColumnMajorWalk(const std::vector<int64_t>& shape)
      : shape_(shape), index_(shape.size(), 0), strides_(shape.size(), 1) {
    for (size_t a = 1; a < shape.size(); ++a) strides_[a] = strides_[a - 1] * shape[a - 1];
  }

  int64_t position() const { return position_; }

  void advance() {
    for (size_t a = shape_.size(); a-- > 0;) {
      position_ += strides_[a];
      if (++index_[a] < shape_[a]) return;
      position_ -= strides_[a] * shape_[a];
      index_[a] = 0;
    }
  }

 private:
  const std::vector<int64_t>& shape_;
  std::vector<int64_t> index_;
  std::vector<int64_t> strides_;
  int64_t position_ = 0;
};

// A 16- or 32-bit integer of the file, which its wider format holds exactly.
int64_t narrow_integer(const StoredType& type, const std::byte* at) {
  if (type.bytes == 2) {
    return type.is_unsigned ? int64_t{little_endian<uint16_t>(at)}
                            : int64_t{little_endian<int16_t>(at)};
  }
  return little_endian<uint32_t>(at);
}

bool same_width(const StoredType& type) { return info(type.format).bits == 8 * type.bytes; }

// Moves the elements of `raw`, in the host's byte order, into the array, row-major.
void place_elements(Array& array, const StoredArray& stored, const std::byte* raw) {
  const int64_t width = stored.type.bytes;
  const int64_t n = array.elements();
  if (n == 0) return;  // the strides of an empty shape may overflow
  ColumnMajorWalk walk(stored.shape);
  for (int64_t i = 0; i < n; ++i) {
    const std::byte* from = raw + width * (stored.column_major ? walk.position() : i);
    if (same_width(stored.type)) {
      std::memcpy(array.data.data() + width * i, from, static_cast<size_t>(width));
    } else {
      array.set_integer(i, narrow_integer(stored.type, from));
    }
    if (stored.column_major) walk.advance();
  }
}

// Values the in-memory format cannot keep: bytes of a bool other than 0 and 1 become 1, unsigned
// 64-bit values above the signed range are an error.
Result<void> check_values(Array& array, const StoredType& type, const std::string& label) {
  const bool wraps = type.is_unsigned && type.bytes == 8;
  if (!wraps && type.format != Format::boolean) return {};
  const int64_t n = array.elements();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t value = array.integer_at(i);
    if (wraps && value < 0) {
      return error("E0705",
                   fmt::format("{}: the unsigned value {} at flat index {} does not fit i64", label,
                               static_cast<uint64_t>(value), i));
    }
    array.set_integer(i, value);
  }
  return {};
}

}  // namespace

std::optional<StoredType> stored_type(char type_class, int bytes) {
  const auto make = [&](Format format) {
    return StoredType{format, bytes, type_class == 'u', false};
  };
  switch (type_class) {
    case 'f':
      if (bytes == 8) return make(Format::f64);
      if (bytes == 4) return make(Format::f32);
      if (bytes == 2) return make(Format::f16);
      break;
    case 'i':
      if (bytes == 8) return make(Format::i64);
      if (bytes == 4 || bytes == 2) return make(Format::i32);
      if (bytes == 1) return make(Format::i8);
      break;
    case 'u':
      if (bytes == 8 || bytes == 4) return make(Format::i64);
      if (bytes == 2) return make(Format::i32);
      if (bytes == 1) return make(Format::u8);
      break;
    case 'b':
      if (bytes == 1) return make(Format::boolean);
      break;
    default:
      break;
  }
  return std::nullopt;
}

Result<Array> read_elements(ByteSource& source, const StoredArray& stored,
                            const std::string& label) {
  Result<Array> array = make_array(stored.type.format, stored.shape);
  if (!array) return array;
  const bool in_place = same_width(stored.type) && !stored.column_major;
  Array scratch;
  if (!in_place) {
    Result<Array> made = make_array(Format::u8, {array->elements() * stored.type.bytes});
    if (!made) return made;
    scratch = std::move(*made);
  }
  Buffer& raw = in_place ? array->data : scratch.data;
  auto done = source.read(raw.bytes());
  if (done) done = source.finish();
  if (!done) return tl::unexpected(std::move(done.error()));
  if (stored.type.big_endian) swap_bytes(raw.bytes(), static_cast<size_t>(stored.type.bytes));
  if (!in_place) place_elements(*array, stored, raw.data());
  if (auto kept = check_values(*array, stored.type, label); !kept) {
    return tl::unexpected(std::move(kept.error()));
  }
  return array;
}

}  // namespace tang
