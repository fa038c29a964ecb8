#include "eval/random_inputs.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/random.h"
#include "eval/program.h"

namespace tang {

namespace {

// The number of index values that stay inside every axis `t` indexes; nullopt if it indexes none.
std::optional<int64_t> index_range(const Graph& g, TensorId t, std::span<const int64_t> params) {
  std::set<LeafId> leaves;
  for (const Node& n : g.nodes)
    if (n.alive)
      for (LeafId l : leaves_of(g, n)) leaves.insert(l);
  std::optional<int64_t> least;
  for (LeafId id : leaves) {
    const Leaf& l = g.leaf(id);
    if (l.what != Leaf::What::read) continue;
    for (size_t axis = 0; axis < l.forms.size(); ++axis)
      for (const Form::Gather& x : l.forms[axis].gathers) {
        if (g.leaf(x.leaf).tensor != t) continue;
        const auto extent = g[l.tensor].shape[axis].evaluate(params);
        const int64_t step = std::abs(x.coeff.evaluate(params).value_or(1));
        const int64_t range = extent.value_or(0) / std::max<int64_t>(1, step);
        least = std::min(least.value_or(range), range);
      }
  }
  return least;
}

template <class T, class Get, class Set>
void sort_rows(const Array& array, Get get, Set set) {
  const int64_t row = array.shape.empty() ? 1 : array.shape.back();
  if (row == 0) return;
  std::vector<T> values(static_cast<size_t>(row));
  for (int64_t first = 0; first < array.elements(); first += row) {
    for (int64_t k = 0; k < row; ++k) values[static_cast<size_t>(k)] = get(first + k);
    std::sort(values.begin(), values.end());
    for (int64_t k = 0; k < row; ++k) set(first + k, values[static_cast<size_t>(k)]);
  }
}

}  // namespace

Result<Array> random_input(const Graph& g, TensorId t, std::span<const int64_t> params,
                           uint64_t seed) {
  const Tensor& tensor = g[t];
  const Format format = tensor.storage();
  if (is_block(format) && tensor.sorted)
    return error(
        "E0713",
        fmt::format("sorted values for `{}` in {} are not drawn", tensor.name, name(format)),
        fmt::format("give it with --in {}=FILE", tensor.name));
  auto shape = oracle::shape_value(g, tensor.shape, params);
  if (!shape) return tl::unexpected(shape.error());
  auto array = make_array(format, std::move(*shape));
  if (!array) return array;
  const RandomStream stream(seed, tensor.name);
  if (tensor.kind == Kind::real) {
    fill_normal(*array, stream);
  } else if (tensor.kind == Kind::boolean) {
    fill_bools(*array, stream);
  } else {
    const int64_t range = index_range(g, t, params).value_or(8);
    const int64_t high = std::min(integer_max(format), std::max<int64_t>(0, range - 1));
    fill_integers(*array, stream, 0, high);
  }
  if (tensor.sorted && tensor.kind == Kind::real)
    sort_rows<double>(
        *array, [&](int64_t k) { return array->at(k); },
        [&](int64_t k, double x) { array->set(k, x); });
  else if (tensor.sorted)
    sort_rows<int64_t>(
        *array, [&](int64_t k) { return array->integer_at(k); },
        [&](int64_t k, int64_t x) { array->set_integer(k, x); });
  return array;
}

}  // namespace tang
