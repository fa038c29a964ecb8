#include "tile/program.h"

#include <array>

namespace tang::tile {

namespace {

constexpr OpInfo infos[] = {
#define TANG_TILE_OP(name, group) {#name, OpGroup::group},
#include "tile/ops.def"
};

}  // namespace

const OpInfo& info(OpKind kind) { return infos[static_cast<size_t>(kind)]; }

std::optional<OpKind> parse_op(std::string_view name) {
  for (size_t k = 0; k < std::size(infos); ++k)
    if (infos[k].name == name) return static_cast<OpKind>(k);
  return std::nullopt;
}

}  // namespace tang::tile
