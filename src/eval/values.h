// Exact host values: what the oracle computes with. Reals are f64, integers and bools int64.
//
// Values hold either every element of a tensor or, in a sampled evaluation, the elements of a
// PointSet: slot k is the k-th smallest flat index of the set.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/array.h"
#include "expr/expr.h"

namespace tang {

union Cell {
  double r;
  int64_t i;
};

Cell cell_of(const Value& v);
Value value_of(Kind kind, Cell cell);

// A subset of the flat indices 0 … size-1: one bit an element and the number of members before each
// word, so membership and rank take constant time.
class PointSet {
 public:
  explicit PointSet(int64_t size);

  void add(int64_t flat) { words_[word(flat)] |= uint64_t{1} << (flat & 63); }
  void add_all();
  void merge(const PointSet& other);  // of the same size
  // Counts members; before it rank() and count() are not valid.
  void finish();

  int64_t size() const { return size_; }
  int64_t count() const { return count_; }
  bool contains(int64_t flat) const { return (words_[word(flat)] >> (flat & 63) & 1) != 0; }
  // Members below `flat`.
  int64_t rank(int64_t flat) const;
  // All members, ascending.
  std::vector<int64_t> members() const;

 private:
  static size_t word(int64_t flat) { return static_cast<size_t>(flat >> 6); }

  int64_t size_ = 0;
  int64_t count_ = 0;
  std::vector<uint64_t> words_;
  std::vector<int64_t> before_;
};

struct Values {
  Kind kind = Kind::real;
  std::vector<int64_t> shape;
  Buffer cells;
  std::shared_ptr<const PointSet> points;  // null when every element is stored

  bool sampled() const { return points != nullptr; }
  int64_t elements() const { return element_count(shape).value_or(0); }
  int64_t stored() const { return points ? points->count() : elements(); }
  Cell* data() { return reinterpret_cast<Cell*>(cells.data()); }
  const Cell* data() const { return reinterpret_cast<const Cell*>(cells.data()); }

  // The element in a slot; `at` takes a flat index, which must be stored.
  Value slot(int64_t k) const { return value_of(kind, data()[k]); }
  Value at(int64_t flat) const { return slot(points ? points->rank(flat) : flat); }
  // Flat indices of the slots in order; 0 … elements-1 when nothing was sampled.
  std::vector<int64_t> flats() const;
};

// Zeroed values for every element, or for the points. Errors: E0903.
Result<Values> make_values(Kind kind, std::vector<int64_t> shape,
                           std::shared_ptr<const PointSet> points = {});

// The decoded elements of an array as a tensor of this kind. Errors: E0903.
Result<Values> decode(const Array& array, Kind kind);

// Complete values rounded and stored in a format. Errors: E0903.
Result<Array> encode(const Values& values, Format format);

// "2, 0, 3": the coordinates of a flat index.
std::string coordinates_text(const std::vector<int64_t>& shape, int64_t flat);

}  // namespace tang
