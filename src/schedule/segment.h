// Segments: a term guard on a tensor that is promised non-decreasing holds for one run of terms.
//
//   sorted seg        y[g, c] = sum[n | seg[n] == g](x[n, c])
//
// The run is found by binary search, so a sum over segments costs its terms and not the product of
// both extents.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace tang {

struct Segment {
  LeafId key = 0;      // the read seg[…, d]
  bool first = false;  // the run starts at the first key >= `least`
  bool last = false;   // the run ends before the first key >= `past`
  Form least, past;    // free of the loop's coordinate
};

// What the guard says of the loop over `d`, if it bounds a sorted key at exactly `d`.
std::optional<Segment> segment_of(const Graph& g, const Guard& guard, DimId d);

}  // namespace tang
