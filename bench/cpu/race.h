// Races: contenders take turns in rounds, so that whatever else the machine does meets all of them.
#pragma once

#include "cpu/contender.h"

namespace tang::bench_cpu {

struct RaceOptions {
  int rounds = 9;
  double round_ms = 20;      // a contender's share of a round lasts at least this long
  double limit_s = 30;       // for one race; slow contenders get fewer rounds, three at least
  int64_t sample_calls = 0;  // > 0: single calls are timed, this many in all
  double pause_ms = 0;       // before each turn: threads that spin for work go to sleep
  ClockKind clock = ClockKind::wall;
};

struct Timing {
  double median_ms = 0, min_ms = 0;  // of a call
  double spread = 0;                 // half the distance of the quartiles, by the median
  double p999_ms = 0;                // of single calls; otherwise 0
  int rounds = 0;
  int64_t calls = 0;  // a round
};

// The timings of all, in order. A contender that fails ends the race with its error.
Outcome<std::vector<Timing>> race(const std::vector<Contender*>& contenders,
                                  const RaceOptions& options);

// The value that a share q of all values does not exceed.
double quantile(std::vector<double> values, double q);

}  // namespace tang::bench_cpu
