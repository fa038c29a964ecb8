#include "models/tokenizer.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "support/llama_files.h"
#include "support/test_data.h"

namespace tang {
namespace {

constexpr int32_t first = 3 + 256;  // the id of the first token after the bytes

Tokenizer with(const std::vector<TestToken>& more) {
  Vocabulary v;
  for (const TestToken& t : test_tokens(more)) v.tokens.push_back({t.bytes, t.score});
  return Tokenizer(std::move(v));
}

using Ids = std::vector<int32_t>;

TEST(Tokenizer, MergesByScoreThenFromTheLeft) {
  const Tokenizer t =
      with({{" ", -9}, {"a", -9}, {"b", -9}, {"ab", -2}, {"ba", -1}, {"aa", -3}, {" a", -8}});
  EXPECT_EQ(t.encode("").value(), Ids{1});
  EXPECT_EQ(t.encode("a").value(), (Ids{1, first + 6}));
  // "ba" is worth more than "ab".
  EXPECT_EQ(t.encode("aba").value(), (Ids{1, first + 6, first + 4}));
  // Of equal joins the left one: (aa)a, before " a" is looked at.
  EXPECT_EQ(t.encode("aaa").value(), (Ids{1, first, first + 5, first + 1}));
}

TEST(Tokenizer, UnknownCharactersAreBytes) {
  const Tokenizer t = with({{" ", 0}});
  EXPECT_EQ(t.encode("é").value(), (Ids{1, first, 3 + 0xc3, 3 + 0xa9}));
  EXPECT_EQ(t.piece(5, 3 + 0xc3) + t.piece(5, 3 + 0xa9), "é");
}

TEST(Tokenizer, BadPromptsNameTheByte) {
  const Tokenizer t = with({{" ", 0}});
  for (const char* text : {"ab\xff", "ab\xc3", "ab\xed\xa0\x80", "ab\xc0\x80"}) {
    const auto tokens = t.encode(text);
    ASSERT_FALSE(tokens);
    EXPECT_EQ(tokens.error().id, "E0716");
    EXPECT_NE(tokens.error().message.find("byte 2"), std::string::npos) << tokens.error().message;
  }
  Vocabulary few;
  few.tokens = {{"<unk>", 0}, {"<s>", 0}};
  EXPECT_EQ(Tokenizer(few).encode("a").error().id, "E0716");
}

TEST(Tokenizer, PiecesPrintAsLlama2c) {
  const Tokenizer t = with({{" a", 0}, {"\a", 0}, {"\n", 0}});
  EXPECT_EQ(t.piece(Tokenizer::bos, first), "a");
  EXPECT_EQ(t.piece(first, first), " a");
  EXPECT_EQ(t.piece(first, first + 1), "");  // a bell
  EXPECT_EQ(t.piece(first, 3 + 0x07), "");
  EXPECT_EQ(t.piece(first, first + 2), "\n");
  EXPECT_EQ(t.piece(first, 3 + 'x'), "x");
  EXPECT_EQ(t.piece(first, -1) + t.piece(first, 1 << 20), "");
}

TEST(Tokenizer, LongPromptsTakeNoQuadraticTime) {
  const Tokenizer t = with({{"a", 0}, {"aa", 1}, {"aaaa", 2}, {" ", 0}});
  const auto tokens = t.encode(std::string(1 << 18, 'a'));
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->size(), 2U + (1 << 16));
}

TEST(Tokenizer, RealVocabularyReadsBackWhatItWrites) {
  const std::string file = test_data("tok512.bin");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  const Tokenizer t(read_tokenizer(file, 512).value());
  for (const std::string text :
       {"Once upon a time", "Zürich, 2 × 3 = 6!\n\tdone", "  two  spaces "}) {
    const Ids ids = t.encode(text).value();
    std::string back;
    for (size_t k = 1; k < ids.size(); ++k) back += t.piece(ids[k - 1], ids[k]);
    EXPECT_EQ(back, text);
  }
  EXPECT_EQ(t.encode("Once upon").value().size(), 3U);
}

}  // namespace
}  // namespace tang
