#include "cli/schedule_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "schedule/text.h"

namespace tang::cli {

namespace {

using nlohmann::json;

constexpr int64_t largest_file = 1 << 24;

constexpr size_t widest = 96;

// What an object is about first, then by name.
std::vector<std::string> keys_of(const json& v) {
  std::vector<std::string> first, keys;
  for (const auto& [key, value] : v.items())
    (key == "tensor" || key == "dim" || key == "axis" ? first : keys).push_back(key);
  first.insert(first.end(), keys.begin(), keys.end());
  return first;
}

// JSON for people: what fits a line stands on one.
std::string readable(const json& v, size_t indent, size_t before) {
  const auto all = [&](const std::string& open, const std::string& between,
                       const std::string& close, size_t inside) {
    std::string text;
    const auto item = [&](const std::string& key, const json& value) {
      text += (text.empty() ? open : between) + key + readable(value, inside, key.size());
    };
    if (v.is_array())
      for (const json& x : v) item("", x);
    else
      for (const std::string& key : keys_of(v)) item(json(key).dump() + ": ", v[key]);
    return text + close;
  };
  if (!v.is_structured() || v.empty()) return v.dump();
  const std::string open = v.is_array() ? "[" : "{", close = v.is_array() ? "]" : "}";
  if (indent == std::string::npos) return all(open, ", ", close, indent);
  const std::string line = all(open, ", ", close, std::string::npos);
  if (indent + before + line.size() <= widest && indent >= 4) return line;
  const std::string next = "\n" + std::string(indent + 2, ' ');
  return all(open + next, "," + next, "\n" + std::string(indent, ' ') + close, indent + 2);
}

Result<std::vector<Split>> read_splits(const json& all, const std::string& path) {
  std::vector<Split> splits;
  if (!all.is_object())
    return error("E0805", fmt::format("{}: `splits` is not an object", path),
                 "it maps definitions to {\"dim\":…,\"parts\":…}");
  for (const auto& [name, fields] : all.items()) {
    Split split;
    split.definition = name;
    const auto wrong = [&](const std::string& what) {
      return error("E0805", fmt::format("{}: split of `{}`: {}", path, split.definition, what),
                   "its fields are `dim` (a name), `parts` (1 or more) and `strided` (a bool)");
    };
    if (!fields.is_object()) return wrong("this is not an object");
    for (const auto& [field, given] : fields.items()) {
      if (field == "dim" && given.is_string())
        split.dim = given.get<std::string>();
      else if (field == "parts" && given.is_number_integer())
        split.parts = given.get<int64_t>();
      else if (field == "strided" && given.is_boolean())
        split.strided = given.get<bool>();
      else
        return wrong(fmt::format("`{}` is {}", field,
                                 given.is_structured()
                                     ? given.type_name()
                                     : given.dump(-1, ' ', false, json::error_handler_t::replace)));
    }
    splits.push_back(std::move(split));
  }
  return splits;
}

}  // namespace

std::string schedule_text(const Graph& g, const Schedule& s, const std::vector<Split>& splits) {
  json kernels = json::object(), divided = json::object();
  for (const KernelPlan& k : s.kernels) kernels[k.name] = to_json(g, k);
  for (const Split& x : splits)
    divided[x.definition] = {{"dim", x.dim}, {"parts", x.parts}, {"strided", x.strided}};
  json all = {{"schema", 1}, {"kernels", kernels}};
  if (!splits.empty()) all["splits"] = divided;
  return readable(all, 0, 0) + "\n";
}

Result<ScheduleFile> read_schedule(const std::string& path) {
  const auto text = read_file(path, largest_file);
  if (!text) return tl::unexpected(text.error());
  const auto value = parse_json(*text, path, "E0805");
  if (!value) return tl::unexpected(value.error());
  if (!value->is_object() || !value->contains("kernels"))
    return error("E0805", fmt::format("{}: this is no schedule: it has no object `kernels`", path),
                 "--schedule-out writes one");
  for (const auto& [field, given] : value->items()) {
    if (field == "kernels" || field == "splits" || (field == "schema" && given == 1)) continue;
    return error("E0805",
                 field == "schema"
                     ? fmt::format("{}: schedules of another schema than 1 are not known", path)
                     : fmt::format("{}: there is no field `{}`", path, field),
                 "fields are schema (1), kernels, splits");
  }
  ScheduleFile file;
  auto pins = read_pins((*value)["kernels"], path);
  if (!pins) return tl::unexpected(pins.error());
  file.pins = std::move(*pins);
  if (!value->contains("splits")) return file;
  auto splits = read_splits((*value)["splits"], path);
  if (!splits) return tl::unexpected(splits.error());
  file.splits = std::move(*splits);
  return file;
}

}  // namespace tang::cli
