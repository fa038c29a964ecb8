#include "emit/namer.h"

#include <fmt/format.h>

namespace tang {

namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Emitted helpers begin with tang_ or TANG_, and a leading underscore belongs to the C library.
std::string tidy(std::string_view wanted) {
  std::string text;
  for (char c : wanted) text += is_name_char(c) ? c : '_';
  const bool bad_start = text.empty() || text[0] == '_' || (text[0] >= '0' && text[0] <= '9');
  if (bad_start || text.starts_with("tang_") || text.starts_with("TANG_")) text = "x" + text;
  return text;
}

}  // namespace

Namer::Namer(std::string_view reserved) {
  std::string word;
  for (char c : reserved) {
    if (is_name_char(c)) {
      word += c;
    } else if (!word.empty()) {
      taken_.insert(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) taken_.insert(word);
}

std::string Namer::name(std::string_view wanted) {
  const std::string base = tidy(wanted);
  std::string unique = base;
  for (int k = 1; !taken_.insert(unique).second; ++k) unique = fmt::format("{}_{}", base, k);
  return unique;
}

}  // namespace tang
