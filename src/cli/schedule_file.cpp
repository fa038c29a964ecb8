#include "cli/schedule_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"

namespace tang::cli {

namespace {

using nlohmann::json;

auto refuse(const std::string& path, const std::string& kernel, const std::string& message,
            std::string hint) {
  return error("E0805", fmt::format("{}: kernel `{}`: {}", path, kernel, message), std::move(hint));
}

Result<void> pin(const std::string& path, const Graph& g, KernelPlan& plan, const json& fields) {
  const json planned = to_json(g, plan);
  for (const auto& [field, value] : fields.items()) {
    if (planned.contains(field) && planned[field] == value) continue;
    if (field == "lanes") {
      if (value != 0 && value != 8 && value != 16 && value != 32)
        return refuse(path, plan.name, fmt::format("`lanes` is {}", value.dump()),
                      "lanes are 0, 8, 16 or 32");
      if (value != 0 && plan.lanes == 0)
        return refuse(
            path, plan.name,
            "lanes need a commutative fold over one innermost loop of its own (law fold_perm)",
            "leave `lanes` at 0");
      plan.lanes = value.get<int64_t>();
    } else if (field == "contract") {
      if (value != false)
        return refuse(path, plan.name,
                      "`contract` rounds once where IEEE rounds twice (law contract_fma)",
                      "it may be false, or true without --math ieee");
      plan.contract = false;
    } else if (field == "threads") {
      if (value != 1)
        return refuse(path, plan.name,
                      fmt::format("`threads` is {}: the kernel is not worth sharing, or --threads "
                                  "is another number",
                                  value.dump()),
                      "it may be 1, or the planned number");
      plan.threads = 1;
    } else if (planned.contains(field) || field == "vector") {
      return refuse(path, plan.name, fmt::format("`{}` cannot be changed yet", field),
                    "keep the planned value, or leave the field out");
    } else {
      return refuse(path, plan.name, fmt::format("there is no field `{}`", field),
                    "--schedule-out writes the fields there are");
    }
  }
  return {};
}

Result<json> read_schedule(const std::string& path) {
  const auto text = read_file(path, 1 << 24);
  if (!text) return tl::unexpected(text.error());
  auto value = parse_json(*text, path, "E0805");
  if (!value) return tl::unexpected(value.error());
  if (!value->is_object() || !value->contains("kernels") || !(*value)["kernels"].is_object())
    return error("E0805", fmt::format("{}: this is no schedule: it has no object `kernels`", path),
                 "--schedule-out writes one");
  if (value->contains("splits") && !(*value)["splits"].is_object())
    return error("E0805", fmt::format("{}: `splits` is no object", path),
                 "it maps definitions to {\"dim\":…,\"parts\":…}");
  return std::move(*value);
}

}  // namespace

std::string schedule_text(const Graph& g, const Schedule& s, const std::vector<Split>& splits) {
  json kernels = json::object(), divided = json::object();
  for (const KernelPlan& k : s.kernels) kernels[k.name] = to_json(g, k);
  for (const Split& x : splits)
    divided[x.definition] = {{"dim", x.dim}, {"parts", x.parts}, {"strided", x.strided}};
  json all = {{"schema", 1}, {"kernels", kernels}};
  if (!splits.empty()) all["splits"] = divided;
  return json_text(all);
}

Result<std::vector<Split>> read_splits(const std::string& path) {
  const auto value = read_schedule(path);
  if (!value) return tl::unexpected(value.error());
  std::vector<Split> splits;
  if (!value->contains("splits")) return splits;
  for (const auto& [name, fields] : (*value)["splits"].items()) {
    Split split;
    split.definition = name;
    const auto wrong = [&](const std::string& what) {
      return error("E0805", fmt::format("{}: split of `{}`: {}", path, name, what),
                   "its fields are `dim` (a name), `parts` (1 or more) and `strided` (a bool)");
    };
    if (!fields.is_object()) return wrong("this is no object");
    for (const auto& [field, given] : fields.items()) {
      if (field == "dim" && given.is_string())
        split.dim = given.get<std::string>();
      else if (field == "parts" && given.is_number_integer())
        split.parts = given.get<int64_t>();
      else if (field == "strided" && given.is_boolean())
        split.strided = given.get<bool>();
      else
        return wrong(fmt::format("`{}` is {}", field, given.dump()));
    }
    splits.push_back(std::move(split));
  }
  return splits;
}

Result<void> pin_schedule(const std::string& path, const Graph& g, Schedule& s) {
  const auto value = read_schedule(path);
  if (!value) return tl::unexpected(value.error());
  for (const auto& [name, fields] : (*value)["kernels"].items()) {
    KernelPlan* plan = nullptr;
    for (KernelPlan& k : s.kernels)
      if (k.name == name) plan = &k;
    if (!plan || !fields.is_object())
      return error("E0805", fmt::format("{}: the program has no kernel `{}`", path, name),
                   "`tang derive` lists the kernels");
    if (auto pinned = pin(path, g, *plan, fields); !pinned) return pinned;
  }
  return {};
}

}  // namespace tang::cli
