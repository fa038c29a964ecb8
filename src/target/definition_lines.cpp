#include "target/definition_lines.h"

namespace tang {

namespace {

std::string_view trimmed(std::string_view line) {
  // `#` begins a comment where a word could begin: `a#b` is text.
  for (size_t k = 0; k < line.size(); ++k)
    if (line[k] == '#' && (k == 0 || line[k - 1] == ' ')) line = line.substr(0, k);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

Diagnostic placed(Diagnostic d, const std::string& file, const DefinitionLine& line) {
  d.where.file = file;
  d.where.line = line.number;
  if (d.where.col < 1) d.where.col = 1;
  return d;
}

Result<std::vector<DefinitionBlock>> read_blocks(std::string_view text) {
  std::vector<DefinitionBlock> blocks;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    if (line.empty()) continue;
    const size_t indent = line.find_first_not_of(' ');
    const std::string content(line.substr(indent));
    if (indent == 0) {
      blocks.push_back({{number, content}, {}});
      continue;
    }
    const bool goes_on = indent > 2;
    if (blocks.empty() || indent == 1) {
      auto e = error("E0111", "an indented line belongs to nothing",
                     "a head begins in the first column, its lines after two spaces");
      e.value() = placed(e.value(), {}, {number, {}});
      return e;
    }
    DefinitionBlock& block = blocks.back();
    if (!goes_on)
      block.body.push_back({number, content});
    else
      (block.body.empty() ? block.head : block.body.back()).text += " " + content;
  }
  return blocks;
}

}  // namespace tang
