#include "front/lexer.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace tang {
namespace {

struct Lexed {
  explicit Lexed(std::string text) : source("t.tang", std::move(text)) {
    tokens = lex(source, errors);
  }
  Source source;
  Diagnostics errors;
  std::vector<Token> tokens;
};

std::vector<Tok> kinds(const std::string& text) {
  Lexed lexed(text);
  EXPECT_TRUE(lexed.errors.empty()) << lexed.errors[0].message;
  std::vector<Tok> result;
  for (const Token& t : lexed.tokens) result.push_back(t.kind);
  result.pop_back();
  return result;
}

TEST(Lexer, SymbolsTakeTheLongestSpelling) {
  using enum Tok;
  EXPECT_EQ(kinds("( ) [ ] , ; : . ? | -> = + - * / < <= > >= == !="),
            (std::vector<Tok>{lparen,  rparen,        lbracket, rbracket, comma, semicolon,
                              colon,   dot,           question, bar,      arrow, assign,
                              plus,    minus,         star,     slash,    less,  less_equal,
                              greater, greater_equal, equal,    not_equal}));
}

TEST(Lexer, ReservedWordsAndNames) {
  using enum Tok;
  EXPECT_EQ(kinds("param dim input output grad fn monoid sorted"),
            (std::vector<Tok>{kw_param, kw_dim, kw_input, kw_output, kw_grad, kw_fn, kw_monoid,
                              kw_sorted}));
  EXPECT_EQ(
      kinds("into with where identity lift combine commutative and or not inf nan true false"),
      (std::vector<Tok>{kw_into, kw_with, kw_where, kw_identity, kw_lift, kw_combine,
                        kw_commutative, kw_and, kw_or, kw_not, kw_inf, kw_nan, kw_true, kw_false}));
  EXPECT_EQ(kinds("params sum f16 _x x_1 X9"), std::vector<Tok>(6, name));
}

TEST(Lexer, Integers) {
  for (auto [text, value] : {std::pair{"0", 0ull},
                             {"1_000", 1000ull},
                             {"0x1F", 31ull},
                             {"0xff_ff", 65535ull},
                             {"9223372036854775807", 9223372036854775807ull},
                             {"9223372036854775808", 9223372036854775808ull}}) {
    Lexed lexed(text);
    ASSERT_TRUE(lexed.errors.empty()) << text;
    EXPECT_EQ(lexed.tokens[0].kind, Tok::integer);
    EXPECT_EQ(lexed.tokens[0].integer, value);
  }
}

TEST(Lexer, RealsAreTheNearestDouble) {
  for (auto [text, value] : {std::pair{"1.5", 1.5},
                             {"1e3", 1000.0},
                             {"1E-2", 0.01},
                             {"1_0.2_5e+1_0", 10.25e10},
                             {"0x1.8p-3", 0.1875},
                             {"0x1p4", 16.0},
                             {"0x1.fffffffffffffp1023", 1.7976931348623157e308},
                             {"5e-324", 5e-324},
                             {"1e-400", 0.0},
                             {"0x1p-2000", 0.0},
                             {"2.0", 2.0},
                             {"0.1", 0.1},
                             {"1.7976931348623157e308", 1.7976931348623157e308}}) {
    Lexed lexed(text);
    ASSERT_TRUE(lexed.errors.empty()) << text;
    EXPECT_EQ(lexed.tokens[0].kind, Tok::real) << text;
    EXPECT_EQ(lexed.tokens[0].real, value) << text;
  }
}

TEST(Lexer, MalformedNumbers) {
  for (const char* text :
       {"1.", ".5", "1__0", "1_", "1e", "1e+", "0x", "0x1.8", "2x", "0x1.8p", "1._5", "0X1F"}) {
    Lexed lexed(text);
    ASSERT_EQ(lexed.errors.size(), 1u) << text;
    EXPECT_EQ(lexed.errors[0].id, "E0103") << text;
    EXPECT_FALSE(lexed.errors[0].hint.empty()) << text;
  }
}

TEST(Lexer, NumbersOutOfRange) {
  for (const char* text :
       {"9223372036854775809", "99999999999999999999", "1e400", "0x1p5000", "0x8000000000000001"}) {
    Lexed lexed(text);
    ASSERT_EQ(lexed.errors.size(), 1u) << text;
    EXPECT_EQ(lexed.errors[0].id, "E0106") << text;
  }
}

TEST(Lexer, ForeignCharactersAreNamedAndReplaced) {
  for (auto [text, hint, kind] : {std::tuple{"λ", "write lambda", Tok::name},
                                  {"∑", "write sum", Tok::name},
                                  {"×", "write *", Tok::star},
                                  {"−", "write -", Tok::minus},
                                  {"∞", "write inf", Tok::kw_inf},
                                  {"≤", "write <=", Tok::less_equal},
                                  {"≥", "write >=", Tok::greater_equal},
                                  {"≠", "write !=", Tok::not_equal},
                                  {"·", "write *", Tok::star},
                                  {"÷", "write /", Tok::slash},
                                  {"→", "write ->", Tok::arrow},
                                  {"&&", "write and", Tok::kw_and},
                                  {"||", "write or", Tok::kw_or},
                                  {"^", "write pow(x, n)", Tok::bad}}) {
    Lexed lexed(text);
    ASSERT_EQ(lexed.errors.size(), 1u) << text;
    EXPECT_EQ(lexed.errors[0].id, "E0102");
    EXPECT_EQ(lexed.errors[0].hint, hint);
    EXPECT_NE(lexed.errors[0].message.find(text), std::string::npos);
    EXPECT_EQ(lexed.errors[0].where.length,
              text == std::string("&&") || text == std::string("||") ? 2 : 1);
    EXPECT_EQ(lexed.tokens[0].kind, kind) << text;
  }
  EXPECT_EQ(Lexed("λ").tokens[0].text, "lambda");
  EXPECT_EQ(Lexed("日").errors[0].message, "`日` (U+65E5) is not part of the language");
  EXPECT_EQ(Lexed(std::string("\0", 1)).errors[0].message,
            "character U+0000 is not part of the language");
}

TEST(Lexer, CommentsMayHoldAnyCharacter) {
  EXPECT_EQ(kinds("a # λ ∑ 日 \"\nb"), (std::vector<Tok>{Tok::name, Tok::name}));
}

TEST(Lexer, TextThatIsNotUtf8IsReportedOnce) {
  for (const char* text : {"a \xff\xfe b", "# \xc3( comment\nx", "\xed\xa0\x80", "\xc0\x80"}) {
    Lexed lexed(text);
    ASSERT_EQ(lexed.errors.size(), 1u);
    EXPECT_EQ(lexed.errors[0].id, "E0108");
  }
}

TEST(Lexer, ByteOrderMarkCarriageReturnsAndTabs) {
  Lexed lexed("\xEF\xBB\xBFparam\ta\r\ndim b");
  EXPECT_TRUE(lexed.errors.empty());
  ASSERT_EQ(lexed.tokens.size(), 5u);
  Location a = lexed.source.location(lexed.tokens[1].span);
  EXPECT_EQ(std::pair(a.line, a.col), std::pair(1, 7));
  EXPECT_TRUE(lexed.tokens[2].newline_before);
  EXPECT_EQ(Lexed("a\rb").errors[0].id, "E0102");
}

TEST(Lexer, ColumnsCountCharacters) {
  Lexed lexed("é x\n# ∑∑∑\n  ∑ y");
  Location x = lexed.source.location(lexed.tokens[1].span);
  EXPECT_EQ(std::pair(x.line, x.col), std::pair(1, 3));
  Location y = lexed.source.location(lexed.tokens[3].span);
  EXPECT_EQ(std::pair(y.line, y.col), std::pair(3, 5));
}

}  // namespace
}  // namespace tang
