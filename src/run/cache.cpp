#include "run/cache.h"

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

bool intact(const std::string& content) {
  constexpr size_t seal_size = 32;
  if (content.size() <= seal_size) return false;
  const std::string_view object = std::string_view(content).substr(0, content.size() - seal_size);
  return content.ends_with(seal(object));
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

bool is_entry(const fs::path& path) {
  const std::string stem = path.stem().string();
  return path.extension() == ".so" && stem.size() == 32 &&
         stem.find_first_not_of("0123456789abcdef") == std::string::npos;
}

template <class Visit>
CacheInfo visit_entries(const std::string& dir, Visit visit) {
  CacheInfo info;
  std::error_code failed;
  for (fs::directory_iterator it(dir, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code ignored;
    if (!is_entry(it->path())) continue;
    const auto bytes = fs::file_size(it->path(), ignored);
    if (ignored || !visit(it->path())) continue;
    ++info.entries;
    info.bytes += static_cast<int64_t>(bytes);
  }
  return info;
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

std::optional<std::string> ObjectCache::find(const Hash128& key) const {
  const std::string name = file(key);
  const auto content = read_file(name);
  if (!content) return std::nullopt;
  if (intact(*content)) return name;
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

CacheInfo cache_info(const std::string& dir) {
  return visit_entries(dir, [](const fs::path&) { return true; });
}

CacheInfo cache_clear(const std::string& dir) {
  return visit_entries(dir, [](const fs::path& path) {
    std::error_code failed;
    return fs::remove(path, failed) && !failed;
  });
}

}  // namespace tang
