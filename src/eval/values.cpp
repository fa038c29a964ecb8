#include "eval/values.h"

#include <bit>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tang {

Cell cell_of(const Value& v) {
  Cell c;
  if (v.kind == Kind::real)
    c.r = v.r;
  else
    c.i = v.i;
  return c;
}

Value value_of(Kind kind, Cell cell) {
  if (kind == Kind::real) return Value::real(cell.r);
  return kind == Kind::integer ? Value::integer(cell.i) : Value::boolean(cell.i != 0);
}

PointSet::PointSet(int64_t size) : size_(size), words_(static_cast<size_t>((size + 63) / 64), 0) {}

void PointSet::add_all() {
  for (uint64_t& w : words_) w = ~uint64_t{0};
  if ((size_ & 63) != 0) words_.back() = (uint64_t{1} << (size_ & 63)) - 1;
}

void PointSet::merge(const PointSet& other) {
  for (size_t k = 0; k < words_.size(); ++k) words_[k] |= other.words_[k];
}

void PointSet::finish() {
  before_.resize(words_.size());
  count_ = 0;
  for (size_t k = 0; k < words_.size(); ++k) {
    before_[k] = count_;
    count_ += std::popcount(words_[k]);
  }
}

int64_t PointSet::rank(int64_t flat) const {
  const uint64_t below = words_[word(flat)] & ((uint64_t{1} << (flat & 63)) - 1);
  return before_[word(flat)] + std::popcount(below);
}

std::vector<int64_t> PointSet::members() const {
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(count_));
  for (size_t k = 0; k < words_.size(); ++k)
    for (uint64_t w = words_[k]; w != 0; w &= w - 1)
      out.push_back(static_cast<int64_t>(k) * 64 + std::countr_zero(w));
  return out;
}

std::vector<int64_t> Values::flats() const {
  if (points) return points->members();
  std::vector<int64_t> out(static_cast<size_t>(elements()));
  std::iota(out.begin(), out.end(), int64_t{0});
  return out;
}

Result<Values> make_values(Kind kind, std::vector<int64_t> shape,
                           std::shared_ptr<const PointSet> points) {
  const std::string what = "the oracle's tensor of shape " + shape_text(shape);
  const std::optional<int64_t> count = points ? points->count() : element_count(shape);
  if (!count || *count > INT64_MAX / 8)
    return tl::unexpected(out_of_memory(what, "more than 9223372036854775807"));
  std::optional<Buffer> cells;
  if (*count * 8 <= memory_limit()) cells = Buffer::allocate(static_cast<size_t>(*count) * 8);
  if (!cells) return tl::unexpected(out_of_memory(what, fmt::to_string(*count * 8)));
  Values v;
  v.kind = kind;
  v.shape = std::move(shape);
  v.cells = std::move(*cells);
  v.points = std::move(points);
  return v;
}

Result<Values> decode(const Array& array, Kind kind) {
  auto values = make_values(kind, array.shape);
  if (!values) return values;
  Cell* out = values->data();
  const int64_t n = array.elements();
  if (kind == Kind::real)
    for (int64_t k = 0; k < n; ++k) out[k].r = array.at(k);
  else if (kind == Kind::integer)
    for (int64_t k = 0; k < n; ++k) out[k].i = array.integer_at(k);
  else
    for (int64_t k = 0; k < n; ++k) out[k].i = array.integer_at(k) != 0;
  return values;
}

Result<Array> encode(const Values& values, Format format) {
  auto array = make_array(format, values.shape);
  if (!array) return array;
  const int64_t n = values.elements();
  for (int64_t k = 0; k < n; ++k) {
    if (values.kind == Kind::real)
      array->set(k, values.data()[k].r);
    else
      array->set_integer(k, values.data()[k].i);
  }
  return array;
}

std::string coordinates_text(const std::vector<int64_t>& shape, int64_t flat) {
  std::vector<int64_t> at(shape.size());
  for (size_t k = shape.size(); k-- > 0;) {
    at[k] = shape[k] > 0 ? flat % shape[k] : 0;
    flat = shape[k] > 0 ? flat / shape[k] : 0;
  }
  return fmt::format("{}", fmt::join(at, ", "));
}

}  // namespace tang
