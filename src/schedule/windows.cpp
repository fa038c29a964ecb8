#include "schedule/windows.h"

#include <algorithm>

#include "ir/variance.h"

namespace tang {

namespace {

constexpr int64_t alignment = 64;

int64_t rounded_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

// Products that would overflow are as large as matters.
constexpr int64_t too_many = int64_t{1} << 40;
int64_t times(int64_t a, int64_t b) {
  return a > too_many / std::max<int64_t>(b, 1) ? too_many : a * b;
}

bool reads_tensor(const Graph& g, LeafId l, TensorId t) {
  return g.leaf(l).what == Leaf::What::read && g.leaf(l).tensor == t;
}

}  // namespace

bool is_factor(const Graph& g, const Node& n, LeafId read) {
  std::vector<ExprId> factors = {n.folds[0].args[0]};
  while (!factors.empty()) {
    const ExprNode e = g.pool[factors.back()];
    factors.pop_back();
    if (e.op == Op::mul) factors.insert(factors.end(), {e.args[0], e.args[1]});
    if (e.op == Op::var && e.variable() == read) return true;
  }
  return false;
}

bool is_constant(const Graph& g, const KernelPlan& k, TensorId t) {
  const auto given = [&](TensorId x) {
    return std::find(k.constants.begin(), k.constants.end(), x) != k.constants.end();
  };
  if (g[t].node == NodeId::none) return given(t);
  if (k.by_rows(g[t].node) ||
      std::find(k.inlined.begin(), k.inlined.end(), g[t].node) == k.inlined.end())
    return false;
  const std::vector<TensorId> read = tensors_read(g, g[g[t].node]);
  return std::all_of(read.begin(), read.end(), given);
}

std::vector<LeafId> Windows::reads(TensorId t) const {
  std::vector<LeafId> result;
  const auto collect = [&](const Node& n) {
    for (LeafId l : leaves_of(g, n))
      if (reads_tensor(g, l, t)) result.push_back(l);
  };
  collect(g[k_.node]);
  for (NodeId i : k_.inlined) collect(g[i]);
  return result;
}

NodeId Windows::reader(LeafId l) const {
  for (NodeId i : k_.inlined) {
    const std::vector<LeafId> leaves = leaves_of(g, g[i]);
    if (std::find(leaves.begin(), leaves.end(), l) != leaves.end()) return i;
  }
  return k_.node;
}

std::optional<int64_t> Windows::size(DimId d, size_t level) const {
  std::optional<int64_t> most = g.extent(d).constant();
  if (const auto found = given_.find(d); found != given_.end()) most = found->second;
  for (size_t k = 0; k < std::min(level, k_.blocks.size()); ++k)
    if (k_.blocks[k].dim == d) most = std::min(most.value_or(k_.blocks[k].step), k_.blocks[k].step);
  return most;
}

// Whether all blocks of the coordinate have as many elements.
bool Windows::is_exact(DimId d, size_t level) const {
  const auto extent = g.extent(d).constant();
  const int64_t step = size(d, level).value_or(0);
  return step == 1 || (extent && step > 0 && *extent % step == 0);
}

std::optional<int64_t> Windows::range(const std::vector<Form>& forms, size_t level) const {
  if (forms.empty() || !forms[0].is_affine()) return std::nullopt;
  int64_t extent = 1, least = 0, greatest = 0;
  for (const Form::Term& t : forms[0].terms) {
    const auto c = t.coeff.constant(), n = size(t.dim, level);
    if (!c || !n || (*c < 0 && !is_exact(t.dim, level))) return std::nullopt;
    if (std::abs(*c) > too_many) return std::nullopt;
    extent = std::min(too_many, extent + times(std::abs(*c), std::max<int64_t>(*n, 1) - 1));
  }
  for (const Form& f : forms) {
    const Form difference = f - forms[0];
    const auto c = difference.base.constant();
    if (!c || !difference.is_constant() || std::abs(*c) > too_many) return std::nullopt;
    least = std::min(least, *c);
    greatest = std::max(greatest, *c);
  }
  return std::min(too_many, extent + greatest - least);
}

std::optional<int64_t> Windows::elements(const StagePlan& s, size_t level) const {
  const std::vector<LeafId> all = reads(s.tensor);
  int64_t total = 1;
  for (size_t a = 0; a < g[s.tensor].shape.size(); ++a) {
    std::vector<Form> forms;
    for (LeafId l : all) forms.push_back(g.leaf(l).forms[a]);
    auto n = range(forms, level);
    if (!n) return std::nullopt;
    if (s.panel > 0 && a == s.panel_axis) n = rounded_up(*n, s.panel);
    total = times(total, *n);
  }
  return total;
}

std::optional<int64_t> Windows::box(const std::vector<DimId>& dims, size_t level) const {
  int64_t total = 1;
  for (DimId d : dims) {
    const auto n = size(d, level);
    if (!n) return std::nullopt;
    total = times(total, std::max<int64_t>(*n, 1));
  }
  return total;
}

size_t Windows::first_reduce() const {
  const Node& n = g[k_.node];
  size_t k = 0;
  while (k < k_.blocks.size() && !contains(n.reduce, k_.blocks[k].dim)) ++k;
  return k;
}

int64_t Windows::real_bytes() const {
  bool wide = false;
  const auto look = [&](const Node& n) {
    for (TensorId t : tensors_read(g, n)) wide |= g[t].storage() == Format::f64;
    for (const Target& t : n.targets) wide |= g[t.tensor].storage() == Format::f64;
  };
  look(g[k_.node]);
  for (NodeId i : k_.inlined) look(g[i]);
  return wide ? 8 : 4;
}

std::optional<int64_t> Windows::bytes(std::string* unknown) const {
  int64_t total = 0;
  const auto none = [&](const std::string& of) {
    *unknown = of;
    return std::nullopt;
  };
  for (const StagePlan& s : k_.stages) {
    if (s.axes.empty() || s.prepared) continue;
    const auto count = elements(s);
    if (!count) return none(g[s.tensor].name);
    total += rounded_up(times(*count, real_bytes()), alignment) + (s.padded ? alignment : 0);
  }
  for (const KernelPlan& row : k_.rows) {
    Windows inside(g, row);
    const Node& n = g[row.node];
    size_t level = k_.blocks.size();
    for (const StagePlan& s : k_.stages)
      if (g[s.tensor].node == row.node) level = s.level;
    for (size_t a = 0; a < n.points.size() && a < k_.blocks.size(); ++a)
      inside.given_[n.points[a]] = size(k_.blocks[a].dim, level);
    for (const Target& t : n.targets) {
      const auto count = inside.box(t.points, 0);
      if (!count) return none(g[t.tensor].name);
      total += rounded_up(times(*count, real_bytes()), alignment);
    }
    if (row.kept) {
      std::vector<DimId> all = n.points;
      all.insert(all.end(), n.reduce.begin(), n.reduce.end());
      const auto count = inside.box(all, 0);
      if (!count) return none("weights of " + row.name);
      total += rounded_up(times(*count, real_bytes()), alignment);
    }
    const auto more = inside.bytes(unknown);
    if (!more) return std::nullopt;
    total += *more;
  }
  return std::min(total, too_many);
}

}  // namespace tang
