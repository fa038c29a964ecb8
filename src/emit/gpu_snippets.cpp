#include "emit/gpu_snippets.h"

#include <algorithm>

namespace tang {

namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Calls word(identifier) and other(text between), in order. A number, with its letters, is other.
template <class Word, class Other>
void scan(std::string_view text, Word word, Other other) {
  size_t k = 0;
  while (k < text.size()) {
    size_t end = k + 1;
    const bool number = is_digit(text[k]);
    if (is_name_char(text[k]))
      while (end < text.size() && (is_name_char(text[end]) || (number && text[end] == '.'))) ++end;
    const std::string_view part = text.substr(k, end - k);
    if (is_name_char(text[k]) && !number)
      word(part);
    else
      other(part);
    k = end;
  }
}

std::string without_comments(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    if (!text.starts_with("//")) result += text.substr(0, end + 1);
    text.remove_prefix(end + 1);
  }
  return result;
}

std::vector<std::string> blocks_of(const std::vector<std::string>& library) {
  std::vector<std::string> blocks;
  for (const std::string& file : library) {
    std::string text = without_comments(file);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find("\n\n", begin), text.size());
      std::string block = text.substr(begin, end - begin);
      while (block.starts_with('\n')) block.erase(0, 1);
      while (block.ends_with('\n')) block.pop_back();
      if (!block.empty()) blocks.push_back(block);
      begin = end + 2;
    }
  }
  return blocks;
}

std::set<std::string, std::less<>> names_in(std::string_view text) {
  std::set<std::string, std::less<>> names;
  scan(
      text,
      [&](std::string_view w) {
        if (w.starts_with("tang_")) names.emplace(w);
      },
      [](std::string_view) {});
  return names;
}

// What a block defines: the first of our names in each line that does not belong to a body.
std::set<std::string, std::less<>> defined_by(std::string_view block) {
  std::set<std::string, std::less<>> names;
  for (size_t begin = 0; begin < block.size();) {
    const size_t end = std::min(block.find('\n', begin), block.size());
    const std::string_view line = block.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with(' ') || line.starts_with('}')) continue;
    bool found = false;
    scan(
        line,
        [&](std::string_view w) {
          const bool type = w == "tang_i64" || w == "tang_u64";
          if (found || type || !w.starts_with("tang_")) return;
          names.emplace(w);
          found = true;
        },
        [](std::string_view) {});
  }
  return names;
}

}  // namespace

std::string respell(std::string_view text, const GpuSpelling& words) {
  std::string result;
  scan(
      text,
      [&](std::string_view w) {
        const auto found = words.find(w);
        result += found == words.end() ? std::string_view(w) : std::string_view(found->second);
      },
      [&](std::string_view rest) { result += rest; });
  return result;
}

std::string of_f64(std::string_view text, std::string_view number) {
  std::string result;
  scan(
      text,
      [&](std::string_view w) {
        std::string word(w);
        if (word.ends_with("_f32")) word.replace(word.size() - 4, 4, "_f64");
        if (word == "float") word = "double";
        result += word;
      },
      [&](std::string_view rest) {
        const bool real = is_digit(rest[0]) && rest.ends_with('f') && !rest.starts_with("0x");
        result +=
            real ? std::string(rest.substr(0, rest.size() - 1)).append(number) : std::string(rest);
      });
  return result;
}

std::string of_i64(std::string_view text) {
  static const GpuSpelling words = {
      {"int", "tang_i64"}, {"uint", "tang_u64"}, {"I32", "I64"}, {"U32", "U64"}};
  std::string result;
  scan(
      text,
      [&](std::string_view w) {
        std::string word(w);
        if (word.ends_with("_i32")) word.replace(word.size() - 4, 4, "_i64");
        result += word;
      },
      [&](std::string_view rest) { result += rest; });
  return respell(result, words);
}

GpuFunctions::GpuFunctions(const std::vector<std::string>& files) {
  std::set<std::string, std::less<>> known;
  for (std::string& text : blocks_of(files)) {
    auto defines = defined_by(text), mentions = names_in(text);
    const bool again = std::any_of(defines.begin(), defines.end(),
                                   [&](const std::string& name) { return known.contains(name); });
    if (again) continue;
    known.insert(defines.begin(), defines.end());
    blocks_.push_back({std::move(text), std::move(defines), std::move(mentions)});
  }
}

std::string GpuFunctions::needed(std::string_view body) const {
  std::vector<bool> wanted(blocks_.size(), false);
  std::set<std::string, std::less<>> seen = names_in(body);
  std::vector<std::string> work(seen.begin(), seen.end());
  while (!work.empty()) {
    const std::string name = std::move(work.back());
    work.pop_back();
    for (size_t k = 0; k < blocks_.size(); ++k) {
      if (wanted[k] || !blocks_[k].defines.contains(name)) continue;
      wanted[k] = true;
      for (const std::string& other : blocks_[k].mentions)
        if (seen.insert(other).second) work.push_back(other);
    }
  }
  std::string result;
  for (size_t k = 0; k < blocks_.size(); ++k)
    if (wanted[k]) result += blocks_[k].text + "\n\n";
  return result;
}

}  // namespace tang
