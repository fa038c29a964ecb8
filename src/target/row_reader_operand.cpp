// Lines that say where an operand is and what an instruction does with it.
#include <algorithm>

#include <fmt/format.h>

#include "target/row_reader.h"

namespace tang {

Result<void> RowReader::operand(Scanner& in, Operand& o, const AxisNames& axes) {
  if (in.accept_word("gives")) {
    o.bytes_per_address = in.integer().value_or(0);
    if (o.bytes_per_address < 1 || !in.accept(":"))
      return in.fail("bytes, `:` and a placement are expected", "write `a gives 16 : lane 8 -> r`");
    auto rule = placement_rule(in, axes);
    if (!rule) return tl::unexpected(rule.error());
    o.addresses = std::move(*rule);
    return {};
  }
  if (auto read = spaces(in, o); !read) return read;
  if (auto read = formats(in, o); !read) return read;
  if (auto read = facts(in, o); !read) return read;
  return kept_in(in, o, axes);
}

Result<void> RowReader::spaces(Scanner& in, Operand& o) {
  do {
    const int start = in.column();
    const std::string_view word = in.word();
    const auto space = parse_space(word);
    if (!space)
      return Scanner::fail_at(start, fmt::format("`{}` is no memory", word),
                              "write reg, shared, cluster_shared, packed or global");
    o.spaces.push_back(*space);
  } while (in.accept("/"));
  return {};
}

Result<void> RowReader::formats(Scanner& in, Operand& o) {
  do {
    const int start = in.column();
    const std::string_view word = in.word();
    const auto format = parse_format(word);
    if (!format) return Scanner::fail_at(start, fmt::format("`{}` is no format", word));
    o.formats.push_back(*format);
  } while (in.accept(","));
  return {};
}

Result<void> RowReader::facts(Scanner& in, Operand& o) {
  const std::pair<std::string_view, bool*> flags[] = {{"accumulates", &o.accumulates},
                                                      {"overwrites", &o.overwrites},
                                                      {"negates", &o.negates},
                                                      {"masks", &o.masks},
                                                      {"fills", &o.fills},
                                                      {"clips", &o.clips},
                                                      {"multicast", &o.multicast},
                                                      {"streams", &o.streams},
                                                      {"not_negative", &o.not_negative}};
  const std::pair<std::string_view, int64_t*> numbers[] = {
      {"align", &o.align}, {"strides", &o.stride_multiple}, {"step", &o.step_multiple}};
  while (!in.peek_word().empty()) {
    const int start = in.column();
    const std::string_view word = in.word();
    bool known = false;
    for (const auto& [fact, flag] : flags)
      if (fact == word) known = *flag = true;
    for (const auto& [fact, number] : numbers)
      if (fact == word) known = (*number = size(in).value_or(0)) > 0;
    if (!known)
      return Scanner::fail_at(start, fmt::format("`{}` is no fact of an operand", word),
                              "target/table.h lists them");
  }
  return {};
}

Result<PlacementRule> RowReader::placement_rule(Scanner& in, const AxisNames& axes) {
  const std::string_view word = in.peek_word();
  for (const NamedPlace& p : places_)
    if (p.name == word) {
      if (p.rule.axes.size() == axes.size()) return p.rule;
      return in.fail(
          fmt::format("`{}` places {} axes, not {}", word, p.rule.axes.size(), axes.size()));
    }
  return PlacementRule{std::string(in.rest()), axes};
}

Result<void> RowReader::kept_in(Scanner& in, Operand& o, const AxisNames& axes) {
  if (!in.accept(":")) {
    if (o.spaces[0] == Space::reg) return in.fail("a placement is expected", "write `: single`");
    return in.at_end() ? Result<void>() : in.fail("the line goes on");
  }
  if (o.spaces[0] == Space::reg) {
    auto rule = placement_rule(in, axes);
    if (!rule) return tl::unexpected(rule.error());
    o.holds = std::move(*rule);
    return {};
  }
  do {
    const int start = in.column();
    const std::string_view word = in.word();
    const auto at = std::find_if(layouts_.begin(), layouts_.end(),
                                 [&](const Layout& l) { return l.name == word; });
    if (at == layouts_.end())
      return Scanner::fail_at(start, fmt::format("no layout is called `{}`", word));
    o.layouts.push_back(static_cast<uint32_t>(at - layouts_.begin()));
  } while (in.accept(","));
  return in.at_end() ? Result<void>() : in.fail("the line goes on");
}

}  // namespace tang
