// Tile programs of a variant's kernels on the virtual machine of tile programs.
#pragma once

#include <span>

#include "verify/variant.h"

namespace tang {

// Runs the tile program of kernel `k`, which has one, on the memory of the loop program's buffers,
// by BufferId. Errors: E0421 with what is wrong with it; those of arrays.
Result<void> run_tile(const Variant& v, size_t k, std::span<void* const> buffers);

// Likewise of prepare `k`.
Result<void> run_prepare_tile(const Variant& v, size_t k, std::span<void* const> buffers);

// How many terms kernel `k` computes, definitions recomputed inside included: what a run costs.
double tile_work(const Variant& v, size_t k);

}  // namespace tang
