#include "tile/names.h"

#include <array>
#include <limits>

namespace tang::tile {

namespace {

constexpr std::array<std::string_view, 4> lives = {"op", "kernel", "call", "program"};
constexpr std::array<std::string_view, 4> roles = {"arg", "out", "work", "memory"};
constexpr std::array<std::string_view, 3> uses = {"load", "store", "add"};
constexpr std::array<std::string_view, 4> signals = {"transaction", "arrival", "named",
                                                     "bulk_read"};

template <class E, size_t N>
std::optional<E> find(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t k = 0; k < N; ++k)
    if (names[k] == name) return static_cast<E>(k);
  return std::nullopt;
}

}  // namespace

std::string_view name(Life l) { return lives[static_cast<size_t>(l)]; }
std::string_view name(Memory::Role r) { return roles[static_cast<size_t>(r)]; }
std::string_view name(TensorMap::Use u) { return uses[static_cast<size_t>(u)]; }
std::string_view name(Signal::By b) { return signals[static_cast<size_t>(b)]; }
std::optional<Life> parse_life(std::string_view name) { return find<Life>(lives, name); }
std::optional<Memory::Role> parse_memory_role(std::string_view name) {
  return find<Memory::Role>(roles, name);
}
std::optional<TensorMap::Use> parse_use(std::string_view name) {
  return find<TensorMap::Use>(uses, name);
}
std::optional<Signal::By> parse_by(std::string_view name) {
  return find<Signal::By>(signals, name);
}

RoleSet every_role(const Kernel& k) {
  return k.roles.size() >= 64 ? ~RoleSet{0} : (RoleSet{1} << k.roles.size()) - 1;
}

MonoidId builtin_monoid(Kernel& k, std::string_view name) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  struct Builtin {
    std::string_view name;
    tang::Op op;
    double identity;
  };
  static constexpr Builtin all[] = {{"sum", tang::Op::add, 0},
                                    {"prod", tang::Op::mul, 1},
                                    {"max", tang::Op::max, -infinity},
                                    {"min", tang::Op::min, infinity}};
  for (size_t m = 0; m < k.monoids.size(); ++m)
    if (k.monoids[m].name == name) return static_cast<MonoidId>(m);
  for (const Builtin& b : all) {
    if (b.name != name) continue;
    const ExprId left = k.pool.var(0, Kind::real), right = k.pool.var(1, Kind::real);
    k.monoids.push_back(
        {std::string(name), true, {""}, {}, {b.identity}, {k.pool.make(b.op, left, right)}, true});
    return static_cast<MonoidId>(k.monoids.size() - 1);
  }
  return MonoidId::none;
}

}  // namespace tang::tile
