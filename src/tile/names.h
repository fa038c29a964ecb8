// Names of the enumerations in the text, and small questions about kernels.
#pragma once

#include "tile/program.h"

namespace tang::tile {

std::string_view name(Life l);
std::string_view name(Memory::Role r);
std::string_view name(TensorMap::Use u);
std::string_view name(Signal::By b);
std::optional<Life> parse_life(std::string_view name);
std::optional<Memory::Role> parse_memory_role(std::string_view name);
std::optional<TensorMap::Use> parse_use(std::string_view name);
std::optional<Signal::By> parse_by(std::string_view name);

RoleSet every_role(const Kernel& k);
// Finds or makes sum, prod, max or min; none for another name.
MonoidId builtin_monoid(Kernel& k, std::string_view name);

}  // namespace tang::tile
