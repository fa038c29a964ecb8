// What a race gave, as one line of JSON and as a row of a table.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cpu/case.h"
#include "cpu/race.h"

namespace tang::bench_cpu {

struct Record {
  std::string suite, name;
  int threads = 1, tang_threads = 1;
  double error = 0, tol = 0;  // max |out - reference| / max |reference|; NaN never passes
  Timing tang;
  std::vector<std::pair<std::string, Timing>> peers;
  size_t judged = 0;  // the peer of the ratio
  std::optional<double> fraction, yardstick_gbs;
  std::optional<double> gate, fraction_gate;
  ClockKind clock = ClockKind::wall;
  double load = 0;      // the machine's, a minute's average
  std::string failure;  // empty: all of the above holds

  bool ok() const { return failure.empty() && error <= tol; }
  double ratio() const { return peers[judged].second.median_ms / tang.median_ms; }
  // Empty: nothing is asked.
  std::optional<bool> pass() const;
};

nlohmann::ordered_json to_json(const Record& r);

// Sorted by ratio, weak ones on top, failures before all.
std::string table_of(std::vector<Record> records);

std::string processor_name();
double load_average();

// The largest distance by the largest value; NaN if any value or the number of values is wrong.
double largest_error(const std::vector<float>& out, const std::vector<double>& reference);

}  // namespace tang::bench_cpu
