#include "cli/report_layout.h"

#include <cmath>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace tang::cli {
namespace {

using Edges = std::vector<std::pair<size_t, size_t>>;

struct Picture {
  std::vector<BoxSize> boxes;
  Edges edges;
};

Picture random_picture(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<size_t>(random() % n); };
  Picture p;
  const size_t n = 1 + below(40);
  for (size_t k = 0; k < n; ++k)
    p.boxes.push_back(
        {30.0 + static_cast<double>(below(150)), 20.0 + static_cast<double>(below(60))});
  std::set<std::pair<size_t, size_t>> edges;
  for (size_t k = 0; k < 2 * n; ++k) {
    const size_t a = below(static_cast<unsigned>(n)), b = below(static_cast<unsigned>(n));
    if (a != b) edges.emplace(std::min(a, b), std::max(a, b));
  }
  p.edges.assign(edges.begin(), edges.end());
  return p;
}

bool overlap(const Picture& p, const Layout& l, size_t a, size_t b) {
  const auto apart = [](double x, double w, double y, double v) {
    return x + w <= y + 1e-6 || y + v <= x + 1e-6;
  };
  return !apart(l.corners[a].x, p.boxes[a].width, l.corners[b].x, p.boxes[b].width) &&
         !apart(l.corners[a].y, p.boxes[a].height, l.corners[b].y, p.boxes[b].height);
}

// A vertical line from (x, top) to (x, bottom) goes through the inside of a box.
bool cuts(const Picture& p, const Layout& l, size_t box, double x, double top, double bottom) {
  const Point c = l.corners[box];
  return x > c.x + 1e-6 && x < c.x + p.boxes[box].width - 1e-6 && bottom > c.y + 1e-6 &&
         top < c.y + p.boxes[box].height - 1e-6;
}

void expect_sound(const Picture& p) {
  const Layout l = layered(p.boxes, p.edges);
  ASSERT_EQ(l.corners.size(), p.boxes.size());
  ASSERT_EQ(l.routes.size(), p.edges.size());
  for (size_t a = 0; a < p.boxes.size(); ++a) {
    EXPECT_GE(l.corners[a].x, 0);
    EXPECT_LE(l.corners[a].x + p.boxes[a].width, l.width);
    EXPECT_LE(l.corners[a].y + p.boxes[a].height, l.height);
    for (size_t b = 0; b < a; ++b) EXPECT_FALSE(overlap(p, l, a, b)) << a << " and " << b;
  }
  for (size_t e = 0; e < p.edges.size(); ++e) {
    const auto& [from, to] = p.edges[e];
    const std::vector<Point>& route = l.routes[e];
    EXPECT_LT(l.layers[from], l.layers[to]);
    ASSERT_EQ(route.size() % 2, 0u);
    EXPECT_DOUBLE_EQ(route.front().y, l.corners[from].y + p.boxes[from].height);
    EXPECT_DOUBLE_EQ(route.back().y, l.corners[to].y);
    for (const auto& [point, box] : {std::pair(route.front(), from), {route.back(), to}}) {
      EXPECT_GE(point.x, l.corners[box].x);
      EXPECT_LE(point.x, l.corners[box].x + p.boxes[box].width);
    }
    for (size_t k = 0; k + 1 < route.size(); ++k) {
      EXPECT_LE(route[k].y, route[k + 1].y);
      if (k % 2 == 1) continue;
      EXPECT_EQ(route[k].x, route[k + 1].x);
      for (size_t box = 0; box < p.boxes.size(); ++box)
        EXPECT_FALSE(cuts(p, l, box, route[k].x, route[k].y, route[k + 1].y));
    }
  }
}

TEST(ReportLayout, NoOverlapsAndEdgesForward) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    expect_sound(random_picture(seed));
  }
}

TEST(ReportLayout, SmallestPictures) {
  const Layout none = layered({}, {});
  EXPECT_TRUE(none.corners.empty());
  expect_sound({{{40, 20}}, {}});
  expect_sound({{{40, 20}, {40, 20}}, {}});
  expect_sound({{{40, 20}, {40, 20}}, {{0, 1}}});
}

TEST(ReportLayout, TheSameTwice) {
  const Picture p = random_picture(7);
  const Layout a = layered(p.boxes, p.edges), b = layered(p.boxes, p.edges);
  for (size_t k = 0; k < p.boxes.size(); ++k) {
    EXPECT_EQ(a.corners[k].x, b.corners[k].x);
    EXPECT_EQ(a.corners[k].y, b.corners[k].y);
  }
}

TEST(ReportLayout, UncrossesWhatCanBe) {
  const Layout l = layered(std::vector<BoxSize>(4, {40, 20}), {{0, 3}, {1, 2}});
  EXPECT_EQ(l.corners[0].x < l.corners[1].x, l.corners[3].x < l.corners[2].x);
}

TEST(ReportLayout, AChainIsStraight) {
  const Layout l = layered({{40, 20}, {90, 30}, {60, 20}}, {{0, 1}, {1, 2}});
  for (const auto& route : l.routes) EXPECT_EQ(route.front().x, route.back().x);
}

TEST(ReportLayout, AnInputStandsRightAboveItsReader) {
  // 0 -> 1 -> 2 -> 3, and 4 is read by 5 only, which reads 3.
  const Layout l =
      layered(std::vector<BoxSize>(6, {40, 20}), {{0, 1}, {1, 2}, {2, 3}, {3, 5}, {4, 5}});
  EXPECT_EQ(l.layers[4], l.layers[3]);
}

TEST(ReportLayout, DeepGraphs) {
  Picture p;
  for (size_t k = 0; k < 400; ++k) {
    p.boxes.push_back({60, 20});
    if (k > 0) p.edges.emplace_back(k - 1, k);
    if (k > 1 && k % 7 == 0) p.edges.emplace_back(0, k);
  }
  expect_sound(p);
}

}  // namespace
}  // namespace tang::cli
