#include "probe/plan.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tang::probe {

namespace {

class Planner {
 public:
  explicit Planner(const Tables& tables) { plan_.tables = &tables; }

  Plan plan() {
    for (const Row& row : plan_.tables->rows)
      if (row.needs.starts_with("sm")) add(row);
    return std::move(plan_);
  }

 private:
  void add(const Row& row) {
    if (row.scope == Scope::warpgroup)
      add_products_of_warpgroups(row);
    else if (has_map(row))
      add_boxes(row);
    else
      add_others(row);
  }

  // The kernel's number; kernels of one name are one.
  size_t kernel(Kernel k) {
    const auto [at, added] = numbers_.emplace(k.name(), plan_.kernels.size());
    if (added) plan_.kernels.push_back(std::move(k));
    return at->second;
  }

  void push(const Kernel& k, Case c) {
    c.kernel = kernel(k);
    if (c.sizes.empty()) c.sizes = k.sizes;
    plan_.cases.push_back(std::move(c));
  }

  // ---- products of warpgroups -------------------------------------------------------------------

  static std::vector<Sizes> sizes_of_products(const Row& row) {
    std::vector<Sizes> result;
    for (int64_t n : {8, 64, 176, 256}) {
      Sizes s;
      for (const SizedAxis& a : row.axes) s.push_back(a.name == "n" ? n : a.sizes.values().front());
      if (row.check(s) && (n != 176 || s.back() == 16)) result.push_back(s);
    }
    return result;
  }

  // The ways an operand may lie: layouts × swizzles. One in registers lies in one way.
  std::vector<Lie> lies(const Operand& o) const {
    std::vector<Lie> result;
    for (uint32_t l : o.layouts)
      for (int64_t span : plan_.tables->layouts[l].spans)
        result.push_back({static_cast<int>(l), span});
    if (result.empty()) result.emplace_back();
    return result;
  }

  // Whether the contracted axis does not run fastest.
  bool transposed(const Row& row, const Operand& o, const Lie& lie) const {
    if (lie.layout < 0) return false;
    const uint32_t axis = o.axes[plan_.tables->layouts[lie.layout].major];
    const std::vector<uint32_t> folded = row.folded();
    return std::find(folded.begin(), folded.end(), axis) == folded.end();
  }

  void add_product(const Row& row, const Sizes& sizes, const Lie& a, const Lie& b, int sign_a,
                   int sign_b) {
    const std::vector<uint32_t>& arguments = row.computes.arguments;
    Kernel k{&row, sizes};
    Case c;
    c.lies[arguments[0]] = a;
    c.lies[arguments[1]] = b;
    for (uint32_t i : arguments) k.trans[i] = transposed(row, row.operands[i], c.lies[i]);
    k.sign[arguments[0]] = sign_a;
    k.sign[arguments[1]] = sign_b;
    for (Pattern p : {Pattern::first, Pattern::second, Pattern::integers}) {
      c.pattern = p;
      push(k, c);
    }
  }

  void add_products_of_warpgroups(const Row& row) {
    const Operand& a = row.operands[row.computes.arguments[0]];
    const Operand& b = row.operands[row.computes.arguments[1]];
    for (const Sizes& sizes : sizes_of_products(row))
      for (const Lie& x : lies(a))
        for (const Lie& y : lies(b)) add_product(row, sizes, x, y, 1, 1);
    if (!a.negates) return;
    const Sizes sizes = sizes_of_products(row)[1];
    add_product(row, sizes, lies(a)[0], lies(b)[0], -1, 1);
    add_product(row, sizes, lies(a)[0], lies(b)[0], 1, -1);
  }

  // ---- boxes of tensors -------------------------------------------------------------------------

  // The operand that lies in shared memory, if any.
  static const Operand* tile_of(const Row& row) {
    for (const Operand& o : row.operands)
      if (!o.layouts.empty()) return &o;
    return nullptr;
  }

  struct Border {
    std::array<int64_t, 2> at;  // in boxes' quarters, innermost axis and others
    bool past;                  // the box reaches past the end
  };

  void add_boxes(const Row& row) {
    const Operand* tile = tile_of(row);
    std::vector<Lie> ways = tile ? lies(*tile) : std::vector<Lie>(1);
    const size_t formats = row.operands[0].formats.size();
    for (const Lie& lie : ways)
      for (uint32_t f = 0; f < formats; ++f) {
        if (f > 0 && lie.span != 128) continue;
        add_borders(row, tile, lie, f);
      }
    if (!tile) return;
    for (int64_t shift : {128, 512}) {
      Lie moved = ways.back();
      moved.shift = shift;
      add_borders(row, tile, moved, 0);
    }
  }

  void add_borders(const Row& row, const Operand* tile, const Lie& lie, uint32_t format) {
    const int64_t size = info(row.operands[0].formats[0]).bits / 8, step = 16 / size;
    Case c;
    c.format = format;
    c.sizes = {lie.span > 0 ? lie.span / size : 3 * step};
    for (size_t k = 1; k < row.axes.size(); ++k) c.sizes.push_back(std::array{9, 3, 2, 3}[k - 1]);
    if (tile) c.lies[tile - row.operands.data()] = lie;
    const bool adds = row.computes.kind != Computes::Kind::move;
    c.pattern = adds ? Pattern::integers : Pattern::different;
    const bool negative = !clips(row);
    // Inside; past the end of all axes; from before the first element; wholly outside.
    for (int where = 0; where < 4; ++where) {
      if (where == 2 && !negative) continue;
      add_border(row, c, where, step);
    }
  }

  static bool clips(const Row& row) {
    return row.computes.result && row.operands[*row.computes.result].clips;
  }

  void add_border(const Row& row, Case c, int where, int64_t step) {
    c.extents.clear();
    c.at.clear();
    for (size_t k = 0; k < c.sizes.size(); ++k) {
      const int64_t box = c.sizes[k], quantum = k == 0 ? step : 1;
      const int64_t extent = box + 3 * quantum;
      c.extents.push_back(extent);
      c.at.push_back(where == 0   ? (k == 0 ? quantum : 2)
                     : where == 1 ? (k < 2 ? 4 * quantum : 1)
                     : where == 2 ? (k < 2 ? -quantum : 0)
                                  : (k == 0 ? extent + quantum : 0));
    }
    const Kernel kernel{&row, c.sizes};
    push(kernel, c);
    if (where != 1) return;
    // An extent that is no multiple of 16 bytes; strides are.
    Case odd = c;
    odd.extents[0] -= step > 2 ? 3 : 1;
    if (step > 1) push(kernel, odd);
    const bool real = kind(row.operands[0].formats[std::min<size_t>(
                          c.format, row.operands[0].formats.size() - 1)]) == Kind::real;
    const int bits = info(row.operands[0].formats[0]).bits;
    if (!clips(row) && row.computes.result && real && bits > 8 && bits < 64) {
      c.nan_fill = true;
      push(kernel, c);
    }
  }

  // ---- the rest: sizes that are few
  // --------------------------------------------------------------

  static std::vector<int64_t> values(const SizedAxis& a) {
    std::vector<int64_t> all = a.sizes.values();
    if (all.size() <= 8) return all;
    return {all[0], all[2], all[all.size() > 2000 ? 300 : 7]};
  }

  static std::vector<Sizes> all_sizes(const Row& row) {
    std::vector<Sizes> result{{}};
    for (const SizedAxis& a : row.axes) {
      std::vector<Sizes> longer;
      for (const Sizes& s : result)
        for (int64_t v : values(a)) {
          longer.push_back(s);
          longer.back().push_back(v);
        }
      result = std::move(longer);
    }
    return result;
  }

  void add_others(const Row& row) {
    for (const Sizes& sizes : all_sizes(row)) {
      const Kernel k{&row, sizes};
      Case c;
      if (row.computes.kind == Computes::Kind::contract && row.computes.arguments.size() == 2) {
        for (Pattern p : {Pattern::first, Pattern::second, Pattern::integers}) {
          c.pattern = p;
          push(k, c);
        }
      } else if (row.computes.kind == Computes::Kind::shuffle) {
        for (int64_t by : {1, 2, 5, 16, 31}) {
          c.by = by;
          push(k, c);
        }
      } else {
        add_moves(k, c);
      }
    }
  }

  void add_moves(const Kernel& k, Case c) {
    const Row& row = *k.row;
    const bool moves = row.computes.kind == Computes::Kind::move;
    c.pattern =
        moves || row.computes.kind == Computes::Kind::map ? Pattern::different : Pattern::integers;
    const Operand& o = row.operands[0];
    for (c.format = 0; c.format < o.formats.size(); ++c.format) {
      c.bytes = 0;
      push(k, c);
      const int64_t size = info(o.formats[c.format]).bits / 8;
      if (row.operands.size() < 2 || !row.operands[1].fills || k.sizes.empty()) continue;
      for (c.bytes = size; c.bytes < k.sizes[0] * size; c.bytes += size) push(k, c);
    }
  }

  Plan plan_;
  std::map<std::string, size_t> numbers_;
};

}  // namespace

std::string_view name(Pattern p) {
  constexpr std::string_view names[] = {"one-hot first", "one-hot second", "integers", "different"};
  return names[static_cast<size_t>(p)];
}

Format Plan::format(const Case& c, const Operand& o) const {
  return o.formats[std::min<size_t>(c.format, o.formats.size() - 1)];
}

std::string Plan::majors(const Case& c) const {
  const Row& row = *kernel(c).row;
  std::vector<std::string> list;
  for (size_t i = 0; i < row.operands.size(); ++i) {
    if (c.lies[i].layout < 0) continue;
    const uint32_t axis = row.operands[i].axes[tables->layouts[c.lies[i].layout].major];
    list.push_back(fmt::format("{} {}", row.operands[i].name, row.axes[axis].name));
  }
  return fmt::format("{}", fmt::join(list, ", "));
}

std::string Plan::swizzles(const Case& c) const {
  const Row& row = *kernel(c).row;
  std::vector<std::string> list;
  for (size_t i = 0; i < row.operands.size(); ++i) {
    if (c.lies[i].layout < 0) continue;
    list.push_back(fmt::format("{} {}", row.operands[i].name, c.lies[i].span));
    if (c.lies[i].shift) list.back() += fmt::format(" at {}", c.lies[i].shift);
  }
  return fmt::format("{}", fmt::join(list, ", "));
}

std::string Plan::sizes(const Case& c) const {
  const Row& row = *kernel(c).row;
  std::vector<std::string> list;
  for (size_t a = 0; a < row.axes.size(); ++a)
    list.push_back(fmt::format("{} {}", row.axes[a].name, c.sizes[a]));
  return fmt::format("{}", fmt::join(list, ", "));
}

Plan make_plan(const Tables& tables) { return Planner(tables).plan(); }

}  // namespace tang::probe
