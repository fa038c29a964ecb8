#include "target/table.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "target/definitions.h"
#include "target/row_reader.h"

namespace tang {

namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

// The values in their order, so that a value may name ones that come later.
std::string substituted(std::string text, const Values& values) {
  for (const auto& [name, value] : values)
    text = fill_holes(text, [&](std::string_view hole) -> std::optional<std::string> {
      return hole == name ? std::optional(value) : std::nullopt;
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

// The sets of values of an `each` line, after the word.
Result<std::vector<Values>> read_each(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == text.npos)
    return Scanner::fail_at(1, "an `each` line has no `:`", "write `each t : bf16 | f16`");
  const std::vector<std::string> names = words(text.substr(0, colon));
  std::vector<Values> sets;
  text.remove_prefix(colon + 1);
  for (bool more = true; more;) {
    const size_t bar = text.find(" | ");
    more = bar != text.npos;
    auto values = read_values(names, text.substr(0, bar));
    if (!values || names.empty())
      return Scanner::fail_at(static_cast<int>(colon) + 1,
                              fmt::format("a set of values has fewer than {}", names.size()),
                              "write a value for each name");
    sets.push_back(std::move(*values));
    if (more) text.remove_prefix(bar + 3);
  }
  return sets;
}

// Every choice of one set from each `each` line, the last line fastest.
Result<std::vector<Values>> combinations(const DefinitionBlock& block, const std::string& file) {
  std::vector<Values> all = {{}};
  for (const DefinitionLine& line : block.body) {
    if (!line.text.starts_with("each ")) continue;
    const auto sets = read_each(std::string_view(line.text).substr(5));
    if (!sets) return tl::unexpected(placed(sets.error(), file, line));
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

Result<void> read_rows(const DefinitionBlock& block, const std::string& file, RowReader& reader,
                       Tables& tables) {
  const auto all = combinations(block, file);
  if (!all) return tl::unexpected(all.error());
  for (const Values& values : *all) {
    DefinitionBlock one = block;
    std::erase_if(one.body, [](const DefinitionLine& l) { return l.text.starts_with("each "); });
    one.head.text = substituted(one.head.text, values);
    for (DefinitionLine& line : one.body) line.text = substituted(line.text, values);
    auto row = reader.row(one);
    if (!row) return tl::unexpected(row.error());
    const auto same = [&](const Row& other) { return other.name == row->name; };
    if (std::any_of(tables.rows.begin(), tables.rows.end(), same))
      return tl::unexpected(
          placed(Scanner::fail_at(5, fmt::format("there are two rows `{}`", row->name)).value(),
                 file, block.head));
    tables.rows.push_back(std::move(*row));
  }
  return {};
}

}  // namespace

Result<void> read_table(std::string_view text, const std::string& file, Tables& tables) {
  auto blocks = read_blocks(text);
  if (!blocks) {
    blocks.error().where.file = file;
    return tl::unexpected(blocks.error());
  }
  RowReader reader(file, tables.layouts);
  for (const DefinitionBlock& block : *blocks) {
    const bool is_row = block.head.text.starts_with("row ");
    const auto read =
        is_row ? read_rows(block, file, reader, tables) : reader.shared_definition(block);
    if (!read) return read;
  }
  return {};
}

const Result<Tables>& shipped_tables() {
  static const Result<Tables> tables = []() -> Result<Tables> {
    Tables all;
    for (const char* file : {"nvidia.def", "cpu.def", "generic.def"})
      if (const auto read = read_table(definition(file), file, all); !read)
        return tl::unexpected(read.error());
    return all;
  }();
  return tables;
}

// ---- names -------------------------------------------------------------------------------------

namespace {

// The sizes that `name` gives the holes of a row's name; empty if it is another name.
std::optional<std::vector<std::pair<std::string_view, int64_t>>> match(std::string_view pattern,
                                                                       std::string_view name) {
  std::vector<std::pair<std::string_view, int64_t>> sizes;
  while (!pattern.empty()) {
    if (!pattern.starts_with('{')) {
      if (!name.starts_with(pattern[0])) return std::nullopt;
      pattern.remove_prefix(1);
      name.remove_prefix(1);
      continue;
    }
    const size_t close = pattern.find('}');
    const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    if (digits == 0 || digits > 6) return std::nullopt;
    int64_t value = 0;
    for (char c : name.substr(0, digits)) value = value * 10 + (c - '0');
    sizes.push_back({pattern.substr(1, close - 1), value});
    pattern.remove_prefix(close + 1);
    name.remove_prefix(digits);
  }
  return name.empty() ? std::optional(sizes) : std::nullopt;
}

}  // namespace

Result<Tables::Found> Tables::find(std::string_view name) const {
  for (const Row& row : rows) {
    const auto given = match(row.name, name);
    if (!given) continue;
    Found found{&row, {}};
    for (const SizedAxis& axis : row.axes) {
      const auto at = std::find_if(given->begin(), given->end(),
                                   [&](const auto& g) { return g.first == axis.name; });
      found.sizes.push_back(at != given->end() ? at->second : axis.sizes.runs[0].from);
    }
    if (const auto allowed = row.check(found.sizes); !allowed)
      return tl::unexpected(allowed.error());
    return found;
  }
  return error("E0910", fmt::format("no instruction is called `{}`", name));
}

}  // namespace tang
