#include "tile/verify_rows.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "target/canonical.h"
#include "view/divide.h"

namespace tang::tile {

namespace {

// A contraction's row: its result and two factors, each over axes of the row.
class Contraction {
 public:
  Contraction(const Kernel& kernel, const Op& op, const Tables& tables, const Tables::Found& found)
      : k_(kernel), op_(op), tables_(tables), row_(*found.row), sizes_(found.sizes) {}

  std::string fault() {
    if (row_.computes.kind != Computes::Kind::contract) return "the row computes no contraction";
    name_axes();
    const NamedPlacement& d = k_[k_[op_.results[0]].type.placement];
    if (const std::string text = held(row_.operands[*row_.computes.result], d); !text.empty())
      return text;
    size_t next = 0;
    for (size_t side = 0; side < 2; ++side) {
      const Operand& operand = row_.operands[row_.computes.arguments[side]];
      const Ref& r = op_.refs[side];
      const std::string text = r.what == Ref::What::none
                                   ? held(operand, k_[k_[op_.args[next++]].type.placement])
                                   : lies(operand, r);
      if (!text.empty()) return text;
    }
    return {};
  }

 private:
  // Which axis of the kernel each axis of the row is: those of the result that the first factor has
  // are its own, and so on. Rows without such axes (a multiply-add over nothing) need none.
  void name_axes() {
    names_.assign(row_.axes.size(), std::nullopt);
    const Operand& result = row_.operands[*row_.computes.result];
    for (uint32_t a = 0; a < row_.axes.size(); ++a) {
      const bool folded = std::find(result.axes.begin(), result.axes.end(), a) == result.axes.end();
      std::vector<bool> has;
      for (uint32_t n : row_.computes.arguments) {
        const auto& axes = row_.operands[n].axes;
        has.push_back(std::find(axes.begin(), axes.end(), a) != axes.end());
      }
      for (DimId d : folded ? op_.over : k_[k_[op_.results[0]].type.placement].axes)
        if (mentions(0, d) == has[0] && mentions(1, d) == has[1] && !names_[a]) names_[a] = d;
      if (!names_[a] && !folded) spread(a, result);
    }
  }

  // An axis that a factor of the row has and the kernel's has not: it holds the same all along it.
  // It is the one along which the result is held as the row wants.
  void spread(uint32_t a, const Operand& result) {
    const NamedPlacement& tile = k_[k_[op_.results[0]].type.placement];
    for (DimId d : tile.axes) {
      names_[a] = d;
      if (held(result, tile).empty()) return;
    }
    names_[a] = std::nullopt;
  }

  bool mentions(size_t side, DimId d) const {
    const Ref& r = op_.refs[side];
    if (r.what != Ref::What::none)
      return std::any_of(r.at.begin(), r.at.end(), [d](const Form& f) { return f.mentions(d); });
    const size_t arg = side == 1 && op_.refs[0].what == Ref::What::none ? 1 : 0;
    const auto& axes = k_[k_[op_.args[arg]].type.placement].axes;
    return std::find(axes.begin(), axes.end(), d) != axes.end();
  }

  // The tile in registers is a repetition of what the row holds.
  std::string held(const Operand& operand, const NamedPlacement& tile) const {
    const auto piece = row_.holds(operand, sizes_);
    if (!piece) return piece.error().message;
    // The piece over the tile's axes; those it does not index are single.
    AxisMap map;
    for (DimId d : tile.axes) {
      map.base.push_back(0);
      map.rows.emplace_back();
      for (uint32_t a = 0; a < operand.axes.size(); ++a)
        if (names_[operand.axes[a]] == d) map.rows.back().push_back({a, 1});
    }
    if (divide(tile.placement, compose(map, *piece))) return {};
    return fmt::format("`{}` is not held as operand {} of the row", tile.name, operand.name);
  }

  // The memory, from where the reference starts, lies as the row can read it.
  std::string lies(const Operand& operand, const Ref& r) const {
    const Memory& m = k_[r.memory];
    if (operand.layouts.empty()) return {};
    Storage storage = m.layout;
    Point at(operand.axes.size(), 0);
    std::vector<uint32_t> axis(m.axes.size(),
                               UINT32_MAX);  // of the operand, for each of the memory
    for (size_t a = 0; a < m.axes.size(); ++a)
      for (uint32_t o = 0; o < operand.axes.size(); ++o)
        if (names_[operand.axes[o]] && r.at[a].mentions(*names_[operand.axes[o]])) {
          axis[a] = o;
          at[o] = r.at[a].base.constant().value_or(0);
        }
    std::erase_if(storage.digits,
                  [&](const StorageDigit& d) { return axis[d.of.axis] == UINT32_MAX; });
    for (StorageDigit& d : storage.digits) d.of.axis = axis[d.of.axis];
    const auto found = canonical(tables_, operand, storage, at, row_.box(operand, sizes_),
                                 info(m.format).bits / 8);
    return found ? "" : found.error().message;
  }

  const Kernel& k_;
  const Op& op_;
  const Tables& tables_;
  const Row& row_;
  const Sizes& sizes_;
  std::vector<std::optional<DimId>> names_;  // by axis of the row
};

// Whether the tile is a repetition of one matrix: axis 0 of the piece numbers matrices, wherever
// they lie in the tile; the last is the axis of the tile that runs along a row in memory, the
// others are any other axes.
bool repeats(const NamedPlacement& tile, const Placement& piece, size_t axes,
             const std::function<bool(DimId)>& along) {
  if (tile.axes.size() + 1 < axes) return false;
  std::vector<size_t> order(tile.axes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    if (!along(tile.axes[order[axes - 2]])) continue;
    AxisMap map;
    map.base.assign(tile.axes.size(), 0);
    map.rows.resize(tile.axes.size());
    for (uint32_t a = 1; a < axes; ++a) map.rows[order[a - 1]].push_back({a, 1});
    if (divide(tile.placement, compose(map, piece))) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

// Whether neighbours along the axis lie side by side in the memory.
bool runs_along(const Kernel& kernel, const Ref& ref, DimId axis) {
  const Memory& m = kernel[ref.memory];
  return std::any_of(m.layout.digits.begin(), m.layout.digits.end(), [&](const StorageDigit& d) {
    return d.bytes == info(m.format).bits / 8 && d.of.stride == 1 &&
           ref.at[d.of.axis].coefficient(axis) == Poly(1);
  });
}

// A move between registers and memory whose threads hold the elements of several small matrices:
// the tile consists of such matrices, as many as the row moves or a multiple.
std::string move_fault(const Kernel& kernel, const Op& op, const Tables::Found& found) {
  const bool stores = op.kind == OpKind::store;
  const Row& row = *found.row;
  if (row.computes.kind != Computes::Kind::move) return "the row moves nothing";
  const uint32_t number = stores ? row.computes.arguments[0] : *row.computes.result;
  const Operand& operand = row.operands[number];
  if (operand.axes.size() < 3) return {};
  const NamedPlacement& tile = kernel[kernel[stores ? op.args[0] : op.results[0]].type.placement];
  Sizes one = found.sizes;
  one[operand.axes[0]] = 1;
  const auto all = row.holds(operand, found.sizes), piece = row.holds(operand, one);
  if (!all || !piece) return (all ? piece : all).error().message;
  const auto held = [](const Placement& p) { return p.count(Level::reg) * p.count(Level::elem); };
  const auto along = [&](DimId d) { return runs_along(kernel, op.refs[0], d); };
  if (held(tile.placement) % held(*all) != 0 || !repeats(tile, *piece, operand.axes.size(), along))
    return fmt::format("`{}` is not held as operand {} of the row", tile.name, operand.name);
  return {};
}

// What goes past the caches is whole vectors, in an argument that the kernel does not read.
std::string stream_fault(const Kernel& kernel, const Op& op, const Tables::Found& found) {
  const NamedPlacement& at = kernel[kernel[op.args[0]].type.placement];
  const int64_t elements = at.placement.count(Level::elem);
  const Ref& to = op.refs[0];
  if (!op.valid.empty() || !found.row->axes[0].sizes.allows(elements))
    return "what goes past the caches is whole vectors of the row";
  if (to.what != Ref::What::memory || kernel[to.memory].role == Memory::Role::local)
    return "only arguments are stored past the caches";
  for (const Op& other : kernel.ops)
    for (size_t k = 0; k < other.refs.size(); ++k)
      if (other.refs[k].memory == to.memory && other.kind != OpKind::store)
        return "the kernel reads what it stores past the caches";
  return {};
}

}  // namespace

bool streams(const Op& op) {
  const auto& tables = shipped_tables();
  if (op.kind != OpKind::store || op.row.empty() || !tables) return false;
  const auto found = tables->find(op.row);
  return found && found->row->computes.result &&
         found->row->operands[*found->row->computes.result].streams;
}

std::string row_fault(const Kernel& kernel, const Op& op) {
  if (op.row.empty()) return {};
  const auto& tables = shipped_tables();
  if (!tables) return tables.error().message;
  const auto found = tables->find(op.row);
  if (!found) return found.error().message;
  if (streams(op)) return stream_fault(kernel, op, *found);
  if (op.kind == OpKind::store || op.kind == OpKind::load) return move_fault(kernel, op, *found);
  if (op.kind != OpKind::contract || op.refs.size() != 2 || op.results.empty()) return {};
  return Contraction(kernel, op, *tables, *found).fault();
}

}  // namespace tang::tile
