// Rates of the machine, measured in a case's own rounds.
#pragma once

#include "cpu/case.h"

namespace tang::bench_cpu {

// memcpy of `bytes`, in as many parts as there are threads.
std::unique_ptr<Contender> copier(int64_t bytes, int threads);
// A sum over `bytes` of floats: they stay in the first cache that holds them.
std::unique_ptr<Contender> reader(int64_t bytes);

// What `kind` asks for and how many bytes a call of it moves; null for none.
std::unique_ptr<Contender> yardstick(const Yardstick& y, int threads);
double moved_by(const Yardstick& y);

}  // namespace tang::bench_cpu
