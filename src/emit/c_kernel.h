// One kernel as a static C function.
#pragma once

#include <functional>
#include <string>

#include "emit/c_vector.h"
#include "emit/namer.h"
#include "emit/writer.h"
#include "loop/program.h"

namespace tang {

// Writes `static void NAME(…)`. Parameters: the buffers it touches in
// the order of loop/same.h, then its symbols, then, of a parallel kernel, which of how many parts
// to run. It calls functions of `vectors`.
void write_kernel(Writer& out, const loop::Program& program, const loop::Kernel& kernel,
                  const std::string& name, const Namer& scope, CVector& vectors);

// A call of it, or of an equal kernel's function, with a pointer expression per buffer and an
// integer expression per symbol. `part`: its last two arguments if it is parallel.
std::string kernel_call(const loop::Program& program, const loop::Kernel& kernel,
                        const std::string& name,
                        const std::function<std::string(loop::BufferId)>& pointer,
                        const std::function<std::string(ParamId)>& symbol, const std::string& part);

}  // namespace tang
