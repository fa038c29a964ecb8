#include "run/cache.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace tang {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "tangobj1";

std::string number(uint64_t value) {
  std::string text(8, '\0');
  std::memcpy(text.data(), &value, 8);
  return text;
}

std::string seal(std::string_view object) {
  const Hash128 hash = hash_text(object);
  return std::string(magic) + number(object.size()) + number(hash.low) + number(hash.high);
}

std::optional<std::string> read_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

// SIGXFSZ of this thread is held back while one of these lives, and forgotten at its end.
class HoldSizeSignal {
 public:
  HoldSizeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set_, &old_);
  }
  ~HoldSizeSignal() {
    const timespec now = {0, 0};
    if (!sigismember(&old_, SIGXFSZ)) sigtimedwait(&set_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }
  HoldSizeSignal(const HoldSizeSignal&) = delete;
  HoldSizeSignal& operator=(const HoldSizeSignal&) = delete;

 private:
  sigset_t set_{}, old_{};
};

bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = write(descriptor, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    content.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool is_key(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string entry_file(const std::string& dir, const std::string& key) {
  return dir + "/" + key + ".so";
}

// Visits the files of a directory with their status; links and folders are none.
template <class Visit>
void visit_files(const std::string& dir, Visit visit) {
  std::error_code failed;
  for (fs::directory_iterator it(dir, failed), end; !failed && it != end; it.increment(failed)) {
    struct stat status = {};
    if (lstat(it->path().c_str(), &status) == 0 && S_ISREG(status.st_mode))
      visit(it->path(), status);
  }
}

// Removes an entry and counts it.
void remove_entry(const std::string& dir, const CacheEntry& e, CacheInfo& removed) {
  if (unlink(entry_file(dir, e.key).c_str()) != 0) return;
  ++removed.entries;
  removed.bytes += e.bytes;
}

void remove_partial_files(const std::string& dir, int64_t before) {
  std::vector<fs::path> old;
  visit_files(dir, [&](const fs::path& path, const struct stat& status) {
    if (path.extension() == ".partial" && is_key(path.filename().string().substr(0, 32)) &&
        status.st_mtime < before)
      old.push_back(path);
  });
  for (const fs::path& path : old) unlink(path.c_str());
}

}  // namespace

bool write_new_file(const std::string& file, std::string_view content) {
  const HoldSizeSignal hold;
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  const bool written = write_all(descriptor, content);
  const int reason = errno;
  const bool closed = close(descriptor) == 0;
  if (written && closed) return true;
  if (!written) errno = reason;
  const int keep = errno;
  unlink(file.c_str());
  errno = keep;
  return false;
}

bool is_sealed(std::string_view content) {
  constexpr size_t seal_size = 32;
  if (content.size() <= seal_size) return false;
  return content.ends_with(seal(content.substr(0, content.size() - seal_size)));
}

std::optional<std::string> ObjectCache::find(const Hash128& key) const {
  const std::string name = file(key);
  const auto content = read_file(name);
  if (!content) return std::nullopt;
  if (is_sealed(*content)) {
    utimensat(AT_FDCWD, name.c_str(), nullptr, 0);  // a directory that is read-only keeps its times
    return name;
  }
  unlink(name.c_str());
  return std::nullopt;
}

Result<std::string> ObjectCache::insert(const Hash128& key, const std::string& object) const {
  const auto give_up = [&](std::string_view reason) {
    return error("W0901", fmt::format("the cache directory `{}` cannot be used: {}", dir_, reason),
                 "set TANG_CACHE_DIR to a writable directory, or TANG_CACHE=0", Exit::ok);
  };
  std::error_code failed;
  fs::create_directories(dir_, failed);
  if (failed) return give_up(failed.message());
  const auto content = read_file(object);
  if (!content) return give_up("the compiled object cannot be read");
  static std::atomic<uint64_t> serial = 0;
  const std::string partial =
      fmt::format("{}/{}.{}.{}.partial", dir_, key.hex(), getpid(), serial++);
  if (!write_new_file(partial, *content + seal(*content))) return give_up(std::strerror(errno));
  if (rename(partial.c_str(), file(key).c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    unlink(partial.c_str());
    return give_up(reason);
  }
  return file(key);
}

std::vector<CacheEntry> cache_entries(const std::string& dir) {
  std::vector<CacheEntry> entries;
  visit_files(dir, [&](const fs::path& path, const struct stat& status) {
    if (path.extension() == ".so" && is_key(path.stem().string()))
      entries.push_back({path.stem().string(), status.st_size, status.st_mtime});
  });
  std::sort(entries.begin(), entries.end(),
            [](const CacheEntry& a, const CacheEntry& b) { return a.key < b.key; });
  return entries;
}

CacheInfo cache_info(const std::string& dir) {
  CacheInfo info;
  for (const CacheEntry& e : cache_entries(dir)) {
    ++info.entries;
    info.bytes += e.bytes;
  }
  return info;
}

CacheInfo cache_clear(const std::string& dir) {
  CacheInfo removed;
  for (const CacheEntry& e : cache_entries(dir)) remove_entry(dir, e, removed);
  return removed;
}

CacheInfo cache_prune(const std::string& dir, int64_t now, const PruneLimits& limits) {
  CacheInfo removed;
  std::vector<CacheEntry> kept;
  int64_t bytes = 0;
  for (CacheEntry& e : cache_entries(dir)) {
    const auto content = read_file(entry_file(dir, e.key));
    if (now - e.used > limits.age || !content || !is_sealed(*content)) {
      remove_entry(dir, e, removed);
      continue;
    }
    bytes += e.bytes;
    kept.push_back(std::move(e));
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const CacheEntry& a, const CacheEntry& b) { return a.used < b.used; });
  for (size_t k = 0; k < kept.size() && bytes > limits.bytes; ++k) {
    bytes -= kept[k].bytes;
    remove_entry(dir, kept[k], removed);
  }
  remove_partial_files(dir, now - limits.partial_age);
  return removed;
}

}  // namespace tang
