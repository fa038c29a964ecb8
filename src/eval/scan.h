// Scans in the oracle: which lanes and points an evaluation covers, and the evaluation itself.
//
// A scan's lanes are its points without the coordinate it runs along. A wanted point needs its
// whole lane; a matrix scan mixes rows, so it is always computed in full.
#pragma once

#include <atomic>
#include <functional>

#include "eval/machine.h"

namespace tang::oracle {

// Takes blocks from the counter until none is left; one call a thread.
using Work = std::function<void(std::atomic<int64_t>& next)>;
// Runs the work on some threads.
using Share = std::function<void(int64_t blocks, const Work& work)>;

// The lanes that hold some of the points, and all points of some lanes. Both are finished.
PointSet scanned_lanes(const Program& p, const PointSet& points);
PointSet scanned_points(const Program& p, const PointSet& lanes);

// Fills `results`, one each of p.results, over all points or over those given: whole lanes.
void compute_scan(const Program& p, const std::vector<Source>& sources, const PointSet* points,
                  std::vector<Values>& results, const Share& share);

}  // namespace tang::oracle
