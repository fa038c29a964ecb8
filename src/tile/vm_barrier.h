// Barriers of the virtual machine, as the hardware has them.
#pragma once

#include <set>

#include "tile/vm_memory.h"

namespace tang::tile {

// An mbarrier: a phase completes when no arrival is pending and the expected bytes have come. A
// wait for parity p passes once the phase of parity p has completed, and only one phase back can be
// told apart (hopper.md section 3).
class MBarrier {
 public:
  MBarrier(int64_t arrivals, size_t agents) : count_(arrivals), pending_(arrivals) {
    next_.assign(agents, 0), fenced_next_.assign(agents, 0);
    done_ = next_, fenced_done_ = fenced_next_;
  }

  void expect(int64_t bytes) { expected_ += bytes; }
  void arrive(const Clock& knows, const Clock& fenced) {
    --pending_;
    joined(knows, fenced);
  }
  void complete(int64_t bytes, const Clock& knows, const Clock& fenced) {
    expected_ -= bytes;
    joined(knows, fenced);
  }
  bool passed(int64_t parity) const { return phase_ % 2 != parity; }
  // What the phases completed so far make known.
  const Clock& knows() const { return done_; }
  const Clock& fenced() const { return fenced_done_; }
  // More arrivals in a phase than it counts.
  bool overrun() const { return overrun_; }

 private:
  void joined(const Clock& knows, const Clock& fenced) {
    join(next_, knows);
    join(fenced_next_, fenced);
    if (pending_ < 0) overrun_ = true;
    if (pending_ > 0 || expected_ != 0) return;
    ++phase_;
    pending_ = count_;
    join(done_, next_);
    join(fenced_done_, fenced_next_);
  }

  int64_t count_, pending_, expected_ = 0, phase_ = 0;
  bool overrun_ = false;
  Clock next_, fenced_next_, done_, fenced_done_;
};

// A named barrier: opens for everyone when `count` warps have arrived, then starts over.
class NamedBarrier {
 public:
  NamedBarrier(int64_t warps, size_t agents) : count_(warps) {
    next_.assign(agents, 0), fenced_next_.assign(agents, 0);
    done_ = next_, fenced_done_ = fenced_next_;
  }

  // The generation that the arrival of this warp belongs to; it is over when generation() is
  // greater.
  int64_t arrive(uint32_t warp, const Clock& knows, const Clock& fenced) {
    const int64_t mine = generation_;
    overrun_ |= !here_.insert(warp).second;
    join(next_, knows);
    join(fenced_next_, fenced);
    if (++arrived_ == count_) {
      arrived_ = 0;
      here_.clear();
      ++generation_;
      join(done_, next_);
      join(fenced_done_, fenced_next_);
    }
    return mine;
  }
  int64_t generation() const { return generation_; }
  // One warp arrived twice before all had.
  bool overrun() const { return overrun_; }
  const Clock& knows() const { return done_; }
  const Clock& fenced() const { return fenced_done_; }

 private:
  int64_t count_, arrived_ = 0, generation_ = 0;
  std::set<uint32_t> here_;
  bool overrun_ = false;
  Clock next_, fenced_next_, done_, fenced_done_;
};

}  // namespace tang::tile
