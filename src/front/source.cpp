#include "front/source.h"

#include <algorithm>

namespace tang {

Source::Source(std::string file, std::string text)
    : file_(std::move(file)), text_(std::move(text)) {
  if (text_.starts_with("\xEF\xBB\xBF")) text_.erase(0, 3);
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
  }
}

std::string_view Source::text(Span span) const {
  return std::string_view(text_).substr(span.begin, span.end - span.begin);
}

std::string_view Source::line(int number) const {
  if (number < 1 || number > line_count()) return {};
  std::size_t begin = line_starts_[number - 1];
  std::size_t end = number < line_count() ? line_starts_[number] - 1 : text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

int Source::line_of(std::uint32_t offset) const {
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<int>(after - line_starts_.begin());
}

Location Source::location(Span span) const {
  Location where;
  where.file = file_;
  where.line = line_of(span.begin);
  std::uint32_t start = line_starts_[where.line - 1];
  std::string_view whole = line(where.line);
  auto line_end = static_cast<std::uint32_t>(start + whole.size());
  std::uint32_t begin = std::min(span.begin, line_end);
  std::uint32_t end = std::clamp(span.end, begin, line_end);
  where.col = 1 + count_characters(text({start, begin}));
  where.length = std::max(1, count_characters(text({begin, end})));
  return where;
}

int decode_character(std::string_view text, char32_t& code) {
  if (text.empty()) return 0;
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80) {
    code = lead;
    return 1;
  }
  int length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < static_cast<std::size_t>(length)) return 0;
  code = lead & (0xFF >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3F);
  }
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < smallest[length] || code > 0x10FFFF || surrogate ? 0 : length;
}

int count_characters(std::string_view text) {
  int count = 0;
  while (!text.empty()) {
    char32_t code = 0;
    text.remove_prefix(std::max(1, decode_character(text, code)));
    ++count;
  }
  return count;
}

}  // namespace tang
