// Pieces of an HTML page: escaped text, filled templates, coloured listings, tables.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tang::cli {

// Text as it stands in an element or a quoted attribute. What HTML does not allow (bytes that are
// not UTF-8, control characters) becomes U+FFFD.
std::string escape(std::string_view text);

// A template of src/cli/report with each {{name}} replaced by its value, which is HTML already.
using Fields = std::vector<std::pair<std::string_view, std::string>>;
std::string filled(std::string_view file, const Fields& fields);

// A listing as the lines of a <pre>, with comments, words of the language and numbers marked.
// `comment` is what a comment begins with.
std::string highlighted(std::string_view text, std::string_view comment);

// A block that is folded at first unless `open`; `summary` and `body` are HTML.
std::string folded(const std::string& summary, const std::string& body, bool open = false);

// A table whose first row is its head. Cells are HTML; `align` has one of 'l', 'r' a column.
std::string html_table(const std::vector<std::vector<std::string>>& rows, std::string_view align);

// "1 kernel", "3 kernels".
std::string counted(size_t n, std::string_view noun);

// At most `most` characters, the last an ellipsis where some are left out.
std::string shortened(std::string_view text, size_t most);

}  // namespace tang::cli
