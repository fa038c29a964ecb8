#include "cli/report_text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/pages.h"
#include "front/source.h"

namespace tang::cli {

namespace {

constexpr std::string_view replacement = "\uFFFD";

// Words of programs, loop programs and C that a reader's eye may skip.
constexpr auto words = std::to_array<std::string_view>(
    {"and",      "array",    "break",   "buffer",    "case",   "combine", "commutative",
     "const",    "continue", "default", "dim",       "double", "else",    "fn",
     "float",    "for",      "grad",    "identity",  "if",     "in",      "input",
     "int",      "int32_t",  "int64_t", "into",      "kernel", "let",     "lift",
     "monoid",   "not",      "or",      "output",    "param",  "reads",   "require",
     "restrict", "return",   "size_t",  "sorted",    "static", "step",    "store",
     "switch",   "symbol",   "uint8_t", "unroll",    "var",    "vector",  "void",
     "where",    "while",    "with",    "workspace", "writes"});

bool allowed(char32_t code) {
  const bool control = code < 0x20 ? code != '\n' && code != '\t' : code >= 0x7f && code < 0xa0;
  return !control && (code & 0xfffe) != 0xfffe && !(code >= 0xfdd0 && code <= 0xfdef);
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// The end of the word or number at `begin`.
size_t word_end(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && is_word(text[end])) ++end;
  return end;
}

const char* word_class(std::string_view word) {
  if (std::isdigit(static_cast<unsigned char>(word[0]))) return "n";
  return std::find(words.begin(), words.end(), word) != words.end() ? "w" : nullptr;
}

void mark(std::string& out, const char* kind, std::string_view text) {
  if (kind)
    out += fmt::format("<span class=\"{}\">{}</span>", kind, escape(text));
  else
    out += escape(text);
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (size_t k = 0; k < text.size();) {
    char32_t code = 0;
    const int length = decode_character(text.substr(k), code);
    const std::string_view one = text.substr(k, static_cast<size_t>(std::max(1, length)));
    k += one.size();
    switch (length > 0 ? code : 0) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += length > 0 && allowed(code) ? one : replacement;
    }
  }
  return out;
}

std::string filled(std::string_view file, const Fields& fields) {
  const std::string_view text = page(file);
  std::string out;
  size_t begin = 0;
  for (size_t at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", begin)) {
    const size_t end = text.find("}}", at);
    const std::string_view name = text.substr(at + 2, end - at - 2);
    out += text.substr(begin, at - begin);
    for (const auto& [key, value] : fields)
      if (key == name) out += value;
    begin = end + 2;
  }
  return out + std::string(text.substr(begin));
}

std::string highlighted(std::string_view text, std::string_view comment) {
  std::string out;
  size_t plain = 0, k = 0;
  const auto flush = [&](size_t end) { out += escape(text.substr(plain, end - plain)); };
  while (k < text.size()) {
    const bool remark = text.substr(k).starts_with(comment);
    if (!remark && !is_word(text[k])) {
      ++k;
      continue;
    }
    flush(k);
    const size_t end = remark ? std::min(text.find('\n', k), text.size()) : word_end(text, k);
    const std::string_view part = text.substr(k, end - k);
    mark(out, remark ? "c" : word_class(part), part);
    plain = k = end;
  }
  flush(k);
  return out;
}

std::string folded(const std::string& summary, const std::string& body, bool open) {
  return fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", open ? " open" : "",
                     summary, body);
}

std::string html_table(const std::vector<std::vector<std::string>>& rows, std::string_view align) {
  std::string out = "<div class=\"scroll\"><table>\n<thead>";
  for (size_t r = 0; r < rows.size(); ++r) {
    out += "<tr>";
    for (size_t c = 0; c < rows[r].size(); ++c) {
      const char* tag = r == 0 ? "th" : "td";
      out += fmt::format("<{0}{1}>{2}</{0}>", tag, align[c] == 'r' ? " class=\"right\"" : "",
                         rows[r][c]);
    }
    out += r == 0 ? "</tr></thead>\n<tbody>\n" : "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string counted(size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string shortened(std::string_view text, size_t most) {
  if (static_cast<size_t>(count_characters(text)) <= most) return std::string(text);
  size_t end = 0;
  for (size_t n = 0; n + 1 < most && end < text.size(); ++n) {
    char32_t code = 0;
    end += static_cast<size_t>(std::max(1, decode_character(text.substr(end), code)));
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace tang::cli
