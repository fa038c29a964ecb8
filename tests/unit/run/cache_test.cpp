// The cache between runs: what prune removes, and the cache as one file.
#include "run/cache.h"

#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace tang {
namespace {

namespace fs = std::filesystem;

constexpr int64_t now = 2'000'000'000, day = 24 * 3600;

class CacheTest : public ::testing::Test {
 protected:
  std::string dir(const std::string& name = "cache") const { return temp_ / name; }

  // An entry of `bytes` bytes of object, last used `days` days ago.
  std::string entry(int number, size_t bytes = 100, int64_t days = 0) {
    const Hash128 key = hash_text(std::to_string(number));
    const std::string object = temp_.write("object", std::string(bytes, static_cast<char>(number)));
    const auto file = ObjectCache(dir()).insert(key, object);
    if (!file) return "";
    set_time(*file, now - days * day);
    return *file;
  }

  static void set_time(const std::string& file, int64_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    utimensat(AT_FDCWD, file.c_str(), times, 0);
  }

  static std::string content(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // The error of importing a file of this content; nothing may have been added.
  std::string refused(const std::string& bytes) {
    const std::string file = temp_.write("damaged", bytes);
    const auto imported = cache_import(dir("other"), file);
    EXPECT_EQ(cache_info(dir("other")).entries, 0);
    if (imported) return "";
    EXPECT_EQ(imported.error().exit, Exit::bad_input);
    EXPECT_NE(imported.error().message.find(file), std::string::npos);
    return imported.error().id;
  }

  TempDir temp_;
};

TEST_F(CacheTest, PruneKeepsWhatIsUsed) {
  const std::string fresh = entry(1), old = entry(2, 100, 31), damaged = entry(3);
  std::ofstream(damaged, std::ios::app) << "x";
  set_time(damaged, now);
  const CacheInfo removed = cache_prune(dir(), now);
  EXPECT_EQ(removed.entries, 2);
  EXPECT_EQ(removed.bytes, 132 + 133);
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_FALSE(fs::exists(damaged));
  EXPECT_EQ(cache_prune(dir(), now).entries, 0);
  EXPECT_EQ(cache_prune(dir("none"), now).entries, 0);
}

TEST_F(CacheTest, PruneRemovesTheLongestUnusedUntilTheRestFits) {
  const std::string b = entry(1, 1000, 2), a = entry(2, 1000, 3), c = entry(3, 1000, 1);
  EXPECT_EQ(cache_prune(dir(), now, {.bytes = 3 * 1032}).entries, 0);
  EXPECT_EQ(cache_prune(dir(), now, {.bytes = 2 * 1032}).entries, 1);
  EXPECT_FALSE(fs::exists(a));
  EXPECT_EQ(cache_prune(dir(), now, {.bytes = 1032}).entries, 1);
  EXPECT_FALSE(fs::exists(b));
  EXPECT_TRUE(fs::exists(c));
}

TEST_F(CacheTest, PruneRemovesPartialFilesOfTheDeadOnly) {
  entry(1);
  const std::string key(32, 'a');
  const std::string dead = dir() + "/" + key + ".77.0.partial",
                    alive = dir() + "/" + key + ".78.0.partial", mine = dir() + "/other.partial";
  for (const std::string& file : {dead, alive, mine}) std::ofstream(file) << "x";
  set_time(dead, now - day);
  set_time(alive, now - 60);
  set_time(mine, now - day);
  EXPECT_EQ(cache_prune(dir(), now).entries, 0);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_TRUE(fs::exists(mine));
}

TEST_F(CacheTest, FindingAnEntryIsUsingIt) {
  const std::string file = entry(1);
  set_time(file, std::time(nullptr) - 40 * day);
  EXPECT_TRUE(ObjectCache(dir()).find(hash_text("1")));
  EXPECT_EQ(cache_prune(dir(), std::time(nullptr)).entries, 0);
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(CacheTest, ExportsAndImports) {
  const std::string one = entry(1), two = entry(2, 5000);
  const auto exported = cache_export(dir(), temp_ / "file");
  ASSERT_TRUE(exported);
  EXPECT_EQ(exported->entries, 2);
  EXPECT_EQ(exported->bytes, cache_info(dir()).bytes);
  auto imported = cache_import(dir("other"), temp_ / "file");
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->entries, 2);
  for (const std::string& file : {one, two})
    EXPECT_EQ(content(file), content(dir("other") + "/" + fs::path(file).filename().string()));
  // A second import changes nothing, and one into a cache with a part adds the rest.
  EXPECT_EQ(cache_import(dir("other"), temp_ / "file")->entries, 0);
  fs::remove(one);
  EXPECT_EQ(cache_import(dir(), temp_ / "file")->entries, 1);
  EXPECT_TRUE(fs::exists(one));
}

TEST_F(CacheTest, AnEmptyCacheIsAFileToo) {
  ASSERT_TRUE(cache_export(dir("none"), temp_ / "file"));
  EXPECT_EQ(cache_import(dir("other"), temp_ / "file")->entries, 0);
}

TEST_F(CacheTest, EveryTruncationAndEveryFlippedByteIsRefused) {
  entry(1, 20);
  entry(2, 20);
  ASSERT_TRUE(cache_export(dir(), temp_ / "file"));
  const std::string whole = content(temp_ / "file");
  for (size_t n = 0; n < whole.size(); ++n) {
    const std::string id = refused(whole.substr(0, n));
    EXPECT_TRUE(id == "E0702" || id == "E0703") << n << " bytes: " << id;
    std::string flipped = whole;
    flipped[n] = static_cast<char>(flipped[n] ^ 0x41);
    EXPECT_NE(refused(flipped), "") << "byte " << n;
  }
  EXPECT_EQ(refused(whole + "x"), "E0703");
  EXPECT_EQ(refused("not a cache at all, but long enough"), "E0703");
  EXPECT_EQ(refused(whole.substr(0, whole.size() / 2)), "E0702");
}

TEST_F(CacheTest, ADirectoryThatCannotBeWrittenIsAnError) {
  entry(1);
  ASSERT_TRUE(cache_export(dir(), temp_ / "file"));
  const std::string blocked = temp_.write("blocked", "a file");
  const auto imported = cache_import(blocked + "/cache", temp_ / "file");
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().id, "E0708");
  EXPECT_NE(imported.error().message.find(blocked), std::string::npos);
  EXPECT_EQ(cache_export(dir(), temp_ / "no/where").error().id, "E0708");
  EXPECT_EQ(cache_import(dir(), temp_ / "nothing").error().id, "E0701");
}

}  // namespace
}  // namespace tang
