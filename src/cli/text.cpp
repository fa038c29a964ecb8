#include "cli/text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "front/source.h"
#include "ir/bind.h"
#include "ir/print.h"

namespace tang::cli {

std::string three_digits(double x) {
  const double a = std::abs(x);
  if (a < 0.9995) return fmt::format("{:.3f}", x);
  if (a < 9.995) return fmt::format("{:.2f}", x);
  if (a < 99.95) return fmt::format("{:.1f}", x);
  return fmt::format("{:.0f}", x);
}

std::string with_unit(double x, const std::string& unit) {
  static constexpr const char* prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t k = 0;
  while (std::abs(x) >= 999.5 && k + 1 < std::size(prefixes)) {
    x /= 1000;
    ++k;
  }
  const std::string number = k == 0 ? fmt::format("{:.0f}", x) : three_digits(x);
  const std::string suffix = prefixes[k] + unit;
  return suffix.empty() ? number : number + " " + suffix;
}

std::string duration(double ms) {
  if (ms >= 999.5) return three_digits(ms / 1000) + " s";
  if (ms >= 0.1 || ms == 0) return three_digits(ms) + " ms";
  return three_digits(ms * 1000) + " µs";
}

std::string bytes_text(const Graph& g, const Poly& bytes) {
  if (const auto n = bound_value(g, bytes)) return with_unit(static_cast<double>(*n), "B");
  return print_poly(g, bytes) + " B";
}

std::string error_text(double error) {
  if (std::isinf(error) || std::isnan(error)) return "inf";
  if (error == 0) return "0";
  return error < 1e-3 ? fmt::format("{:.1e}", error) : fmt::format("{:.3g}", error);
}

size_t width(const std::string& text) { return static_cast<size_t>(count_characters(text)); }

std::string padded(const std::string& text, size_t columns) {
  const size_t w = width(text);
  return w < columns ? text + std::string(columns - w, ' ') : text;
}

std::string table(const std::vector<std::vector<std::string>>& rows, const std::string& align,
                  size_t indent) {
  std::vector<size_t> widths(align.size(), 0);
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (size_t c = 0; c < row.size(); ++c) {
      if (c > 0) line += "  ";
      const std::string space(widths[c] - width(row[c]), ' ');
      line += align[c] == 'r' ? space + row[c] : row[c] + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

Palette palette(bool color) {
  if (!color) return {};
  return {"\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"};
}

std::string first_values(const Array& array, size_t count) {
  std::string out;
  const int64_t n = array.elements();
  for (int64_t k = 0; k < n && k < static_cast<int64_t>(count); ++k) {
    if (k > 0) out += " ";
    const Kind kind = tang::kind(array.format);
    if (kind == Kind::real)
      out += fmt::format("{:.4g}", array.at(k));
    else if (kind == Kind::integer)
      out += fmt::format("{}", array.integer_at(k));
    else
      out += array.integer_at(k) ? "true" : "false";
  }
  if (n > static_cast<int64_t>(count)) out += " …";
  return n == 0 ? "(empty)" : out;
}

}  // namespace tang::cli
