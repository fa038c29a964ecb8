// How numbers and tables look: three digits and a unit, columns that align, colour on a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/array.h"
#include "ir/graph.h"

namespace tang::cli {

std::string three_digits(double x);                         // 0.874, 1.63, 33.6, 513; up to 999
std::string with_unit(double x, const std::string& unit);   // "1.63 GB", "34.4 G" for unit ""
std::string duration(double ms);                            // "0.874 ms", "12.3 µs", "1.20 s"
std::string bytes_text(const Graph& g, const Poly& bytes);  // "1.63 GB", "4*seq B" with symbols
std::string error_text(double error);                       // "3.1e-07"; "0.313" from 1e-3 on

// Columns of text; `align` has one of 'l', 'r' a column. Two spaces between columns, no trailing
// ones.
std::string table(const std::vector<std::vector<std::string>>& rows, const std::string& align,
                  size_t indent = 0);
// Display columns of UTF-8 text.
size_t width(const std::string& text);
std::string padded(const std::string& text, size_t columns);

struct Palette {
  const char *bold = "", *green = "", *red = "", *dim = "", *reset = "";
};
Palette palette(bool color);

// The first values of an array: "0.118 -0.52 …".
std::string first_values(const Array& array, size_t count = 6);

}  // namespace tang::cli
