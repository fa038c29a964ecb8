#include "target/families.h"

#include <algorithm>

#include <fmt/format.h>

#include "target/row.h"

namespace tang {

namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

// The values in their order, so that a value may name ones that come later.
std::string substituted(std::string text, const Values& values) {
  for (const auto& each : values)
    text = fill_holes(text, [&](std::string_view hole) -> std::optional<std::string> {
      return hole == each.first ? std::optional(each.second) : std::nullopt;
    });
  return text;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  for (size_t at = text.find_first_not_of(' '); at != text.npos;) {
    const size_t end = text.find(' ', at);
    result.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(' ', end);
  }
  return result;
}

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == text.npos ? std::string() : std::string(text.substr(first, last - first + 1));
}

// One set of values: a word a name, and the rest for the last.
std::optional<Values> read_values(const std::vector<std::string>& names, std::string_view part) {
  Values values;
  for (size_t k = 0; k < names.size(); ++k) {
    const size_t start = part.find_first_not_of(' ');
    if (start == part.npos) return std::nullopt;
    part.remove_prefix(start);
    const size_t end = k + 1 < names.size() ? std::min(part.find(' '), part.size()) : part.size();
    values.push_back({names[k], trimmed(part.substr(0, end))});
    part.remove_prefix(end);
  }
  return values;
}

bool is_each(const DefinitionLine& line) { return line.text.starts_with("each "); }

}  // namespace

// `names : values | values`; `text` is the end of the line.
Result<std::vector<Values>> Families::read(std::string_view text,
                                           const DefinitionLine& line) const {
  const size_t colon = text.find(':');
  const std::vector<std::string> names = words(text.substr(0, colon));
  if (colon == text.npos || names.empty())
    return tl::unexpected(placed(Scanner::fail_at(1, "names, `:` and their values are expected",
                                                  "write `each t : bf16 | f16`")
                                     .value(),
                                 file_, line));
  std::vector<Values> sets;
  text.remove_prefix(colon + 1);
  for (bool more = true; more;) {
    const size_t bar = text.find(" | ");
    more = bar != text.npos;
    auto values = read_values(names, text.substr(0, bar));
    if (!values)
      return tl::unexpected(
          placed(Scanner::fail_at(1, fmt::format("a set of values has fewer than {}", names.size()),
                                  "write a value for each name")
                     .value(),
                 file_, line));
    sets.push_back(std::move(*values));
    if (more) text.remove_prefix(bar + 3);
  }
  return sets;
}

Result<void> Families::add(const DefinitionLine& line) {
  const std::string text = trimmed(std::string_view(line.text).substr(4));
  const size_t end = std::min(text.find(' '), text.size());
  auto values = read(std::string_view(text).substr(end), line);
  if (!values) return tl::unexpected(values.error());
  sets_.push_back({text.substr(0, end), std::move(*values)});
  return {};
}

Result<std::vector<Values>> Families::read_each(const DefinitionLine& line) const {
  const std::string text = trimmed(std::string_view(line.text).substr(5));
  for (const auto& [name, values] : sets_)
    if (name == text) return values;
  return read(text, line);
}

Result<std::vector<Values>> Families::combinations(const DefinitionBlock& block) const {
  std::vector<Values> all = {{}};
  for (const DefinitionLine& line : block.body) {
    if (!is_each(line)) continue;
    auto sets = read_each(line);
    if (!sets) return sets;
    std::vector<Values> longer;
    for (const Values& before : all)
      for (const Values& set : *sets) {
        longer.push_back(before);
        longer.back().insert(longer.back().end(), set.begin(), set.end());
      }
    all = std::move(longer);
  }
  return all;
}

Result<std::vector<DefinitionBlock>> Families::expand(const DefinitionBlock& block) const {
  const auto all = combinations(block);
  if (!all) return tl::unexpected(all.error());
  std::vector<DefinitionBlock> blocks;
  for (const Values& values : *all) {
    DefinitionBlock one = block;
    std::erase_if(one.body, is_each);
    one.head.text = substituted(one.head.text, values);
    for (DefinitionLine& line : one.body) line.text = substituted(line.text, values);
    blocks.push_back(std::move(one));
  }
  return blocks;
}

}  // namespace tang
