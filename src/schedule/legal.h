// Which schedules are legal (algebra.md section 9): every field of a plan is licensed by a law, and
// what no law licenses, or what kernels have no form for, is refused before anything is lowered.
#pragma once

#include "schedule/schedule.h"

namespace tang {

// Why a plan is refused: `field` with a value, the rule that it breaks, and the law behind the rule
// as docs/laws.md names it ("" where the rule is one of form).
struct Refusal {
  std::string field, value, rule, law, hint;
};

// nullopt: all laws hold. `around`: the plan of the kernel that computes this one a row at a time.
std::optional<Refusal> refusal(Graph& g, const KernelPlan& k, const KernelPlan* around = nullptr);

// "s.json: kernel `o`: `blocks` j 0: a step is 1 or more (law …)", as E0805.
Diagnostic refused(const std::string& source, const std::string& kernel, const Refusal& r);

}  // namespace tang
