// A program text with its line index. Every token and syntax node holds a Span, a half-open range
// of byte offsets; Source turns a Span into the line, column and length that people read. Columns
// and lengths count characters (Unicode scalar values), not bytes; a tab is one space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace tang {

// Byte offsets [begin, end) into Source::text().
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// The smallest span that covers both.
inline Span cover(Span a, Span b) {
  return {a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

class Source {
 public:
  // Keeps `text` without a leading byte-order mark. `file` is the name used in messages.
  Source(std::string file, std::string text);

  const std::string& file() const { return file_; }
  std::string_view text() const { return text_; }
  std::string_view text(Span span) const;

  int line_count() const { return static_cast<int>(line_starts_.size()); }
  // The text of 1-based line `number`, without its line end; empty when there is no such line.
  std::string_view line(int number) const;
  // The 1-based line that holds byte `offset`.
  int line_of(std::uint32_t offset) const;
  // A span over several lines is cut at the end of its first line. Length is at least 1.
  Location location(Span span) const;

 private:
  std::string file_;
  std::string text_;
  std::vector<std::uint32_t> line_starts_;
};

// Number of characters in well-formed UTF-8; a malformed byte counts as one character.
int count_characters(std::string_view text);

// Bytes of the well-formed UTF-8 character at the start of `text`, or 0 when it is malformed.
// `code` receives its scalar value.
int decode_character(std::string_view text, char32_t& code);

}  // namespace tang
