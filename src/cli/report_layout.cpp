#include "cli/report_layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace tang::cli {

namespace {

constexpr int order_sweeps = 12;
constexpr double order_work = 3e8;  // pairs of edges compared in all sweeps together
constexpr int rough_sweeps = 8, place_sweeps = 40;

// A box or a way-point.
struct Cell {
  size_t layer = 0;
  double width = 0;
  bool waypoint = false;
  std::vector<size_t> up, down;  // neighbours in the layers above and below
  double place = 0;              // in the order of its layer
  double x = 0;                  // centre
};

// How much an edge pulls: long ones are to be straight, and a box that only feeds one other follows
// it wherever it goes.
double pull(const Cell& upper, const Cell& lower) {
  if (upper.waypoint && lower.waypoint) return 8;
  return upper.up.empty() && upper.down.size() == 1 ? 0.1 : 1;
}

constexpr double centre_pull = 0.02;  // of the middle of the picture

class Layers {
 public:
  Layers(const std::vector<BoxSize>& boxes, const std::vector<std::pair<size_t, size_t>>& edges,
         const LayoutSpace& space)
      : boxes_(boxes), edges_(edges), space_(space) {
    rank();
    make_cells();
    order();
    place();
  }

  Layout result() const;

 private:
  void rank();
  void make_cells();
  size_t waypoint(size_t box, size_t layer);
  void order();
  void sort_layer(std::vector<size_t>& row, std::vector<size_t> Cell::*neighbours);
  void number(const std::vector<size_t>& row);
  size_t crossings() const;
  int sweeps() const;
  void place();
  void fit_layer(const std::vector<size_t>& row, bool from_above, bool from_below);
  double room(size_t a, size_t b) const {
    return (cells_[a].width + cells_[b].width) / 2 + space_.across;
  }
  std::vector<double> ports() const;

  const std::vector<BoxSize>& boxes_;
  const std::vector<std::pair<size_t, size_t>>& edges_;
  const LayoutSpace& space_;
  std::vector<size_t> layer_;                              // of each box
  std::vector<Cell> cells_;                                // boxes first
  std::map<std::pair<size_t, size_t>, size_t> waypoints_;  // of a box, in a layer
  std::vector<std::vector<size_t>> chains_;                // cells of each edge, both ends included
  std::vector<std::vector<size_t>> rows_;                  // cells of each layer, left to right
};

// Longest paths from above; then, from below, a box moves down to its readers when that makes no
// edges longer than it makes shorter. Edges from boxes that read nothing do not count: those
// follow.
void Layers::rank() {
  const size_t n = boxes_.size();
  layer_.assign(n, 0);
  std::vector<std::vector<size_t>> in(n), out(n);
  for (const auto& [from, to] : edges_) {
    in[to].push_back(from);
    out[from].push_back(to);
  }
  for (size_t to = 0; to < n; ++to)
    for (size_t from : in[to]) layer_[to] = std::max(layer_[to], layer_[from] + 1);
  for (size_t from = n; from-- > 0;) {
    const auto held = std::count_if(in[from].begin(), in[from].end(),
                                    [&](size_t above) { return !in[above].empty(); });
    if (out[from].empty() || static_cast<size_t>(held) > out[from].size()) continue;
    size_t nearest = layer_[out[from][0]];
    for (size_t to : out[from]) nearest = std::min(nearest, layer_[to]);
    layer_[from] = nearest - 1;
  }
}

size_t Layers::waypoint(size_t box, size_t layer) {
  const auto [it, fresh] = waypoints_.emplace(std::pair(box, layer), cells_.size());
  if (fresh) cells_.push_back({.layer = layer, .width = space_.waypoint, .waypoint = true});
  return it->second;
}

void Layers::make_cells() {
  for (size_t k = 0; k < boxes_.size(); ++k)
    cells_.push_back({.layer = layer_[k], .width = boxes_[k].width});
  for (const auto& [from, to] : edges_) {
    std::vector<size_t> chain = {from};
    for (size_t layer = layer_[from] + 1; layer < layer_[to]; ++layer)
      chain.push_back(waypoint(from, layer));
    chain.push_back(to);
    for (size_t k = 0; k + 1 < chain.size(); ++k) {
      std::vector<size_t>& down = cells_[chain[k]].down;
      if (std::find(down.begin(), down.end(), chain[k + 1]) != down.end()) continue;
      down.push_back(chain[k + 1]);
      cells_[chain[k + 1]].up.push_back(chain[k]);
    }
    chains_.push_back(std::move(chain));
  }
  size_t count = 0;
  for (const Cell& c : cells_) count = std::max(count, c.layer + 1);
  rows_.resize(count);
  for (size_t k = 0; k < cells_.size(); ++k) rows_[cells_[k].layer].push_back(k);
}

void Layers::number(const std::vector<size_t>& row) {
  for (size_t k = 0; k < row.size(); ++k) cells_[row[k]].place = static_cast<double>(k);
}

void Layers::sort_layer(std::vector<size_t>& row, std::vector<size_t> Cell::*neighbours) {
  std::vector<std::pair<double, size_t>> keys;
  for (size_t c : row) {
    const std::vector<size_t>& near = cells_[c].*neighbours;
    double sum = 0;
    for (size_t other : near) sum += cells_[other].place;
    keys.emplace_back(near.empty() ? cells_[c].place : sum / static_cast<double>(near.size()), c);
  }
  std::stable_sort(keys.begin(), keys.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t k = 0; k < row.size(); ++k) row[k] = keys[k].second;
  number(row);
}

// Pairs of edges between two layers whose ends are in opposite orders.
size_t Layers::crossings() const {
  size_t count = 0;
  for (const std::vector<size_t>& row : rows_) {
    std::vector<double> ends;  // of the edges down, left to right by where they leave
    for (size_t c : row) {
      std::vector<double> own;
      for (size_t d : cells_[c].down) own.push_back(cells_[d].place);
      std::sort(own.begin(), own.end());
      for (double end : own)
        count += static_cast<size_t>(
            std::count_if(ends.begin(), ends.end(), [&](double other) { return other > end; }));
      ends.insert(ends.end(), own.begin(), own.end());
    }
  }
  return count;
}

// Fewer in graphs with very many long edges.
int Layers::sweeps() const {
  double pairs = 1;
  for (const auto& row : rows_) {
    double edges = 0;
    for (size_t c : row) edges += static_cast<double>(cells_[c].down.size());
    pairs += edges * edges / 2;
  }
  return static_cast<int>(std::clamp(order_work / pairs, 1.0, double{order_sweeps}));
}

void Layers::order() {
  for (const auto& row : rows_) number(row);
  std::vector<std::vector<size_t>> best = rows_;
  size_t fewest = crossings();
  const int most = sweeps();
  for (int sweep = 0; sweep < most && fewest > 0; ++sweep) {
    if (sweep % 2 == 0)
      for (size_t k = 1; k < rows_.size(); ++k) sort_layer(rows_[k], &Cell::up);
    else
      for (size_t k = rows_.size(); k-- > 1;) sort_layer(rows_[k - 1], &Cell::down);
    const size_t now = crossings();
    if (now >= fewest) continue;
    fewest = now;
    best = rows_;
  }
  rows_ = std::move(best);
  for (const auto& row : rows_) number(row);
}

// Least squares under `x[k + 1] - x[k] >= room`: subtracting the room before each cell makes it a
// regression by a non-decreasing sequence, whose blocks are pooled from the left.
void Layers::fit_layer(const std::vector<size_t>& row, bool from_above, bool from_below) {
  struct Block {
    double weight, mean;
    size_t count;
  };
  std::vector<Block> blocks;
  std::vector<double> offsets;
  for (size_t k = 0; k < row.size(); ++k) {
    offsets.push_back(k == 0 ? 0 : offsets[k - 1] + room(row[k - 1], row[k]));
    const Cell& c = cells_[row[k]];
    double sum = 0, weight = centre_pull;
    const auto add = [&](double w, double x) {
      sum += w * x;
      weight += w;
    };
    if (from_above)
      for (size_t other : c.up) add(pull(cells_[other], c), cells_[other].x);
    if (from_below)
      for (size_t other : c.down) add(pull(c, cells_[other]), cells_[other].x);
    blocks.push_back({weight, sum / weight - offsets[k], 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
      const Block last = blocks.back();
      blocks.pop_back();
      Block& b = blocks.back();
      b.mean = (b.mean * b.weight + last.mean * last.weight) / (b.weight + last.weight);
      b.weight += last.weight;
      b.count += last.count;
    }
  }
  size_t k = 0;
  for (const Block& b : blocks)
    for (size_t end = k + b.count; k < end; ++k) cells_[row[k]].x = b.mean + offsets[k];
}

void Layers::place() {
  for (const auto& row : rows_) {
    double x = 0;
    for (size_t k = 0; k < row.size(); ++k)
      cells_[row[k]].x = x = k == 0 ? 0 : x + room(row[k - 1], row[k]);
    for (size_t c : row) cells_[c].x -= x / 2;
  }
  for (int sweep = 0; sweep < place_sweeps; ++sweep) {
    const bool both = sweep >= rough_sweeps;
    if (sweep % 2 == 0)
      for (size_t k = 0; k < rows_.size(); ++k) fit_layer(rows_[k], true, both);
    else
      for (size_t k = rows_.size(); k-- > 0;) fit_layer(rows_[k], both, true);
  }
  double left = HUGE_VAL;
  for (const Cell& c : cells_) left = std::min(left, c.x - c.width / 2);
  for (Cell& c : cells_) c.x = c.x - left + space_.margin;
}

// Where each edge enters its box, spread along the top in the order the edges arrive.
std::vector<double> Layers::ports() const {
  std::vector<std::vector<size_t>> entering(boxes_.size());
  for (size_t e = 0; e < edges_.size(); ++e) entering[edges_[e].second].push_back(e);
  std::vector<double> result(edges_.size());
  const auto source = [&](size_t e) { return cells_[chains_[e][chains_[e].size() - 2]].x; };
  for (size_t box = 0; box < boxes_.size(); ++box) {
    std::vector<size_t>& list = entering[box];
    std::stable_sort(list.begin(), list.end(),
                     [&](size_t a, size_t b) { return source(a) < source(b); });
    const double n = static_cast<double>(list.size());
    const double step = std::clamp((boxes_[box].width - 16) / std::max(n, 1.0), 0.0, 20.0);
    const bool above =
        list.size() == 1 && std::abs(source(list[0]) - cells_[box].x) < boxes_[box].width / 2 - 12;
    if (above) {
      result[list[0]] = source(list[0]);  // straight down
      continue;
    }
    for (size_t k = 0; k < list.size(); ++k)
      result[list[k]] = cells_[box].x + (static_cast<double>(k) - (n - 1) / 2) * step;
  }
  return result;
}

Layout Layers::result() const {
  Layout out;
  out.layers = layer_;
  std::vector<double> heights(rows_.size(), 0), tops(rows_.size(), 0);
  for (size_t k = 0; k < boxes_.size(); ++k)
    heights[layer_[k]] = std::max(heights[layer_[k]], boxes_[k].height);
  double y = space_.margin;
  for (size_t layer = 0; layer < rows_.size(); ++layer) {
    tops[layer] = y;
    y += heights[layer] + (layer + 1 < rows_.size() ? space_.down : 0);
  }
  out.height = y + space_.margin;
  const auto top = [&](size_t k) {  // boxes stand in the middle of their layer
    return tops[layer_[k]] + (heights[layer_[k]] - boxes_[k].height) / 2;
  };
  for (size_t k = 0; k < boxes_.size(); ++k)
    out.corners.push_back({cells_[k].x - boxes_[k].width / 2, top(k)});
  for (const Cell& c : cells_) out.width = std::max(out.width, c.x + c.width / 2 + space_.margin);
  const std::vector<double> entry = ports();
  for (size_t e = 0; e < edges_.size(); ++e) {
    const auto& [from, to] = edges_[e];
    std::vector<Point> route = {{cells_[from].x, top(from) + boxes_[from].height},
                                {cells_[from].x, tops[layer_[from]] + heights[layer_[from]]}};
    for (size_t k = 1; k + 1 < chains_[e].size(); ++k) {
      const Cell& c = cells_[chains_[e][k]];
      route.push_back({c.x, tops[c.layer]});
      route.push_back({c.x, tops[c.layer] + heights[c.layer]});
    }
    route.push_back({entry[e], tops[layer_[to]]});
    route.push_back({entry[e], top(to)});
    out.routes.push_back(std::move(route));
  }
  return out;
}

}  // namespace

Layout layered(const std::vector<BoxSize>& boxes,
               const std::vector<std::pair<size_t, size_t>>& edges, const LayoutSpace& space) {
  return Layers(boxes, edges, space).result();
}

}  // namespace tang::cli
