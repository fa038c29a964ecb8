// The cache as one file, to carry to another machine of the same kind.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"
#include "run/cache.h"

namespace tang {

namespace {

constexpr std::string_view magic = "tangpak1";
constexpr size_t key_size = 32, hash_size = 16;
constexpr int64_t largest_file = int64_t{1} << 32;

std::string number(uint64_t value) {
  std::string text(8, '\0');
  std::memcpy(text.data(), &value, 8);
  return text;
}

std::string hash_of(std::string_view text) {
  const Hash128 hash = hash_text(text);
  return number(hash.low) + number(hash.high);
}

bool is_key(std::string_view text) {
  return text.size() == key_size &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Reads an exported file from front to back.
class Reader {
 public:
  Reader(std::string file, std::string_view content) : file_(std::move(file)), content_(content) {}

  // The entries by key; they point into the content.
  Result<std::map<std::string, std::string_view>> read() {
    if (!content_.starts_with(magic.substr(0, std::min(magic.size(), content_.size()))))
      return malformed("it does not begin as a file of `tang cache export` does");
    if (content_.size() < magic.size() + 8 + hash_size) return truncated(8 + hash_size);
    at_ = magic.size();
    const uint64_t count = take_number();
    std::map<std::string, std::string_view> entries;
    for (uint64_t k = 0; k < count; ++k) {
      if (left() < key_size + 8) return truncated(key_size + 8);
      const size_t begin = at_;
      const std::string key(take(key_size));
      const uint64_t bytes = take_number();
      if (!is_key(key)) return malformed(fmt::format("the key at byte {} is none", begin));
      if (bytes > left()) return truncated(bytes);
      if (!entries.emplace(key, take(bytes)).second)
        return malformed(fmt::format("the key at byte {} stands there twice", begin));
      if (!is_sealed(entries[key]))
        return malformed(fmt::format("the entry at byte {} is damaged", begin));
    }
    if (left() > 0) return malformed(fmt::format("{} bytes are left over", left()));
    if (!content_.ends_with(hash_of(content_.substr(0, at_))))
      return malformed("its checksum is wrong");
    return entries;
  }

 private:
  // Bytes before the checksum at the end.
  size_t left() const { return content_.size() - hash_size - at_; }
  std::string_view take(size_t bytes) {
    at_ += bytes;
    return content_.substr(at_ - bytes, bytes);
  }
  uint64_t take_number() {
    uint64_t value = 0;
    std::memcpy(&value, take(8).data(), 8);
    return value;
  }
  tl::unexpected<Diagnostic> truncated(uint64_t wanted) const {
    return error("E0702",
                 fmt::format("{}: the file is truncated: {} bytes are needed from byte {}, but it "
                             "ends at byte {}",
                             file_, wanted, at_, content_.size()),
                 "export it again; nothing was imported");
  }
  tl::unexpected<Diagnostic> malformed(const std::string& why) const {
    return error("E0703", fmt::format("{}: {}", file_, why),
                 "export it again; nothing was imported");
  }

  std::string file_;
  std::string_view content_;
  size_t at_ = 0;
};

// New files of a directory that get their names together, or vanish.
class NewEntries {
 public:
  explicit NewEntries(const std::string& dir) : dir_(dir) {}
  ~NewEntries() {
    for (const std::string& key : written_) unlink(partial(key).c_str());
    for (const std::string& key : named_) unlink(final(key).c_str());
  }
  NewEntries(const NewEntries&) = delete;
  NewEntries& operator=(const NewEntries&) = delete;

  bool exists(const std::string& key) const { return access(final(key).c_str(), F_OK) == 0; }
  bool write(const std::string& key, std::string_view content) {
    if (!write_new_file(partial(key), content)) return false;
    written_.push_back(key);
    return true;
  }
  bool name_all() {
    for (const std::string& key : written_) {
      if (rename(partial(key).c_str(), final(key).c_str()) != 0) return false;
      named_.push_back(key);
    }
    written_.clear();
    named_.clear();
    return true;
  }

 private:
  std::string final(const std::string& key) const { return fmt::format("{}/{}.so", dir_, key); }
  std::string partial(const std::string& key) const {
    return fmt::format("{}/{}.{}.import.partial", dir_, key, getpid());
  }

  std::string dir_;
  std::vector<std::string> written_, named_;
};

}  // namespace

Result<CacheInfo> cache_export(const std::string& dir, const std::string& file) {
  CacheInfo info;
  std::string entries;
  for (const CacheEntry& e : cache_entries(dir)) {
    const auto content = read_file(fmt::format("{}/{}.so", dir, e.key), largest_file);
    if (!content || !is_sealed(*content)) continue;
    entries += e.key + number(content->size()) + *content;
    ++info.entries;
    info.bytes += static_cast<int64_t>(content->size());
  }
  std::string all =
      std::string(magic) + number(static_cast<uint64_t>(info.entries)) + std::move(entries);
  all += hash_of(all);
  if (auto written = write_file(file, all); !written) return tl::unexpected(written.error());
  return info;
}

Result<CacheInfo> cache_import(const std::string& dir, const std::string& file) {
  const auto content = read_file(file, largest_file);
  if (!content) return tl::unexpected(content.error());
  const auto entries = Reader(file, *content).read();
  if (!entries) return tl::unexpected(entries.error());
  const auto refused = [&](const std::string& reason) {
    return error("E0708", fmt::format("the cache directory `{}` cannot be used: {}", dir, reason),
                 "set TANG_CACHE_DIR to a writable directory; nothing was imported");
  };
  std::error_code failed;
  std::filesystem::create_directories(dir, failed);
  if (failed) return refused(failed.message());
  CacheInfo added;
  NewEntries fresh(dir);
  for (const auto& [key, entry] : *entries) {
    if (fresh.exists(key)) continue;
    if (!fresh.write(key, entry)) return refused(std::strerror(errno));
    ++added.entries;
    added.bytes += static_cast<int64_t>(entry.size());
  }
  if (!fresh.name_all()) return refused(std::strerror(errno));
  return added;
}

}  // namespace tang
