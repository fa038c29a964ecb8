#include "front/lexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace tang {
namespace {

struct Word {
  std::string_view text;
  Tok kind;
};

constexpr Word kWords[] = {
    {"param", Tok::kw_param},   {"dim", Tok::kw_dim},         {"input", Tok::kw_input},
    {"output", Tok::kw_output}, {"grad", Tok::kw_grad},       {"fn", Tok::kw_fn},
    {"monoid", Tok::kw_monoid}, {"sorted", Tok::kw_sorted},   {"into", Tok::kw_into},
    {"with", Tok::kw_with},     {"where", Tok::kw_where},     {"identity", Tok::kw_identity},
    {"lift", Tok::kw_lift},     {"combine", Tok::kw_combine}, {"commutative", Tok::kw_commutative},
    {"and", Tok::kw_and},       {"or", Tok::kw_or},           {"not", Tok::kw_not},
    {"inf", Tok::kw_inf},       {"nan", Tok::kw_nan},         {"true", Tok::kw_true},
    {"false", Tok::kw_false},
};

struct Symbol {
  std::string_view text;
  Tok kind;
};

// Longer symbols stand before their prefixes.
constexpr Symbol kSymbols[] = {
    {"->", Tok::arrow},  {"<=", Tok::less_equal}, {">=", Tok::greater_equal},
    {"==", Tok::equal},  {"!=", Tok::not_equal},  {"(", Tok::lparen},
    {")", Tok::rparen},  {"[", Tok::lbracket},    {"]", Tok::rbracket},
    {",", Tok::comma},   {";", Tok::semicolon},   {":", Tok::colon},
    {".", Tok::dot},     {"?", Tok::question},    {"|", Tok::bar},
    {"=", Tok::assign},  {"+", Tok::plus},        {"-", Tok::minus},
    {"*", Tok::star},    {"/", Tok::slash},       {"<", Tok::less},
    {">", Tok::greater},
};

// What to write instead of a character outside the language, and the token it is read as.
struct Replacement {
  std::string_view character;
  std::string_view write;
  Tok kind;
  std::string_view advice = {};  // used in place of "write …" when no token stands for it
};

constexpr Replacement kReplacements[] = {
    {"λ", "lambda", Tok::name},
    {"α", "alpha", Tok::name},
    {"β", "beta", Tok::name},
    {"γ", "gamma", Tok::name},
    {"δ", "delta", Tok::name},
    {"ε", "eps", Tok::name},
    {"ϵ", "eps", Tok::name},
    {"ζ", "zeta", Tok::name},
    {"η", "eta", Tok::name},
    {"θ", "theta", Tok::name},
    {"κ", "kappa", Tok::name},
    {"μ", "mu", Tok::name},
    {"µ", "mu", Tok::name},
    {"ν", "nu", Tok::name},
    {"ξ", "xi", Tok::name},
    {"π", "pi", Tok::name},
    {"ρ", "rho", Tok::name},
    {"σ", "sigma", Tok::name},
    {"τ", "tau", Tok::name},
    {"φ", "phi", Tok::name},
    {"ϕ", "phi", Tok::name},
    {"χ", "chi", Tok::name},
    {"ψ", "psi", Tok::name},
    {"ω", "omega", Tok::name},
    {"Γ", "Gamma", Tok::name},
    {"Δ", "Delta", Tok::name},
    {"Θ", "Theta", Tok::name},
    {"Λ", "Lambda", Tok::name},
    {"Φ", "Phi", Tok::name},
    {"Ψ", "Psi", Tok::name},
    {"Ω", "Omega", Tok::name},
    {"∑", "sum", Tok::name},
    {"Σ", "sum", Tok::name},
    {"∏", "prod", Tok::name},
    {"Π", "prod", Tok::name},
    {"√", "sqrt", Tok::name},
    {"×", "*", Tok::star},
    {"·", "*", Tok::star},
    {"⋅", "*", Tok::star},
    {"∙", "*", Tok::star},
    {"÷", "/", Tok::slash},
    {"⁄", "/", Tok::slash},
    {"∕", "/", Tok::slash},
    {"−", "-", Tok::minus},
    {"–", "-", Tok::minus},
    {"—", "-", Tok::minus},
    {"∞", "inf", Tok::kw_inf},
    {"≤", "<=", Tok::less_equal},
    {"≥", ">=", Tok::greater_equal},
    {"≠", "!=", Tok::not_equal},
    {"∧", "and", Tok::kw_and},
    {"∨", "or", Tok::kw_or},
    {"¬", "not", Tok::kw_not},
    {"→", "->", Tok::arrow},
    {"←", "=", Tok::assign},
    {"≔", "=", Tok::assign},
    {"∣", "|", Tok::bar},
    {"…", "", Tok::bad, "name every index"},
    {"²", "", Tok::bad, "write pow(x, 2)"},
    {"³", "", Tok::bad, "write pow(x, 3)"},
    {"\xC2\xA0", "", Tok::bad, "write a space"},
    {"“", "", Tok::bad, "remove the quotation mark"},
    {"”", "", Tok::bad, "remove the quotation mark"},
    {"&&", "and", Tok::kw_and},
    {"||", "or", Tok::kw_or},
    {"!", "not", Tok::kw_not},
    {"&", "and", Tok::kw_and},
    {"^", "", Tok::bad, "write pow(x, n)"},
    {"%", "", Tok::bad, "write mod(a, b)"},
    {"{", "", Tok::bad, "write ( or ["},
    {"}", "", Tok::bad, "write ) or ]"},
    {"\"", "", Tok::bad, "remove the quotation mark"},
    {"'", "", Tok::bad, "write another name, as in x_1"},
    {"@", "", Tok::bad, "write a sum over the shared index: sum[k](a[i, k] * b[k, j])"},
    {"\\", "", Tok::bad, "a line that ends in an operator goes on by itself"},
    {"\r", "", Tok::bad, "end lines with a line feed"},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }

// Whether the number `digits` (as scanned, without underscores) is below 1: it then rounds to 0
// when it is out of the range of f64, and otherwise it is too large.
bool is_small(std::string_view digits, bool hex) {
  std::size_t mark = digits.find(hex ? 'p' : 'e');
  std::string_view mantissa = digits.substr(0, mark);
  long exponent = 0;
  if (mark != std::string_view::npos) {
    std::string_view power = digits.substr(mark + 1);
    auto [end, code] = std::from_chars(power.data(), power.data() + power.size(), exponent);
    if (code != std::errc()) return power.starts_with('-');
  }
  std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::size_t lead = std::min(mantissa.find_first_not_of("0."), mantissa.size());
  long places = static_cast<long>(point) - static_cast<long>(lead);
  return places * (hex ? 4 : 1) + exponent < 0;
}

class Lexer {
 public:
  Lexer(const Source& source, Diagnostics& errors)
      : source_(source), text_(source.text()), errors_(errors) {}

  std::vector<Token> run() {
    while (skip_blank()) next();
    push(Tok::end, pos_);
    return std::move(tokens_);
  }

 private:
  char at(std::size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }
  Span span_from(std::size_t begin) const {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(pos_)};
  }

  Token& push(Tok kind, std::size_t begin) {
    Token token;
    token.kind = kind;
    token.newline_before = newline_;
    token.span = span_from(begin);
    token.text = source_.text(token.span);
    newline_ = false;
    tokens_.push_back(token);
    return tokens_.back();
  }

  void report(Span span, std::string id, std::string message, std::string hint) {
    errors_.push_back(diagnose(source_, span, std::move(id), std::move(message), std::move(hint)));
  }

  // Moves to the next character of a token; false at the end of the text.
  bool skip_blank() {
    while (pos_ < text_.size()) {
      char c = text_[pos_];
      if (c == '\n') {
        newline_ = true;
        ++pos_;
      } else if (c == ' ' || c == '\t' || (c == '\r' && at(pos_ + 1) == '\n')) {
        ++pos_;
      } else if (c == '#') {
        skip_comment();
      } else {
        return true;
      }
    }
    return false;
  }

  void skip_comment() {
    std::size_t begin = pos_;
    while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
    std::string_view comment = text_.substr(begin, pos_ - begin);
    for (std::size_t i = 0; i < comment.size();) {
      char32_t code = 0;
      int length = decode_character(comment.substr(i), code);
      if (length == 0) return report_encoding(begin + i);
      i += length;
    }
  }

  // One message per file: the rest of a file in another encoding would only repeat it.
  void report_encoding(std::size_t offset) {
    if (encoding_reported_) return;
    encoding_reported_ = true;
    auto at = static_cast<std::uint32_t>(offset);
    report({at, at + 1}, "E0108",
           fmt::format("byte 0x{:02x} is not UTF-8", static_cast<unsigned char>(text_[offset])),
           "save the file as UTF-8");
  }

  void next() {
    char c = text_[pos_];
    if (is_name_start(c)) return name();
    if (is_digit(c) || (c == '.' && is_digit(at(pos_ + 1)) && !after_operand())) return number();
    if (symbol()) return;
    foreign();
  }

  // A point directly after an operand picks a field; elsewhere it starts a malformed number.
  bool after_operand() const {
    if (tokens_.empty()) return false;
    const Token& last = tokens_.back();
    return last.span.end == pos_ && can_end_statement(last.kind);
  }

  void name() {
    std::size_t begin = pos_;
    while (is_name_char(at(pos_))) ++pos_;
    push(keyword(text_.substr(begin, pos_ - begin)), begin);
  }

  bool symbol() {
    std::string_view rest = text_.substr(pos_);
    if (rest.starts_with("||")) return false;
    for (const Symbol& s : kSymbols) {
      if (!rest.starts_with(s.text)) continue;
      std::size_t begin = pos_;
      pos_ += s.text.size();
      push(s.kind, begin);
      return true;
    }
    return false;
  }

  void foreign() {
    std::string_view rest = text_.substr(pos_);
    std::size_t begin = pos_;
    for (const Replacement& r : kReplacements) {
      if (!rest.starts_with(r.character)) continue;
      pos_ += r.character.size();
      bool printable = r.character != "\r" && r.character != "\xC2\xA0";
      std::string shown = printable             ? fmt::format("`{}`", r.character)
                          : r.character == "\r" ? std::string("a lone carriage return")
                                                : std::string("a no-break space");
      report(span_from(begin), "E0102", shown + " is not part of the language",
             r.advice.empty() ? fmt::format("write {}", r.write) : std::string(r.advice));
      push(r.kind, begin);
      if (!r.write.empty()) tokens_.back().text = r.write;
      return;
    }
    unknown_character(rest, begin);
  }

  void unknown_character(std::string_view rest, std::size_t begin) {
    char32_t code = 0;
    int length = decode_character(rest, code);
    pos_ += length == 0 ? 1 : length;
    if (length == 0) {
      report_encoding(begin);
    } else {
      bool control = code < 0x20 || code == 0x7F || (code >= 0x80 && code < 0xA0);
      std::string shown = control
                              ? fmt::format("character U+{:04X}", static_cast<std::uint32_t>(code))
                              : fmt::format("`{}` (U+{:04X})", rest.substr(0, length),
                                            static_cast<std::uint32_t>(code));
      report(span_from(begin), "E0102", shown + " is not part of the language",
             "names are letters, digits and _; anything else belongs in a comment after #");
    }
    push(Tok::bad, begin);
  }

  // Digits with single underscores between them, appended to `digits`; false when malformed.
  bool digit_run(bool (*accept)(char), std::string& digits) {
    bool ok = accept(at(pos_));
    bool last_digit = false;
    while (accept(at(pos_)) || at(pos_) == '_') {
      char c = text_[pos_++];
      if (c == '_') {
        ok = ok && last_digit;
        last_digit = false;
      } else {
        digits += c;
        last_digit = true;
      }
    }
    return ok && last_digit;
  }

  // What is wrong with the number, or empty.
  struct Scan {
    std::string digits;  // ready for from_chars: no underscores, no 0x
    bool hex = false;
    bool real = false;
    std::string wrong;
  };

  void exponent(Scan& scan) {
    scan.real = true;
    scan.digits += scan.hex ? 'p' : 'e';
    ++pos_;
    if (at(pos_) == '-') scan.digits += '-';
    if (at(pos_) == '-' || at(pos_) == '+') ++pos_;
    if (!digit_run(is_digit, scan.digits)) scan.wrong = "its exponent has no digits";
  }

  bool at_exponent(bool hex) const {
    char c = at(pos_);
    return hex ? c == 'p' || c == 'P' : c == 'e' || c == 'E';
  }

  Scan scan_number() {
    Scan scan;
    scan.hex = at(pos_) == '0' && (at(pos_ + 1) == 'x' || at(pos_ + 1) == 'X');
    if (at(pos_ + 1) == 'X' && scan.hex) scan.wrong = "the prefix is a small `0x`";
    if (scan.hex) pos_ += 2;
    auto accept = scan.hex ? is_hex_digit : is_digit;
    if (at(pos_) == '.') {
      scan.wrong = "a digit must stand before the point";
    } else if (!digit_run(accept, scan.digits)) {
      scan.wrong = "an underscore groups digits and stands between two of them";
      if (scan.digits.empty()) scan.wrong = "no digits follow `0x`";
    }
    if (at(pos_) == '.') {
      ++pos_;
      scan.real = true;
      scan.digits += '.';
      if (!digit_run(accept, scan.digits) && scan.wrong.empty()) {
        scan.wrong = accept(text_[pos_ - 1]) || text_[pos_ - 1] == '_'
                         ? "an underscore groups digits and stands between two of them"
                         : "a digit must stand after the point";
      }
      if (scan.hex && !at_exponent(true) && scan.wrong.empty()) {
        scan.wrong = "a hexadecimal fraction needs its exponent, as in `0x1.8p-3`";
      }
    }
    if (at_exponent(scan.hex)) exponent(scan);
    if (is_name_char(at(pos_)) && scan.wrong.empty()) {
      scan.wrong = "a name follows it directly; write `*` between a number and a name";
    }
    while (is_name_char(at(pos_))) ++pos_;
    return scan;
  }

  void number() {
    std::size_t begin = pos_;
    Scan scan = scan_number();
    Token& token = push(scan.real ? Tok::real : Tok::integer, begin);
    if (!scan.wrong.empty()) {
      return report(token.span, "E0103", fmt::format("`{}` is not a number", token.text),
                    scan.wrong);
    }
    const char* first = scan.digits.data();
    const char* last = first + scan.digits.size();
    if (scan.real) return real_value(token, first, last, scan.hex);
    auto [end, code] = std::from_chars(first, last, token.integer, scan.hex ? 16 : 10);
    if (code != std::errc() || token.integer > (std::uint64_t{1} << 63)) {
      token.integer = 0;
      report(token.span, "E0106", fmt::format("`{}` does not fit in 64 bits", token.text),
             "write it with a point to make it a real number");
    }
  }

  void real_value(Token& token, const char* first, const char* last, bool hex) {
    auto format = hex ? std::chars_format::hex : std::chars_format::general;
    auto [end, code] = std::from_chars(first, last, token.real, format);
    if (code == std::errc::result_out_of_range && is_small({first, last}, hex)) {
      token.real = 0;
    } else if (code != std::errc() || std::isinf(token.real)) {
      token.real = 0;
      report(token.span, "E0106", fmt::format("`{}` is larger than any f64", token.text),
             "write inf if that is meant");
    }
  }

  const Source& source_;
  std::string_view text_;
  Diagnostics& errors_;
  std::size_t pos_ = 0;
  bool newline_ = true;
  bool encoding_reported_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

Tok keyword(std::string_view text) {
  for (const Word& word : kWords) {
    if (word.text == text) return word.kind;
  }
  return Tok::name;
}

bool is_statement_word(Tok kind) { return kind >= Tok::kw_param && kind <= Tok::kw_sorted; }
bool is_clause_word(Tok kind) { return kind >= Tok::kw_into && kind <= Tok::kw_commutative; }

bool can_end_statement(Tok kind) {
  switch (kind) {
    case Tok::name:
    case Tok::integer:
    case Tok::real:
    case Tok::rparen:
    case Tok::rbracket:
    case Tok::kw_inf:
    case Tok::kw_nan:
    case Tok::kw_true:
    case Tok::kw_false:
    case Tok::kw_commutative:
      return true;
    default:
      return false;
  }
}

bool can_begin_statement(Tok kind) {
  return kind == Tok::name || kind == Tok::lparen || is_statement_word(kind);
}

std::vector<Token> lex(const Source& source, Diagnostics& errors) {
  return Lexer(source, errors).run();
}

Diagnostic diagnose(const Source& source, Span span, std::string id, std::string message,
                    std::string hint, std::string label) {
  Diagnostic d;
  d.id = std::move(id);
  d.message = std::move(message);
  d.where = source.location(span);
  d.label = std::move(label);
  d.hint = std::move(hint);
  return d;
}

}  // namespace tang
