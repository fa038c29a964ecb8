#include "schedule/text.h"

#include <algorithm>
#include <cctype>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ir/bind.h"

namespace tang {

namespace {

using nlohmann::json;

// ---- writing -----------------------------------------------------------------------------------

json name_list(const Graph& g, const std::vector<DimId>& dims) {
  json list = json::array();
  for (DimId d : dims) list.push_back(g[d].name);
  return list;
}

json stage_json(const Graph& g, const StagePlan& s) {
  json j = {{"tensor", g[s.tensor].name}, {"level", s.level}};
  if (s.axes.empty()) return j;  // of rows
  j["axes"] = json::array();
  for (size_t a : s.axes) j["axes"].push_back(axis_name(g, s.tensor, a));
  if (s.panel > 0)
    j["panel"] = {{"axis", axis_name(g, s.tensor, s.panel_axis)}, {"width", s.panel}};
  if (s.padded) j["padded"] = true;
  if (s.phases > 1) j["phases"] = s.phases;
  if (s.prepared) j["prepared"] = true;
  return j;
}

// What a kernel and rows inside one have in common. The loops of a pivot's blocks are planned where
// they stand; a scan runs its terms in order, inside of the loops over its other points.
json loops_json(const Graph& g, const KernelPlan& plan) {
  const Node& n = g[plan.node];
  json j = {{"contract", plan.contract}};
  if (n.scan && n.scan->matrix) return j;
  j["blocks"] = json::array();
  for (const BlockLoop& b : plan.blocks)
    j["blocks"].push_back({{"dim", g[b.dim].name}, {"step", b.step}});
  if (!n.scan) j["pivot"] = plan.pivot;
  if (plan.pivot) return j;
  j["points"] = name_list(g, plan.nest.points);
  if (!n.scan) j["reduce"] = name_list(g, plan.nest.reduce);
  j["tile"] = json::array();
  for (const TileDim& t : plan.nest.tile) {
    j["tile"].push_back({{"dim", g[t.dim].name}, {"registers", t.reg}, {"elements", t.elem}});
    if (t.threads > 1) j["tile"].back()["threads"] = t.threads;
  }
  return j;
}

bool is_word(const std::string& name) {
  const auto letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

// ---- reading -----------------------------------------------------------------------------------

// What people may look for under another name.
std::string elsewhere(const std::string& field) {
  static const std::map<std::string, std::string> table = {
      {"lanes", "terms that are kept apart are a `tile` of a summed dim"},
      {"vector", "a vector is a `tile` of more than one of `elements`"},
      {"block", "blocks are `blocks`, a list of {\"dim\":…,\"step\":…}"},
      {"outer", "the order of loops is that of `blocks`, `points` and `reduce`"},
      {"inner", "the order of loops is that of `blocks`, `points` and `reduce`"},
      {"mapping", "a kernel runs on its `machine`"}};
  const auto it = table.find(field);
  return it == table.end() ? "" : it->second;
}

class Reader {
 public:
  explicit Reader(std::string source) : source_(std::move(source)) {}

  Result<Pins> run(const json& kernels) {
    Pins pins;
    pins.source = source_;
    pins.kernels = kernel_map(kernels, "kernels", false);
    if (failure_) return tl::unexpected(*failure_);
    return pins;
  }

 private:
  struct Field {
    std::string name;
    std::function<void(const json&, const std::string&)> read;
    bool required = false;
  };

  void fail(const std::string& where, const std::string& what, std::string hint) {
    if (failure_) return;
    failure_ =
        error("E0805", fmt::format("{}: {}: {}", source_, where, what), std::move(hint)).value();
  }

  static std::string shown(const json& v) {
    if (v.is_structured() && !v.empty()) return v.is_array() ? "[…]" : "{…}";
    const std::string text = v.dump(-1, ' ', false, json::error_handler_t::replace);
    return text.size() <= 60 ? text : text.substr(0, 57) + "…";
  }

  void wrong(const std::string& where, const json& v, const std::string& wanted) {
    fail(where, fmt::format("{} is not {}", shown(v), wanted), "--schedule-out writes examples");
  }

  // `kernels.o` in a file of kernels; `kernels.o.blocks[1]` in one of its lists.
  void object(const json& v, const std::string& where, const std::vector<Field>& fields) {
    if (!v.is_object()) return wrong(where, v, "an object");
    for (const auto& [name, value] : v.items()) {
      const auto known = std::find_if(fields.begin(), fields.end(),
                                      [&, n = name](const Field& f) { return f.name == n; });
      if (known != fields.end())
        known->read(value, where + "." + name);
      else
        unknown(name, where, fields);
    }
    for (const Field& f : fields)
      if (f.required && !v.contains(f.name))
        fail(where, fmt::format("there is no `{}`", f.name), "it has to be given here");
  }

  void unknown(const std::string& name, const std::string& where,
               const std::vector<Field>& fields) {
    std::vector<std::string> names;
    for (const Field& f : fields) names.push_back(f.name);
    std::string hint = elsewhere(name);
    if (hint.empty()) hint = suggestion(name, names);
    if (hint.empty()) hint = fmt::format("fields are {}", fmt::join(names, ", "));
    fail(where, fmt::format("there is no field `{}`", name), std::move(hint));
  }

  template <class T, class Read>
  void list(const json& v, const std::string& where, std::vector<T>& to, const Read& read) {
    if (!v.is_array()) return wrong(where, v, "a list");
    for (size_t k = 0; k < v.size() && !failure_; ++k)
      to.push_back(read(v[k], fmt::format("{}[{}]", where, k)));
  }

  std::string text(const json& v, const std::string& where) {
    if (v.is_string()) return v.get<std::string>();
    wrong(where, v, "a name");
    return {};
  }

  bool truth(const json& v, const std::string& where) {
    if (v.is_boolean()) return v.get<bool>();
    wrong(where, v, "true or false");
    return false;
  }

  int64_t number(const json& v, const std::string& where) {
    constexpr int64_t most = int64_t{1} << 40;
    const bool fits = v.is_number_unsigned() ? v.get<uint64_t>() <= most
                                             : v.is_number_integer() && v.get<int64_t>() >= -most;
    if (fits) return v.get<int64_t>();
    wrong(where, v, "an integer of a size that could be meant");
    return 0;
  }

  std::string axis(const json& v, const std::string& where) {
    return v.is_number_integer() ? fmt::format("{}", number(v, where)) : text(v, where);
  }

  Field name_field(std::string name, std::string& to) {
    return {std::move(name), [&](const json& v, const std::string& w) { to = text(v, w); }, true};
  }
  Field number_field(std::string name, int64_t& to, bool required) {
    return {std::move(name), [&](const json& v, const std::string& w) { to = number(v, w); },
            required};
  }
  Field names_field(std::string name, std::optional<std::vector<std::string>>& to) {
    return {std::move(name), [&](const json& v, const std::string& w) {
              list(v, w, to.emplace(),
                   [&](const json& x, const std::string& at) { return text(x, at); });
            }};
  }

  BlockPin block(const json& v, const std::string& where) {
    BlockPin b;
    object(v, where, {name_field("dim", b.dim), number_field("step", b.step, true)});
    return b;
  }

  TilePin tile(const json& v, const std::string& where) {
    TilePin t;
    object(v, where,
           {name_field("dim", t.dim), number_field("registers", t.registers, false),
            number_field("elements", t.elements, false)});
    return t;
  }

  StagePin stage(const json& v, const std::string& where) {
    StagePin s;
    const auto panel = [&](const json& x, const std::string& at) {
      PanelPin& p = s.panel.emplace();
      object(x, at,
             {{"axis", [&](const json& y, const std::string& w) { p.axis = axis(y, w); }, true},
              number_field("width", p.width, true)});
    };
    object(v, where,
           {name_field("tensor", s.tensor),
            number_field("level", s.level, true),
            {"axes",
             [&](const json& x, const std::string& w) {
               list(x, w, s.axes.emplace(),
                    [&](const json& y, const std::string& at) { return axis(y, at); });
             }},
            {"panel", panel},
            {"padded", [&](const json& x, const std::string& w) { s.padded = truth(x, w); }},
            number_field("phases", s.phases, false),
            {"prepared", [&](const json& x, const std::string& w) { s.prepared = truth(x, w); }}});
    return s;
  }

  KernelPins kernel(const std::string& name, const json& v, const std::string& where, bool row) {
    KernelPins k;
    k.kernel = name;
    const auto blocks = [&](const json& x, const std::string& w) {
      list(x, w, k.blocks.emplace(), [&](const auto& y, const auto& at) { return block(y, at); });
    };
    const auto tiles = [&](const json& x, const std::string& w) {
      list(x, w, k.tile.emplace(), [&](const auto& y, const auto& at) { return tile(y, at); });
    };
    const auto stages = [&](const json& x, const std::string& w) {
      list(x, w, k.stages.emplace(), [&](const auto& y, const auto& at) { return stage(y, at); });
    };
    std::vector<Field> fields = {
        {"blocks", blocks},
        {"contract", [&](const json& x, const std::string& w) { k.contract = truth(x, w); }},
        {"pivot", [&](const json& x, const std::string& w) { k.pivot = truth(x, w); }},
        names_field("points", k.points),
        names_field("reduce", k.reduce),
        {"tile", tiles}};
    if (row) {
      fields.push_back(
          {"kept", [&](const json& x, const std::string& w) { k.kept = truth(x, w); }});
    } else {
      fields.push_back(names_field("inlined", k.inlined));
      fields.push_back(
          {"machine", [&](const json& x, const std::string& w) { k.machine = text(x, w); }});
      fields.push_back(
          {"rows", [&](const json& x, const std::string& w) { k.rows = kernel_map(x, w, true); }});
      fields.push_back({"stages", stages});
      fields.push_back(names_field("streamed", k.streamed));
      fields.push_back(
          {"threads", [&](const json& x, const std::string& w) { k.threads = number(x, w); }});
    }
    object(v, where, fields);
    return k;
  }

  std::vector<KernelPins> kernel_map(const json& v, const std::string& where, bool rows) {
    std::vector<KernelPins> kernels;
    if (!v.is_object()) {
      wrong(where, v, "an object of kernels");
      return kernels;
    }
    for (const auto& [name, fields] : v.items())
      kernels.push_back(kernel(name, fields, where + "." + name, rows));
    return kernels;
  }

  std::string source_;
  std::optional<Diagnostic> failure_;
};

}  // namespace

std::string axis_name(const Graph& g, TensorId id, size_t axis) {
  const Tensor& t = g[id];
  std::vector<std::string> names = t.axes;
  if (t.node != NodeId::none)
    for (const Target& target : g[t.node].targets) {
      if (target.tensor != id) continue;
      names.clear();
      for (DimId d : target.points) names.push_back(g[d].name);
    }
  bool good = names.size() == t.shape.size();
  for (size_t a = 0; a < names.size(); ++a)
    good &= is_word(names[a]) && std::find(names.begin(), names.begin() + static_cast<long>(a),
                                           names[a]) == names.begin() + static_cast<long>(a);
  return good ? names[axis] : fmt::format("{}", axis);
}

json to_json(const Graph& g, const KernelPlan& plan) {
  json j = loops_json(g, plan);
  j["inlined"] = json::array();
  for (NodeId i : plan.inlined)
    if (!plan.by_rows(i)) j["inlined"].push_back(g[g[i].targets[0].tensor].name);
  j["machine"] = plan.machine;
  j["threads"] = plan.threads;
  if (g[plan.node].scan) return j;
  j["streamed"] = json::array();
  for (TensorId t : plan.streamed) j["streamed"].push_back(g[t].name);
  j["rows"] = json::object();
  for (const KernelPlan& row : plan.rows) {
    j["rows"][row.name] = loops_json(g, row);
    j["rows"][row.name]["kept"] = row.kept;
  }
  j["stages"] = json::array();
  for (const StagePlan& s : plan.stages) j["stages"].push_back(stage_json(g, s));
  return j;
}

Result<Pins> read_pins(const json& kernels, const std::string& source) {
  return Reader(source).run(kernels);
}

}  // namespace tang
