// Where the boxes of a graph stand: layers from top to bottom, every edge downwards.
//
// The method is Sugiyama's (Sugiyama, Tagawa, Toda 1981). Layers are longest paths, with what only
// feeds later boxes moved down to them. An edge over several layers takes a way-point in each
// between; all edges out of a box share one, so a tensor read in many places is one trunk. Way-
// points and boxes of a layer are ordered by the mean places of their neighbours, sweeping down and
// up, and the order with the fewest crossings is kept. Across, each wants to stand below (above)
// the mean of its neighbours; the places nearest to that with room between boxes are an isotonic
// regression, found by pooling. So boxes never overlap and no edge runs through a box.
//
// The same graph gives the same picture: ties go to the lower number, nothing is random.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace tang::cli {

struct Point {
  double x = 0, y = 0;
};

struct BoxSize {
  double width = 0, height = 0;
};

struct LayoutSpace {
  double across = 22;   // between neighbours
  double down = 34;     // between layers, for the edges to turn in
  double waypoint = 6;  // width of the way-point of a long edge
  double margin = 8;
};

struct Layout {
  double width = 0, height = 0;
  std::vector<size_t> layers;  // of each box, from 0
  std::vector<Point> corners;  // top left of each box
  // Of each edge: an even number of points, from the bottom of the box it leaves to the top of the
  // one it enters. Points 2k and 2k + 1 are joined by a vertical line, 2k + 1 and 2k + 2 by a curve
  // between two layers.
  std::vector<std::vector<Point>> routes;
};

// Edges go from a box to one with a higher number; no edge occurs twice.
Layout layered(const std::vector<BoxSize>& boxes,
               const std::vector<std::pair<size_t, size_t>>& edges, const LayoutSpace& space = {});

}  // namespace tang::cli
