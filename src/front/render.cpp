#include "front/render.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace tang {
namespace {

struct Palette {
  const char* strong = "";
  const char* severity = "";
  const char* dim = "";
  const char* reset = "";
};

Palette palette(bool color, bool warning) {
  if (!color) return {};
  return {"\x1b[1m", warning ? "\x1b[1;35m" : "\x1b[1;31m", "\x1b[2m", "\x1b[0m"};
}

std::string header(const Diagnostic& d, const Palette& p) {
  std::string place;
  if (!d.where.file.empty()) place += d.where.file + ":";
  if (d.where.line > 0) place += fmt::format("{}:{}:", d.where.line, d.where.col);
  if (!place.empty()) place = fmt::format("{}{}{} ", p.strong, place, p.reset);
  bool warning = d.id.starts_with('W');
  return fmt::format("{}{}{} {}{}: {}\n", place, p.severity, warning ? "warning" : "error", d.id,
                     p.reset, d.message);
}

// The program line as it may be sent to a terminal: tabs are spaces, and bytes that are not text
// show as `?`.
std::string printable(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    char32_t code = 0;
    int length = decode_character(line, code);
    if (length == 0 || code < 0x20 || (code >= 0x7F && code < 0xA0)) {
      out += code == '\t' && length == 1 ? ' ' : '?';
    } else {
      out += line.substr(0, length);
    }
    line.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

// What of a line is shown: all of it, or a window of kWindow characters around the carets.
struct Window {
  std::string text;
  int caret = 0;  // characters before the carets
  int length = 1;
};

constexpr int kWindow = 160;

Window window(const std::string& line, int col, int length) {
  std::vector<std::string_view> characters;
  for (std::string_view rest = line; !rest.empty();) {
    char32_t code = 0;
    int bytes = std::max(1, decode_character(rest, code));
    characters.push_back(rest.substr(0, bytes));
    rest.remove_prefix(bytes);
  }
  int count = static_cast<int>(characters.size());
  if (count <= kWindow) return {line, col - 1, length};
  int begin = std::max(0, std::min(col - 1 - kWindow / 3, count - kWindow));
  int end = std::min(count, begin + kWindow);
  Window w{begin > 0 ? "…" : "", col - 1 - begin + (begin > 0 ? 1 : 0), 1};
  w.length = std::max(1, std::min(length, end - (col - 1)));
  for (int i = begin; i < end; ++i) w.text += characters[i];
  if (end < count) w.text += "…";
  return w;
}

std::string excerpt(const Diagnostic& d, const Source& source, const Palette& p) {
  std::string number = fmt::format("{}", d.where.line);
  Window w = window(printable(source.line(d.where.line)), d.where.col, d.where.length);
  std::string out = fmt::format("  {}{} |{} {}\n", p.dim, number, p.reset, w.text);
  std::string carets(static_cast<std::size_t>(w.length), '^');
  std::string space(static_cast<std::size_t>(w.caret), ' ');
  out += fmt::format("  {}{:>{}} |{} {}{}{}{}", p.dim, "", number.size(), p.reset, space,
                     p.severity, carets, p.reset);
  if (!d.label.empty()) out += " " + d.label;
  return out + "\n";
}

}  // namespace

std::string render(const Diagnostic& d, const Source* source, bool color) {
  Palette p = palette(color, d.id.starts_with('W'));
  std::string out = header(d, p);
  const bool here = source != nullptr && d.where.line > 0 && d.where.file == source->file();
  if (here) out += excerpt(d, *source, p);
  if (!d.hint.empty()) out += fmt::format("  {}hint:{} {}\n", p.strong, p.reset, d.hint);
  return out;
}

std::string render(const Diagnostics& diagnostics, const Source* source, bool color) {
  std::string out;
  for (const Diagnostic& d : diagnostics) {
    if (!out.empty()) out += "\n";
    out += render(d, source, color);
  }
  return out;
}

}  // namespace tang
