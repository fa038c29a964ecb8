// Walking the reduce coordinates of a fold in row-major order, restricted by affine guards.
#pragma once

#include "eval/program.h"

namespace tang::oracle {

// One walk over a box for a set of lanes. `low` and `high` bound the part of each restriction that
// does not depend on reduce coordinates, over the lanes of the walk. With one lane every visited
// tuple satisfies every restriction and no tuple that does is skipped; with several, tuples that
// some lane needs are visited and the caller masks.
class Walk {
 public:
  void start(const Program& p, bool restricted);
  std::vector<int64_t> low, high;  // one each restriction, set between start and first

  // Moves to the first or next tuple; false at the end.
  bool first();
  bool next();
  const std::vector<int64_t>& at() const { return at_; }
  // The shallowest coordinate that the last move changed.
  int changed() const { return changed_; }
  // Values of coordinate d that the restrictions allow when coordinates before `known` stand and
  // the others are free: [first, last).
  std::pair<int64_t, int64_t> interval(int d, int known) const;

 private:
  bool points_hold() const;
  bool settle(int d, bool enter);

  const Program* p_ = nullptr;
  bool restricted_ = true;
  std::vector<int64_t> at_, end_;
  int changed_ = 0;
};

}  // namespace tang::oracle
