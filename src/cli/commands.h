// The commands of `tang` (language.md section 2), one function each. They write to Session::out and
// set Session::exit; what goes wrong comes back as diagnostics.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/session.h"

namespace tang::cli {

Outcome<void> derive_command(Session& s);
Outcome<void> run_command(Session& s);
Outcome<void> check_command(Session& s);
Outcome<void> emit_command(Session& s);
Outcome<void> bench_command(Session& s);
Outcome<void> report_command(Session& s);
Outcome<void> generate_command(Session& s);
Outcome<void> reduce_command(Session& s);
Outcome<void> rules_command(Session& s);
Outcome<void> devices_command(Session& s);
Outcome<void> cache_command(Session& s);
Outcome<void> help_command(Session& s);

// Extents as numbers where the params are bound, otherwise as text.
nlohmann::json shape_json(const Graph& g, const std::vector<Poly>& shape);
nlohmann::json poly_json(const Graph& g, const Poly& p);
// Workspace buffers of a program, from its launch record.
nlohmann::json allocations_json(const Variant& v);

// Bytes of a buffer; of block formats what an element takes on average, rounded up.
Poly buffer_bytes(const loop::Buffer& b);
// Bytes a program's kernels write: outputs and workspace.
Poly bytes_written(const LoopProgram& program);
// Bytes of the buffers a kernel touches, and the scalar operations of its loops, at bound sizes.
int64_t kernel_bytes(const Variant& v, size_t kernel);
double kernel_flops(const Variant& v, size_t kernel);

// All of main(): the exit code.
int run_program(const std::vector<std::string>& arguments);

}  // namespace tang::cli
