#include "target/row.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tang {

namespace {

constexpr std::string_view space_names[] = {"reg", "shared", "cluster_shared", "packed", "global"};
constexpr std::string_view scope_names[] = {"thread",     "warp",  "warpgroup",
                                            "one_thread", "group", "cluster"};
constexpr std::string_view done_names[] = {"blocking",        "commit_group", "mbarrier_tx",
                                           "mbarrier_arrive", "named",        "bulk_group",
                                           "bulk_group_read"};
constexpr std::string_view proxy_names[] = {"generic", "async"};

template <class Enum, size_t count>
std::optional<Enum> parse(const std::string_view (&names)[count], std::string_view name) {
  for (size_t k = 0; k < count; ++k)
    if (names[k] == name) return static_cast<Enum>(k);
  return std::nullopt;
}

}  // namespace

std::string_view name(Space s) { return space_names[static_cast<size_t>(s)]; }
std::string_view name(Scope s) { return scope_names[static_cast<size_t>(s)]; }
std::string_view name(Done d) { return done_names[static_cast<size_t>(d)]; }
std::string_view name(Proxy p) { return proxy_names[static_cast<size_t>(p)]; }

std::optional<Space> parse_space(std::string_view name) { return parse<Space>(space_names, name); }
std::optional<Scope> parse_scope(std::string_view name) { return parse<Scope>(scope_names, name); }
std::optional<Done> parse_done(std::string_view name) { return parse<Done>(done_names, name); }
std::optional<Proxy> parse_proxy(std::string_view name) { return parse<Proxy>(proxy_names, name); }

const std::vector<std::string_view> immediates = {
    "coordinates",  // of a box in a tensor map, innermost first, separated by commas
    "barrier",      // the address of an mbarrier
    "blocks",       // a mask of the cluster's blocks
    "by",           // of a shuffle: the lane, distance or mask
};

// ---- sizes -------------------------------------------------------------------------------------

bool Choice::allows(int64_t size) const {
  return std::any_of(runs.begin(), runs.end(), [size](const Run& r) {
    return size >= r.from && size <= r.to && (size - r.from) % r.step == 0;
  });
}

std::vector<int64_t> Choice::values() const {
  std::vector<int64_t> all;
  for (const Run& r : runs)
    for (int64_t v = r.from; v <= r.to; v += r.step) all.push_back(v);
  return all;
}

std::string Choice::text() const {
  std::vector<std::string> parts;
  for (const Run& r : runs) {
    std::string part = fmt::format("{}", r.from);
    if (r.to != r.from) part += fmt::format("..{}", r.to);
    if (r.to != r.from && r.step != 1) part += fmt::format("/{}", r.step);
    parts.push_back(part);
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

Result<void> Row::check(const Sizes& sizes) const {
  if (sizes.size() != axes.size())
    return error("E0910",
                 fmt::format("`{}` has {} sizes, not {}", name, axes.size(), sizes.size()));
  for (size_t k = 0; k < axes.size(); ++k)
    if (!axes[k].sizes.allows(sizes[k]))
      return error("E0910", fmt::format("`{}` has no {} = {}", name, axes[k].name, sizes[k]),
                   fmt::format("it has {} {}", axes[k].name, axes[k].sizes.text()),
                   Exit::target_limit);
  return {};
}

Names Row::names(const Sizes& sizes) const {
  return [this, sizes](std::string_view wanted) -> std::optional<int64_t> {
    for (size_t k = 0; k < axes.size(); ++k)
      if (axes[k].name == wanted) return sizes[k];
    return std::nullopt;
  };
}

// ---- operands ----------------------------------------------------------------------------------

const Operand* Row::find(std::string_view operand) const {
  const auto at = std::find_if(operands.begin(), operands.end(),
                               [&](const Operand& o) { return o.name == operand; });
  return at == operands.end() ? nullptr : &*at;
}

std::vector<uint32_t> Row::folded() const {
  std::vector<uint32_t> result;
  if (!computes.result) return result;
  const std::vector<uint32_t>& kept = operands[*computes.result].axes;
  for (uint32_t a = 0; a < axes.size(); ++a)
    if (std::find(kept.begin(), kept.end(), a) == kept.end()) result.push_back(a);
  return result;
}

Result<Placement> Row::holds(const Operand& operand, const Sizes& sizes) const {
  if (const auto allowed = check(sizes); !allowed) return tl::unexpected(allowed.error());
  return parse_placement(operand.holds.text, operand.holds.axes, names(sizes));
}

Result<Placement> Row::addresses(const Operand& operand, const Sizes& sizes) const {
  if (const auto allowed = check(sizes); !allowed) return tl::unexpected(allowed.error());
  return parse_placement(operand.addresses->text, operand.addresses->axes, names(sizes));
}

Point Row::box(const Operand& operand, const Sizes& sizes) const {
  Point extents;
  for (uint32_t a : operand.axes) extents.push_back(sizes[a]);
  return extents;
}

Result<int64_t> Row::issue_cycles(const Sizes& sizes) const {
  return Scanner(issue).sum(names(sizes));
}

Result<int64_t> Row::latency_cycles(const Sizes& sizes) const {
  return Scanner(latency).sum(names(sizes));
}

// ---- text --------------------------------------------------------------------------------------

std::string fill_holes(std::string_view text,
                       const std::function<std::optional<std::string>(std::string_view)>& value) {
  std::string result;
  while (!text.empty()) {
    const size_t open = text.find('{');
    const size_t close = open == text.npos ? open : text.find('}', open);
    if (close == text.npos) break;
    const auto filled = value(text.substr(open + 1, close - open - 1));
    // A brace that opens no hole, such as that of a block, is text.
    const size_t end = filled ? close + 1 : open + 1;
    result += text.substr(0, open);
    result += filled ? *filled : std::string("{");
    text.remove_prefix(end);
  }
  return result.append(text);
}

std::vector<std::string_view> holes(std::string_view text) {
  std::vector<std::string_view> result;
  const auto is_hole = [](std::string_view inside) {
    return !inside.empty() && std::all_of(inside.begin(), inside.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    });
  };
  for (size_t open = text.find('{'); open != text.npos; open = text.find('{', open + 1)) {
    const size_t close = text.find('}', open);
    if (close == text.npos) break;
    const std::string_view inside = text.substr(open + 1, close - open - 1);
    if (is_hole(inside)) result.push_back(inside);
  }
  return result;
}

std::string Row::name_at(const Sizes& sizes) const {
  return fill_holes(name, [&](std::string_view hole) -> std::optional<std::string> {
    const auto size = names(sizes)(hole);
    return size ? std::optional(fmt::format("{}", *size)) : std::nullopt;
  });
}

}  // namespace tang
