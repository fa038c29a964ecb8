// Checkpoints and tokenizers: what is read, and that damaged files are refused before any use.
#include "support/llama_files.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "front/llama_checkpoint.h"
#include "front/tokenizer_file.h"
#include "support/temp_dir.h"

namespace tang {
namespace {

std::string id_of(const Result<LlamaCheckpoint>& r) { return r ? "" : r.error().id; }
std::string id_of(const Result<Vocabulary>& r) { return r ? "" : r.error().id; }

TEST(LlamaCheckpoint, BlocksLieInTheOrderOfTheFile) {
  const TempDir dir;
  const std::string bytes = llama_file(small_llama);
  const auto model = LlamaCheckpoint::open(dir.write("m.bin", bytes));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->shape().head(), 4);
  EXPECT_EQ(model->shape().group(), 2);
  std::vector<float> all((bytes.size() - 28) / 4);
  std::memcpy(all.data(), bytes.data() + 28, 4 * all.size());
  size_t next = 0;
  for (size_t k = 0; k < llama_weight_kinds; ++k) {
    const auto kind = static_cast<LlamaWeight>(k);
    const bool once = kind == LlamaWeight::embedding || kind == LlamaWeight::final_norm;
    for (int64_t layer = 0; layer < (once ? 1 : 2); ++layer)
      for (const float w : model->weight(kind, layer)) ASSERT_EQ(w, all[next++]) << k;
  }
  EXPECT_EQ(next + 12 * 4, all.size());  // the rotary tables
}

TEST(LlamaCheckpoint, TruncatedFilesAreRefused) {
  const TempDir dir;
  const std::string bytes = llama_file(small_llama);
  for (size_t size = 0; size < bytes.size(); size += size < 64 ? 1 : 997) {
    const auto model = LlamaCheckpoint::open(dir.write("m.bin", bytes.substr(0, size)));
    ASSERT_EQ(id_of(model), "E0702") << size;
    EXPECT_NE(model.error().message.find("m.bin"), std::string::npos);
    EXPECT_EQ(model.error().exit, Exit::bad_input);
  }
  EXPECT_EQ(id_of(LlamaCheckpoint::open(dir.write("m.bin", bytes.substr(0, bytes.size() - 1)))),
            "E0702");
  EXPECT_EQ(id_of(LlamaCheckpoint::open(dir.write("m.bin", bytes + "x"))), "E0703");
  EXPECT_EQ(id_of(LlamaCheckpoint::open(dir / "missing")), "E0701");
}

TEST(LlamaCheckpoint, HostileHeadersAreRefused) {
  const TempDir dir;
  const std::string bytes = llama_file(small_llama);
  for (size_t field = 0; field < 7; ++field)
    for (const int32_t value : {INT32_MIN, -512, -1, 0, 3, 7, 1 << 16, 1 << 24, INT32_MAX}) {
      std::string damaged = bytes;
      std::memcpy(damaged.data() + 4 * field, &value, 4);
      const auto model = LlamaCheckpoint::open(dir.write("m.bin", damaged));
      ASSERT_FALSE(model) << field << " " << value;
      const std::string id = model.error().id;
      if (value <= 0)
        EXPECT_EQ(id, "E0714") << field << " " << value;
      else
        EXPECT_TRUE(id == "E0702" || id == "E0703" || id == "E0714") << id;
      EXPECT_EQ(model.error().exit, Exit::bad_input);
    }
  // Every field at its largest: sizes stay within 64 bits.
  std::string largest;
  for (const int32_t v : {1 << 24, 1 << 24, 128, 1, 1, 1 << 24, 1 << 24}) append_bytes(largest, v);
  EXPECT_EQ(id_of(LlamaCheckpoint::open(dir.write("m.bin", largest))), "E0702");
}

TEST(TokenizerFile, TokensWithScores) {
  const TempDir dir;
  const auto v = read_tokenizer(
      dir.write("t.bin", tokenizer_file({{"a", 0}, {"", -1}, {std::string("\0b", 2), 2.5f}})), 3);
  ASSERT_TRUE(v) << v.error().message;
  EXPECT_EQ(v->tokens[2].bytes, std::string("\0b", 2));
  EXPECT_EQ(v->tokens[2].score, 2.5f);
}

TEST(TokenizerFile, DamagedFilesAreRefused) {
  const TempDir dir;
  const std::string bytes = tokenizer_file({{"one", 1}, {"three", 3}});
  const auto read = [&](const std::string& b) { return read_tokenizer(dir.write("t.bin", b), 2); };
  ASSERT_TRUE(read(bytes));
  const size_t first = 4 + 8 + 3;  // the file may end here, with one token
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(id_of(read(bytes.substr(0, size))), size == 4 || size == first ? "E0715" : "E0702");
  const auto with = [&](size_t at, auto value) {
    std::string damaged = bytes;
    std::memcpy(damaged.data() + at, &value, sizeof value);
    return id_of(read(damaged));
  };
  for (const int32_t length : {-1, INT32_MIN, 6, INT32_MAX}) EXPECT_EQ(with(8, length), "E0715");
  for (const int32_t longest : {0, -1, 2}) EXPECT_EQ(with(0, longest), "E0715");
  EXPECT_EQ(with(4, std::numeric_limits<float>::quiet_NaN()), "E0715");
  EXPECT_EQ(with(4, -std::numeric_limits<float>::infinity()), "E0715");
  EXPECT_EQ(id_of(read(bytes + bytes.substr(4))), "E0715");  // four tokens
  EXPECT_EQ(id_of(read_tokenizer(dir / "missing", 2)), "E0701");
}

}  // namespace
}  // namespace tang
