// GLSL to SPIR-V in process, with glslang.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace tang {

// Whether the program was built with glslang.
bool has_glslang();

// SPIR-V 1.5 of a compute shader for Vulkan 1.2. E0999 with glslang's log and `kernel` where it is
// refused; E0911 (exit 3) without glslang.
Result<std::vector<uint32_t>> spirv_of_glsl(const std::string& source, const std::string& kernel);

// As many bindings as a module's storage buffers need: the highest number of one, plus 1.
uint32_t binding_count(const std::vector<uint32_t>& spirv);

}  // namespace tang
