#include "base/files.h"

#include <csignal>
#include <cstring>
#include <limits>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/json.h"
#include "support/temp_dir.h"

namespace tang {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Files, ReadsAndMaps) {
  const TempDir dir;
  const std::string path = dir.write("a.bin", "hello");
  EXPECT_EQ(read_file(path, 5).value(), "hello");
  EXPECT_EQ(read_file(path, 4).error().id, "E0701");
  EXPECT_EQ(text_of(MappedFile::open(path).value().bytes()), "hello");
  EXPECT_TRUE(MappedFile::open(dir.write("empty", "")).value().bytes().empty());
  const InputFile file = InputFile::open(path).value();
  EXPECT_EQ(file.size(), 5);
  std::byte two[2];
  ASSERT_TRUE(file.read(3, two));
  EXPECT_EQ(text_of(two), "lo");
  EXPECT_EQ(file.read(4, two).error().id, "E0702");
  EXPECT_EQ(file.read(-1, two).error().id, "E0702");
  EXPECT_EQ(file.read(std::numeric_limits<int64_t>::max(), two).error().id, "E0702");
}

TEST(Files, MissingAndDirectories) {
  const TempDir dir;
  EXPECT_EQ(InputFile::open(dir / "none").error().id, "E0701");
  EXPECT_EQ(MappedFile::open(dir / "none").error().id, "E0701");
  EXPECT_NE(InputFile::open(dir / "").error().message.find("directory"), std::string::npos);
  EXPECT_EQ(write_file(dir / "", "x").error().id, "E0708");
  EXPECT_EQ(write_file(dir / "none/x", "x").error().id, "E0708");
}

TEST(Files, PipesAreReadToTheirEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "abc", 3), 3);
  close(ends[1]);
  const auto file = InputFile::open("/dev/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), 3);
  std::byte out[2];
  ASSERT_TRUE(file->read(1, out));
  EXPECT_EQ(text_of(out), "bc");
}

TEST(Files, WritesReplaceWhole) {
  const TempDir dir;
  const std::string path = dir / "out";
  ASSERT_TRUE(write_file(path, "first"));
  chmod(path.c_str(), 0640);
  const std::string more = "cond";
  ASSERT_TRUE(write_file(path, ByteParts{std::as_bytes(std::span("se", 2)),
                                         {},
                                         std::as_bytes(std::span(more.data(), more.size()))}));
  EXPECT_EQ(dir.read("out"), "second");
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
  EXPECT_EQ(dir.file_count(), 1U);
}

TEST(Files, WritesThroughLinksAndIntoDevices) {
  const TempDir dir;
  dir.write("real", "old");
  ASSERT_EQ(symlink("real", (dir / "link").c_str()), 0);
  ASSERT_TRUE(write_file(dir / "link", "new"));
  EXPECT_EQ(dir.read("real"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_TRUE(write_file("/dev/null", "x"));
  const auto full = write_file("/dev/full", "x");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().id, "E0708");
  EXPECT_NE(full.error().message.find("No space left"), std::string::npos);
}

TEST(Files, FileSizeLimitLeavesNothing) {
  const TempDir dir;
  dir.write("old", "old");
  struct rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = before;
  small.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string big(5000, 'x');
  const auto fresh = write_file(dir / "fresh", big);
  const auto old = write_file(dir / "old", big);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(fresh);
  EXPECT_EQ(fresh.error().id, "E0708");
  EXPECT_NE(fresh.error().message.find("too large"), std::string::npos);
  EXPECT_FALSE(old);
  EXPECT_EQ(dir.read("old"), "old");
  EXPECT_EQ(dir.file_count(), 1U);
}

TEST(Json, NumbersThatJsonLacks) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(json_number(inf).dump(), "\"inf\"");
  EXPECT_EQ(json_number(-inf).dump(), "\"-inf\"");
  EXPECT_EQ(json_number(std::numeric_limits<double>::quiet_NaN()).dump(), "\"nan\"");
  EXPECT_EQ(json_number(0.1).dump(), "0.1");
  for (const double x : {0.1, -0.0, inf, -inf, 1e-320}) EXPECT_EQ(number_of(json_number(x)), x);
  EXPECT_FALSE(number_of("x"));
  EXPECT_FALSE(number_of(nlohmann::json::array()));
}

TEST(Json, ParsesStrictly) {
  EXPECT_EQ(parse_json("{\"a\": [1]}", "f", "E0703").value()["a"][0], 1);
  for (const char* bad : {"", "{", "{} x", "{\"a\": 1e999}", "{\"a\":1, \"a\":2}",
                          "{\"b\": {\"a\":1, \"a\":2}}", "[\"\xff\"]"}) {
    const auto value = parse_json(bad, "some file", "E0703");
    ASSERT_FALSE(value) << bad;
    EXPECT_EQ(value.error().id, "E0703");
    EXPECT_NE(value.error().message.find("some file"), std::string::npos);
  }
  EXPECT_TRUE(parse_json("[{\"a\":1}, {\"a\":2}]", "f", "E0703"));
  EXPECT_FALSE(parse_json(std::string(100000, '['), "f", "E0703"));
  EXPECT_TRUE(parse_json(std::string(100000, '[') + std::string(100000, ']'), "f", "E0703"));
  EXPECT_EQ(json_text({{"b", 1}, {"a", "\xff"}}), "{\n  \"a\": \"\xEF\xBF\xBD\",\n  \"b\": 1\n}\n");
}

TEST(Hash, ContentAndFields) {
  EXPECT_EQ(hash_text("").hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_text("a").hex().size(), 32U);
  EXPECT_NE(hash_text("a"), hash_text("a", 1));
  const auto of = [](std::string_view a, std::string_view b) {
    return Hasher().add(a).add(b).finish();
  };
  EXPECT_EQ(of("ab", "c"), of("ab", "c"));
  EXPECT_NE(of("ab", "c"), of("a", "bc"));
}

}  // namespace
}  // namespace tang
