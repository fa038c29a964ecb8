#include "eval/scan.h"

#include <algorithm>

namespace tang::oracle {

namespace {

int64_t lane_count(const Program& p) { return element_count(p.lane_extent).value_or(0); }

// The point of a lane where the scan's coordinate is 0.
int64_t first_point(const Program& p, int64_t lane) {
  int64_t flat = 0;
  for (size_t k = p.lane_extent.size(); k-- > 0;) {
    const int64_t n = std::max<int64_t>(1, p.lane_extent[k]);
    flat += lane % n * p.scan->strides[k];
    lane /= n;
  }
  return flat;
}

class ScanRun {
 public:
  ScanRun(const Program& program, const std::vector<Source>& sources, const PointSet* points,
          std::vector<Values>& results)
      : p(program), sources_(sources), points_(points), results_(results) {
    if (points)
      lanes_ = scanned_lanes(program, *points).members();
    else
      for (int64_t k = 0; k < lane_count(program); ++k) lanes_.push_back(k);
  }

  int64_t blocks() const {
    return (static_cast<int64_t>(lanes_.size()) + block_lanes - 1) / block_lanes;
  }

  void plain(std::atomic<int64_t>& next) const {
    Machine m(p, sources_, false);
    for (int64_t b = next++; b < blocks(); b = next++) {
      const auto flats = block(b);
      m.run_scan(flats, [&](int64_t along) { store(m, flats, along); });
    }
  }

  void matrix() const {
    Machine m(p, sources_, false);
    std::vector<double> now(static_cast<size_t>(lane_count(p)), 0.0), next = now;
    for (int64_t b = 0; b < blocks(); ++b) m.start_matrix(block(b), now);
    const int64_t steps = p.reduce_extent[0];
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t along = p.scan->reverse ? steps - 1 - step : step;
      for (int64_t b = 0; b < blocks(); ++b) {
        m.run_matrix_step(block(b), along, now, next);
        store(m, block(b), along);
      }
      std::swap(now, next);
    }
  }

 private:
  std::span<const int64_t> block(int64_t b) const {
    const auto first = static_cast<size_t>(b * block_lanes);
    return std::span(lanes_).subspan(first, std::min<size_t>(block_lanes, lanes_.size() - first));
  }

  void store(const Machine& m, std::span<const int64_t> flats, int64_t along) const {
    for (size_t r = 0; r < results_.size(); ++r) {
      const Cell* column = m.column(p.results[r].second);
      for (size_t l = 0; l < flats.size(); ++l) {
        const int64_t flat = first_point(p, flats[l]) + along * p.scan->stride;
        results_[r].data()[points_ ? points_->rank(flat) : flat] = column[l];
      }
    }
  }

  const Program& p;
  const std::vector<Source>& sources_;
  const PointSet* points_;
  std::vector<Values>& results_;
  std::vector<int64_t> lanes_;
};

}  // namespace

PointSet scanned_lanes(const Program& p, const PointSet& points) {
  PointSet lanes(lane_count(p));
  const std::vector<int64_t> members = points.members();
  if (p.scan->matrix && !members.empty()) lanes.add_all();
  if (!p.scan->matrix)
    for (int64_t flat : members) {
      int64_t lane = 0;
      for (size_t k = 0; k < p.lane_extent.size(); ++k) {
        const int64_t n = std::max<int64_t>(1, p.lane_extent[k]);
        lane = lane * n + flat / p.scan->strides[k] % n;
      }
      lanes.add(lane);
    }
  lanes.finish();
  return lanes;
}

PointSet scanned_points(const Program& p, const PointSet& lanes) {
  PointSet points(lane_count(p) * p.reduce_extent[0]);
  for (int64_t lane : lanes.members())
    for (int64_t along = 0; along < p.reduce_extent[0]; ++along)
      points.add(first_point(p, lane) + along * p.scan->stride);
  points.finish();
  return points;
}

void compute_scan(const Program& p, const std::vector<Source>& sources, const PointSet* points,
                  std::vector<Values>& results, const Share& share) {
  const ScanRun run(p, sources, points, results);
  if (p.reduce_extent[0] == 0 || run.blocks() == 0) return;
  if (p.scan->matrix)
    run.matrix();
  else
    share(run.blocks(), [&](std::atomic<int64_t>& next) { run.plain(next); });
}

}  // namespace tang::oracle
