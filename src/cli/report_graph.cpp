// The picture of a program: kernels as boxes, inputs above them, outputs below.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cli/report.h"
#include "cli/report_layout.h"
#include "cli/report_text.h"
#include "cli/text.h"
#include "ir/print.h"

namespace tang::cli {

namespace {

constexpr size_t most_boxes = 1500;      // in one picture
constexpr size_t most_points = 200'000;  // of all edges together
constexpr size_t most_inputs = 6;        // listed in one box
constexpr size_t most_columns = 30;      // of a line
constexpr double column = 7.3;        // of a character of 12 px, in any common font of fixed width
constexpr double least_scale = 0.75;  // of a picture wider than its place
constexpr double line_height = 17, padding = 10;

struct Line {
  std::string text;
  const char* kind;  // name, type, note, inlined
};

struct Box {
  const char* kind;  // input, kernel, output
  std::vector<Line> lines;
  std::string hint;    // shapes and formulas
  std::string target;  // of a link

  BoxSize size() const {
    size_t columns = 6;
    for (const Line& l : lines) columns = std::max(columns, width(l.text));
    return {static_cast<double>(columns) * column + 2 * padding,
            static_cast<double>(lines.size()) * line_height + 1.2 * padding};
  }
};

using Edges = std::map<std::pair<size_t, size_t>, std::string>;  // what flows, for people

class Picture {
 public:
  Picture(const Graph& text, const Variant& v, bool links)
      : text_(text), v_(v), g_(v.graph), links_(links) {
    for (size_t k = 0; k < v.schedule.kernels.size(); ++k)
      for (const Target& t : g_[v.schedule.kernels[k].node].targets) maker_[t.tensor] = k;
    add_inputs();
    first_kernel_ = boxes.size();
    for (const KernelPlan& k : v.schedule.kernels) boxes.push_back(kernel_box(k));
    for (size_t k = 0; k < v.schedule.kernels.size(); ++k)
      for (TensorId t : reads(v.schedule.kernels[k])) connect(t, first_kernel_ + k);
    for (const Output& o : g_.outputs) add_output(o);
  }

  std::vector<Box> boxes;
  Edges edges;

 private:
  void add_inputs();
  void add_output(const Output& o);
  void connect(TensorId t, size_t to);
  std::set<TensorId> reads(const KernelPlan& k) const;
  Box kernel_box(const KernelPlan& k) const;

  const Graph& text_;  // before the softmax reading, as people read it
  const Variant& v_;
  const Graph& g_;
  const bool links_;
  size_t first_kernel_ = 0;
  std::map<TensorId, size_t> maker_;      // kernels
  std::map<TensorId, size_t> input_box_;  // boxes
};

// What a kernel reads from memory: not what it recomputes itself.
std::set<TensorId> Picture::reads(const KernelPlan& k) const {
  std::set<TensorId> all, own;
  const auto add = [&](NodeId id) {
    for (TensorId t : tensors_read(g_, g_[id])) all.insert(t);
  };
  add(k.node);
  for (NodeId i : k.inlined) {
    add(i);
    for (const Target& t : g_[i].targets) own.insert(t.tensor);
  }
  for (TensorId t : own) all.erase(t);
  return all;
}

// Inputs with the same readers share a box.
void Picture::add_inputs() {
  std::map<TensorId, std::vector<size_t>> readers;
  for (size_t k = 0; k < v_.schedule.kernels.size(); ++k)
    for (TensorId t : reads(v_.schedule.kernels[k]))
      if (!maker_.contains(t)) readers[t].push_back(k);
  std::map<std::vector<size_t>, size_t> groups;
  for (TensorId t : inputs_of(g_)) {
    const auto [it, fresh] = groups.emplace(readers[t], boxes.size());
    if (fresh) boxes.push_back({"input", {}, "", ""});
    Box& box = boxes[it->second];
    input_box_[t] = it->second;
    const std::string line = g_[t].name + "  " + type_text(g_, t);
    box.hint += (box.hint.empty() ? "" : "\n") + line;
    box.lines.push_back({shortened(line, most_columns), "type"});
  }
  for (Box& box : boxes)
    if (box.lines.size() > most_inputs) {
      const size_t more = box.lines.size() - most_inputs + 1;
      box.lines.resize(most_inputs - 1);
      box.lines.push_back({fmt::format("… and {} more", more), "note"});
    }
}

std::string fold_text(const Graph& g, const Node& n) {
  if (n.folds.empty()) return "map";
  std::string text;
  for (const Fold& f : n.folds) {
    const std::string& name = g[f.monoid].name;
    if (text.find(name) == std::string::npos) text += (text.empty() ? "" : ", ") + name;
  }
  std::vector<DimId> over = n.reduce;
  if (n.scan) over.insert(over.begin(), n.scan->along);
  for (size_t k = 0; k < over.size(); ++k) text += (k == 0 ? " over " : " ") + g[over[k]].name;
  return n.scan ? "scan, " + text : text;
}

Box Picture::kernel_box(const KernelPlan& k) const {
  const Node& n = g_[k.node];
  Box box{"kernel", {{shortened(k.name, most_columns), "name"}}, "", links_ ? k.name : ""};
  box.lines.push_back({shortened(type_text(g_, n.targets[0].tensor), most_columns), "type"});
  if (n.targets.size() > 1)
    box.lines.push_back({fmt::format("and {} more", n.targets.size() - 1), "note"});
  box.lines.push_back({shortened(fold_text(g_, n), most_columns), "note"});
  for (const Target& t : n.targets)
    box.hint += g_[t.tensor].name + "  " + type_text(g_, t.tensor) + "\n";
  for (NodeId i : k.inlined) {
    const std::string name = g_[g_[i].targets[0].tensor].name;
    box.lines.push_back({shortened(name + " recomputed", most_columns), "inlined"});
    box.hint += print_node(text_, i) + "\n";
  }
  box.hint += print_node(text_, k.node);
  return box;
}

void Picture::connect(TensorId t, size_t to) {
  const auto maker = maker_.find(t);
  const auto input = input_box_.find(t);
  if (maker == maker_.end() && input == input_box_.end()) return;
  const size_t from = maker == maker_.end() ? input->second : first_kernel_ + maker->second;
  if (from >= to) return;
  std::string& text = edges[{from, to}];
  text += (text.empty() ? "" : "\n") + g_[t].name + "  " + type_text(g_, t);
}

void Picture::add_output(const Output& o) {
  Box box{"output", {{shortened(g_[o.tensor].name, most_columns), "name"}}, "", ""};
  box.hint = g_[o.tensor].name + "  " + type_text(g_, o.tensor);
  if (o.into != TensorId::none) {
    box.lines.push_back({shortened("into " + g_[o.into].name, most_columns), "note"});
    box.hint += "\ntakes the place of " + g_[o.into].name;
  }
  boxes.push_back(std::move(box));
  connect(o.tensor, boxes.size() - 1);
}

std::string edge_path(const std::vector<Point>& route, const std::string& hint) {
  std::string d = fmt::format("M{:.1f} {:.1f}V{:.1f}", route[0].x, route[0].y, route[1].y);
  for (size_t k = 2; k + 1 < route.size(); k += 2) {
    const Point a = route[k - 1], b = route[k];
    const double bend = (a.y + b.y) / 2;
    d += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}V{:.1f}", a.x, bend, b.x, bend, b.x,
                     b.y, route[k + 1].y);
  }
  d += "m-3.5 -6l3.5 6l3.5 -6";
  return fmt::format("<path class=\"edge\" d=\"{}\"><title>{}</title></path>\n", d, escape(hint));
}

std::string box_shape(const Box& box, const Point& corner) {
  const BoxSize size = box.size();
  std::string out = fmt::format(
      "<g class=\"box {}\"><title>{}</title>"
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{}\"/>",
      box.kind, escape(box.hint), corner.x, corner.y, size.width, size.height,
      box.kind == std::string_view("kernel") ? 6 : 12);
  double y = corner.y + 0.6 * padding + 0.73 * line_height;
  for (const Line& l : box.lines) {
    out += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", l.kind,
                       corner.x + padding, y, escape(l.text));
    y += line_height;
  }
  out += "</g>";
  if (box.target.empty()) return out + "\n";
  return fmt::format("<a href=\"#kernel-{}\">{}</a>\n", escape(box.target), out);
}

}  // namespace

std::string graph_picture(const Graph& text, const Variant& v, const std::string& label,
                          bool links) {
  const Picture picture(text, v, links);
  const auto too_large = fmt::format("<p class=\"note\">{} boxes are too many for a picture.</p>\n",
                                     picture.boxes.size());
  if (picture.boxes.size() > most_boxes) return too_large;
  std::vector<BoxSize> sizes;
  std::vector<std::pair<size_t, size_t>> ends;
  for (const Box& b : picture.boxes) sizes.push_back(b.size());
  for (const auto& [edge, flow] : picture.edges) ends.push_back(edge);
  const Layout layout = layered(sizes, ends);
  size_t points = 0;
  for (const auto& route : layout.routes) points += route.size();
  if (points > most_points) return too_large;
  std::string out = fmt::format(
      "<svg class=\"graph\" role=\"group\" aria-label=\"{0}\" width=\"{1:.0f}\" height=\"{2:.0f}\" "
      "viewBox=\"0 0 {1:.0f} {2:.0f}\" style=\"min-width: {3:.0f}px\">\n",
      escape(label), layout.width, layout.height, least_scale * layout.width);
  size_t k = 0;
  for (const auto& [edge, flow] : picture.edges) out += edge_path(layout.routes[k++], flow);
  for (size_t b = 0; b < sizes.size(); ++b) out += box_shape(picture.boxes[b], layout.corners[b]);
  return out + "</svg>\n";
}

std::string type_text(const Graph& g, TensorId t) {
  const Tensor& tensor = g[t];
  std::string text(name(tensor.storage()));
  if (tensor.shape.empty()) return text;
  for (size_t k = 0; k < tensor.shape.size(); ++k) {
    const auto n = bound_value(g, tensor.shape[k]);
    text += (k == 0 ? " [" : ", ") + (n ? fmt::format("{}", *n) : print_poly(g, tensor.shape[k]));
  }
  return text + "]";
}

std::string graphs_section(const Report& r) {
  const Derivation& d = r.derivation;
  const auto figure = [](const char* when, const Variant& v, const std::string& picture) {
    return filled("figure.html", {{"when", when},
                                  {"count", counted(v.program().kernels.size(), "kernel")},
                                  {"picture", picture}});
  };
  return figure("As written", r.naive,
                graph_picture(d.naive, r.naive, "The program as written", false)) +
         figure("Derived", r.derived,
                graph_picture(d.derived, r.derived, "The derived program", true));
}

}  // namespace tang::cli
