// Scans on the oracle's machine: one walk along the scan's coordinate that finishes the state at
// each step.
#include "eval/machine.h"

namespace tang::oracle {

namespace {

size_t at(int k) { return static_cast<size_t>(k); }

}  // namespace

void Machine::begin_scan(std::span<const int64_t> flats) {
  n_ = static_cast<int>(flats.size());
  for (int l = 0; l < n_; ++l) coordinates(flats[at(l)], l);
  begin_block();
  masked_ = false;
}

void Machine::run_scan(std::span<const int64_t> flats, const Stored& stored) {
  begin_scan(flats);
  for (size_t k = 0; k < p_.state.size(); ++k) {
    Cell* state = reg_[at(p_.state[k])];
    if (p_.start[k] >= 0)
      std::copy_n(reg_[at(p_.start[k])], n_, state);
    else
      std::fill_n(state, n_, p_.identity[k]);
  }
  const int64_t steps = p_.reduce_extent[0];
  for (int64_t step = 0; step < steps; ++step) {
    at_[0] = p_.scan->reverse ? steps - 1 - step : step;
    execute(p_.term, p_.level_begin[1], p_.term.size());
    if (p_.scan->exclusive) finish(), stored(at_[0]);
    execute(p_.step, 0, p_.step.size());
    commit();
    if (!p_.scan->exclusive) finish(), stored(at_[0]);
  }
}

void Machine::start_matrix(std::span<const int64_t> flats, std::vector<double>& now) {
  begin_scan(flats);
  for (size_t k = 0; k < p_.state.size(); ++k)
    if (p_.start[k] >= 0)
      for (int l = 0; l < n_; ++l)
        now[static_cast<size_t>(flats[at(l)])] = reg_[at(p_.start[k])][l].r;
}

void Machine::run_matrix_step(std::span<const int64_t> flats, int64_t along,
                              const std::vector<double>& now, std::vector<double>& next) {
  const ScanPlan& scan = *p_.scan;
  begin_scan(flats);
  int64_t stride = 1;  // of the row among lanes
  for (size_t k = scan.row + 1; k < p_.lane_extent.size(); ++k) stride *= p_.lane_extent[k];
  std::vector<double> sum(at(n_), 0.0);
  at_[0] = along;
  execute(p_.term, p_.level_begin[1], p_.level_begin[2]);
  for (int64_t y = 0; y < p_.reduce_extent[1]; ++y) {
    at_[1] = y;
    execute(p_.term, p_.level_begin[2], p_.term.size());
    const Cell* factor = reg_[at(scan.factor)];
    for (int l = 0; l < n_; ++l) {
      const int64_t other = flats[at(l)] + (y - coordinate(scan.row, l)) * stride;
      sum[at(l)] += factor[l].r * now[static_cast<size_t>(other)];
    }
  }
  const Cell* offset = reg_[at(scan.offset)];
  for (int l = 0; l < n_; ++l) next[static_cast<size_t>(flats[at(l)])] = sum[at(l)] + offset[l].r;
  const std::vector<double>& seen = scan.exclusive ? now : next;
  for (int l = 0; l < n_; ++l) reg_[at(scan.state)][l].r = seen[static_cast<size_t>(flats[at(l)])];
  execute(p_.finish, 0, p_.finish.size());
}

}  // namespace tang::oracle
