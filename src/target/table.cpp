#include "target/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "target/definitions.h"
#include "target/families.h"
#include "target/row_reader.h"

namespace tang {

namespace {

Result<void> read_rows(const DefinitionBlock& block, const std::string& file, RowReader& reader,
                       const Families& families, Tables& tables) {
  const auto blocks = families.expand(block);
  if (!blocks) return tl::unexpected(blocks.error());
  for (const DefinitionBlock& one : *blocks) {
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
  Families families(file);
  for (const DefinitionBlock& block : *blocks) {
    const std::string& head = block.head.text;
    auto read = head.starts_with("row ") ? read_rows(block, file, reader, families, tables)
                : head.starts_with("set ") && block.body.empty() ? families.add(block.head)
                                                                 : reader.shared_definition(block);
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
