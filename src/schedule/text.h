// Schedules as text: a kernel's plan as JSON, with names for ids, and fields read back from it.
//
//   {"blocks": [{"dim": "h", "step": 1}, {"dim": "i", "step": 64}, {"dim": "j", "step": 128}],
//    "stages": [{"tensor": "k", "level": 2, "axes": ["h", "j", "d"],
//                "panel": {"axis": "j", "width": 8}}, …],
//    "pivot": true, "contract": true, "inlined": ["s_1"], "machine": "cpu.avx2", "rows": {},
//    "threads": 2}
//
// A kernel without a pivot has `points`, `reduce` and `tile` too. docs/design.md says what each
// field means and which law licenses it. What is written pins all of a plan: read back, it gives
// the same plan.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "schedule/schedule.h"

namespace tang {

nlohmann::json to_json(const Graph& g, const KernelPlan& plan);

// {"KERNEL": {"FIELD": …}}. Errors: E0805 with the place of a field that there is none of, or that
// has a value of another type.
Result<Pins> read_pins(const nlohmann::json& kernels, const std::string& source);

// The name of a tensor's axis, by which files know it: the coordinate's or input's, where all axes
// have different ones that are words; its number otherwise.
std::string axis_name(const Graph& g, TensorId t, size_t axis);

}  // namespace tang
