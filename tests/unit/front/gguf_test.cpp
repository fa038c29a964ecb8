// GGUF files: what is read, and what is refused without touching memory.
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "front/array_file.h"
#include "support/temp_dir.h"

namespace tang {
namespace {

using namespace std::string_literals;

template <class T>
std::string bytes(T value) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

std::string u32(uint32_t x) { return bytes(x); }
std::string u64(uint64_t x) { return bytes(x); }
std::string text(const std::string& s) { return u64(s.size()) + s; }

struct Info {
  std::string name;
  std::vector<uint64_t> extents;  // the fastest first
  uint32_t type;
  uint64_t offset;
};

std::string entry(const Info& t) {
  std::string out = text(t.name) + u32(static_cast<uint32_t>(t.extents.size()));
  for (const uint64_t n : t.extents) out += u64(n);
  return out + u32(t.type) + u64(t.offset);
}

std::string header(uint64_t tensors, uint64_t values, uint32_t version = 3) {
  return "GGUF"s + u32(version) + u64(tensors) + u64(values);
}

std::string gguf(const std::vector<Info>& tensors, const std::string& data,
                 const std::vector<std::string>& values = {}, uint64_t alignment = 32) {
  std::string out = header(tensors.size(), values.size());
  for (const std::string& v : values) out += v;
  for (const Info& t : tensors) out += entry(t);
  out.resize((out.size() + alignment - 1) / alignment * alignment, '\0');
  return out + data;
}

const uint32_t type_f32 = 0, type_q4_1 = 3, type_q8_0 = 8, type_q4_k = 12, type_i16 = 25;

// Metadata of every type: a string, an array of strings, an array of arrays, numbers.
std::vector<std::string> metadata() {
  return {text("general.name") + u32(8) + text("a model"),
          text("tokens") + u32(9) + u32(8) + u64(3) + text("a") + text("") + text("bc"),
          text("nested") + u32(9) + u32(9) + u64(1) + u32(0) + u64(3) + "xyz",
          text("scores") + u32(9) + u32(6) + u64(2) + bytes(1.5F) + bytes(2.5F),
          text("flag") + u32(7) + "\1",
          text("count") + u32(10) + u64(7),
          text("x") + u32(12) + bytes(0.5)};
}

class GgufFiles : public ::testing::Test {
 protected:
  Result<Array> load(const std::string& contents, const std::optional<std::string>& member = {}) {
    return read_array(dir_.write("a.gguf", contents), member);
  }

  void refuses(const std::string& contents, const std::string& id, const std::string& word) {
    const auto a = load(contents);
    ASSERT_FALSE(a) << word;
    EXPECT_EQ(a.error().id, id) << a.error().message;
    EXPECT_EQ(a.error().exit, Exit::bad_input);
    EXPECT_NE(a.error().message.find(word), std::string::npos) << a.error().message;
    EXPECT_NE(a.error().message.find("a.gguf"), std::string::npos) << a.error().message;
  }

  TempDir dir_;
};

TEST_F(GgufFiles, PlainAndBlocks) {
  std::string data;
  for (int k = 0; k < 6; ++k) data += bytes(static_cast<float>(k));
  data.resize(32, '\0');
  std::string block = bytes<uint16_t>(0x3800);  // 0.5
  for (int k = 0; k < 32; ++k) block += static_cast<char>(k - 16);
  data += block + block;
  data.resize(128, '\0');
  data += bytes<int16_t>(-5);
  const std::string file = gguf(
      {{"x", {3, 2}, type_f32, 0}, {"blk.0.w", {32, 2}, type_q8_0, 32}, {"n", {}, type_i16, 128}},
      data, metadata());
  const auto x = load(file, "x");
  ASSERT_TRUE(x) << x.error().message;
  EXPECT_EQ(x->shape, (std::vector<int64_t>{2, 3}));
  for (int64_t k = 0; k < 6; ++k) EXPECT_EQ(x->at(k), static_cast<double>(k));
  const auto w = load(file, "blk.0.w");
  ASSERT_TRUE(w) << w.error().message;
  EXPECT_EQ(w->format, Format::q8_0);
  EXPECT_EQ(w->shape, (std::vector<int64_t>{2, 32}));
  for (int64_t k = 0; k < 64; ++k) EXPECT_EQ(w->at(k), 0.5 * static_cast<double>(k % 32 - 16));
  const auto n = load(file, "n");
  ASSERT_TRUE(n) << n.error().message;
  EXPECT_EQ(n->format, Format::i32);
  EXPECT_EQ(n->integer_at(0), -5);
  EXPECT_EQ(read_arrays(dir_ / "a.gguf")->size(), 3U);
}

TEST_F(GgufFiles, AlignmentOfTheFile) {
  const std::string data = bytes(1.5F) + std::string(60, '\0') + bytes(2.5F);
  const auto y = load(gguf({{"x", {1}, type_f32, 0}, {"y", {1}, type_f32, 64}}, data,
                           {text("general.alignment") + u32(4) + u32(64)}, 64),
                      "y");
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ(y->at(0), 2.5);
  refuses(gguf({}, "", {text("general.alignment") + u32(4) + u32(0)}), "E0703", "alignment");
  refuses(gguf({}, "", {text("general.alignment") + u32(4) + u32(12)}), "E0703", "alignment");
  refuses(gguf({}, "", {text("general.alignment") + u32(10) + u64(64)}), "E0703", "alignment");
}

TEST_F(GgufFiles, OtherTypesAreNamedWhenRead) {
  const std::string file =
      gguf({{"q", {32}, type_q4_1, 0}, {"x", {1}, type_f32, 32}}, std::string(36, '\0'));
  EXPECT_TRUE(load(file, "x"));
  const auto q = load(file, "q");
  ASSERT_FALSE(q);
  EXPECT_EQ(q.error().id, "E0704");
  EXPECT_NE(q.error().hint.find("Q4_K"), std::string::npos) << q.error().hint;
}

TEST_F(GgufFiles, EveryTruncationIsRefused) {
  const std::string whole = gguf({{"x", {3, 2}, type_f32, 0}}, std::string(24, 'x'), metadata());
  ASSERT_TRUE(load(whole));
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto a = load(whole.substr(0, length));
    ASSERT_FALSE(a) << length;
    EXPECT_TRUE(a.error().id == "E0702" || a.error().id == "E0703") << a.error().message;
    EXPECT_EQ(a.error().exit, Exit::bad_input);
  }
}

TEST_F(GgufFiles, Starts) {
  refuses("GGML" + header(0, 0).substr(4), "E0703", "GGUF");
  refuses(header(0, 0, 1), "E0703", "version 1");
  refuses(header(0, 0, 0x03000000), "E0703", "little-endian");
  refuses(header(uint64_t{1} << 62, 0), "E0702", "tensors");
  refuses(header(0, UINT64_MAX), "E0702", "metadata entries");
}

TEST_F(GgufFiles, Metadata) {
  const auto with = [](const std::string& value) { return gguf({}, std::string(64, 0), {value}); };
  refuses(with(u64(UINT64_MAX)), "E0702", "metadata key");
  refuses(gguf({}, std::string(100000, 'x'), {text(std::string(70000, 'k')) + u32(0) + "x"}),
          "E0703", "70000");
  refuses(with(text("k") + u32(13)), "E0703", "type 13");
  refuses(with(text("k") + u32(8) + u64(1 << 20)), "E0702", "string");
  refuses(with(text("k") + u32(9) + u32(4) + u64(uint64_t{1} << 61)), "E0702", "elements");
  refuses(with(text("k") + u32(9) + u32(8) + u64(1 << 20)), "E0702", "elements");
  std::string deep = text("k") + u32(9);
  for (int k = 0; k < 100; ++k) deep += u32(9) + u64(1);
  refuses(with(deep), "E0703", "type 9");
}

TEST_F(GgufFiles, Tensors) {
  const std::string data(64, '\0');
  refuses(gguf({{"x", {1, 1, 1, 1, 1, 1, 1, 1, 1}, type_f32, 0}}, data), "E0703", "9 axes");
  refuses(gguf({{"x", {UINT64_MAX}, type_f32, 0}}, data), "E0703", "`x`");
  refuses(gguf({{"x", {1 << 30, 1 << 30, 1 << 30}, type_f32, 0}}, data), "E0703", "overflows");
  refuses(gguf({{"x", {uint64_t{1} << 62}, type_f32, 0}}, data), "E0703", "overflows");
  refuses(gguf({{"x", {4}, type_f32, UINT64_MAX - 31}}, data), "E0703", "offset");
  refuses(gguf({{"x", {4}, type_f32, 4}}, data), "E0703", "multiple of 32");
  refuses(gguf({{"x", {4}, type_f32, uint64_t{1} << 40}}, data), "E0702", "truncated");
  refuses(gguf({{"x", {17}, type_f32, 0}}, data), "E0702", "68 bytes");
  refuses(gguf({{"x", {4}, type_f32, 0}, {"x", {4}, type_f32, 32}}, data), "E0703", "twice");
  refuses(gguf({{"x", {9}, type_f32, 0}, {"y", {4}, type_f32, 32}}, data), "E0703", "overlapping");
  refuses(gguf({{"x", {4}, type_f32, 0}, {"y", {4}, type_f32, 0}}, data), "E0703", "overlapping");
}

// V30: a row of 896 is no whole number of super-blocks.
TEST_F(GgufFiles, RowsThatAreNoWholeBlocks) {
  for (const uint64_t row : {896, 4544})
    refuses(gguf({{"w", {row, 256}, type_q4_k, 0}}, std::string(row * 144, '\0')), "E0703",
            "Q4_K, 256");
  const auto w = load(gguf({{"w", {896, 2}, type_q8_0, 0}}, std::string(2 * 28 * 34, '\0')));
  ASSERT_TRUE(w) << w.error().message;
  EXPECT_EQ(w->shape, (std::vector<int64_t>{2, 896}));
}

TEST_F(GgufFiles, EveryByteDamagedNeverCrashes) {
  const std::string whole = gguf({{"x", {32, 2}, type_q8_0, 0}}, std::string(68, 'x'), metadata());
  for (size_t at = 0; at < whole.size(); ++at)
    for (const char damage : {'\xff', '\x7f', '\x00', '\x01'}) {
      std::string file = whole;
      file[at] = damage;
      const auto a = load(file);
      if (!a) EXPECT_EQ(a.error().exit, Exit::bad_input) << at << " " << a.error().message;
    }
}

}  // namespace
}  // namespace tang
