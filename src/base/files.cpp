#include "base/files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace tang {
namespace {

std::string reason(int code) { return std::generic_category().message(code); }

auto cannot_read(const std::string& path, std::string_view why) {
  return error("E0701", fmt::format("{}: cannot be read: {}", path, why));
}

auto cannot_write(const std::string& path, std::string_view why) {
  return error("E0708", fmt::format("{}: cannot be written: {}", path, why));
}

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  // 0, or the error that closing reported (a full disk may show only here).
  int close() {
    if (fd_ < 0) return 0;
    return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno;
  }

 private:
  int fd_;
};

struct Opened {
  int fd;
  struct stat status;
};

Result<Opened> open_for_reading(const std::string& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Opened opened = {};
  if (fd.get() < 0 || fstat(fd.get(), &opened.status) != 0) return cannot_read(path, reason(errno));
  if (S_ISDIR(opened.status.st_mode)) return cannot_read(path, "it is a directory");
  opened.fd = fd.release();
  return opened;
}

// One read that retries when interrupted: the byte count, 0 at the end, −1 with errno.
ssize_t read_some(int fd, void* out, size_t n) {
  ssize_t got = 0;
  do {
    got = ::read(fd, out, n);
  } while (got < 0 && errno == EINTR);
  return got;
}

// Everything that `fd` still gives, at most `limit` bytes.
Result<std::string> drain(int fd, const std::string& path, int64_t limit) {
  std::string all;
  std::vector<char> chunk(size_t{1} << 16);
  for (;;) {
    const ssize_t got = read_some(fd, chunk.data(), chunk.size());
    if (got < 0) return cannot_read(path, reason(errno));
    if (got == 0) return all;
    if (static_cast<int64_t>(all.size()) + got > limit) {
      return cannot_read(path, fmt::format("it holds more than {} bytes", limit));
    }
    all.append(chunk.data(), static_cast<size_t>(got));
  }
}

// The file that writing to `path` must replace: symbolic links are followed.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::string(real.get()) : path;
}

// Writes all parts; 0, or errno.
int write_parts(int fd, const ByteParts& parts) {
  constexpr size_t most = size_t{1} << 30;
  for (std::span<const std::byte> part : parts) {
    while (!part.empty()) {
      const ssize_t done = ::write(fd, part.data(), std::min(part.size(), most));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return done < 0 ? errno : ENOSPC;
      part = part.subspan(static_cast<size_t>(done));
    }
  }
  return 0;
}

struct NewFile {
  int fd;
  std::string path;
};

// Creates a file that did not exist, beside `path`.
Result<NewFile> create_beside(const std::string& path, mode_t mode) {
  static std::atomic<unsigned> counter = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name = fmt::format("{}.{}-{}.part", path, getpid(), counter++);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0) return NewFile{fd, name};
    if (errno != EEXIST) return cannot_write(path, reason(errno) + ", making a file beside it");
  }
  return cannot_write(path, "no free name for a new file beside it");
}

Result<void> write_in_place(const std::string& path, const ByteParts& parts) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0) return cannot_write(path, reason(errno));
  int failure = write_parts(fd.get(), parts);
  if (const int late = fd.close(); failure == 0) failure = late;
  if (failure != 0) return cannot_write(path, reason(failure));
  return {};
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  Result<Opened> opened = open_for_reading(path);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  Descriptor fd(opened->fd);
  InputFile file;
  file.path_ = path;
  if (S_ISREG(opened->status.st_mode)) {
    file.size_ = opened->status.st_size;
    file.fd_ = fd.release();
    return file;
  }
  Result<std::string> contents = drain(fd.get(), path, pipe_limit);
  if (!contents) return tl::unexpected(std::move(contents.error()));
  file.contents_ = std::move(*contents);
  file.size_ = static_cast<int64_t>(file.contents_.size());
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      contents_(std::move(other.contents_)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(contents_, other.contents_);
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> InputFile::read(int64_t offset, std::span<std::byte> out) const {
  const auto wanted = static_cast<int64_t>(out.size());
  if (offset < 0 || offset > size_ || wanted > size_ - offset) {
    return error("E0702",
                 fmt::format("{}: the file is truncated: {} bytes are needed from byte {}, "
                             "but it ends at byte {}",
                             path_, wanted, offset, size_));
  }
  if (fd_ < 0) {
    if (wanted > 0) std::memcpy(out.data(), contents_.data() + offset, out.size());
    return {};
  }
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), std::min(out.size(), size_t{1} << 30), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path_, reason(errno));
    if (got == 0)
      return error("E0702", fmt::format("{}: the file shrank while it was read", path_));
    out = out.subspan(static_cast<size_t>(got));
    offset += got;
  }
  return {};
}

Result<std::string> read_file(const std::string& path, int64_t limit) {
  Result<Opened> opened = open_for_reading(path);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  const Descriptor fd(opened->fd);
  return drain(fd.get(), path, limit);
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  Result<Opened> opened = open_for_reading(path);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  const Descriptor fd(opened->fd);
  if (!S_ISREG(opened->status.st_mode)) return cannot_read(path, "it is not a regular file");
  MappedFile file;
  file.size_ = static_cast<size_t>(opened->status.st_size);
  if (file.size_ == 0) return file;
  void* address = mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) return cannot_read(path, reason(errno));
  file.data_ = static_cast<const std::byte*>(address);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

Result<void> write_file(const std::string& path, const ByteParts& parts) {
  const std::string target = resolved(path);
  struct stat status = {};
  const bool exists = stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return cannot_write(path, "it is a directory");
  if (exists && !S_ISREG(status.st_mode)) return write_in_place(path, parts);
  if (exists && access(target.c_str(), W_OK) != 0) return cannot_write(path, reason(errno));
  Result<NewFile> created = create_beside(target, 0666);
  if (!created) return tl::unexpected(std::move(created.error()));
  Descriptor fd(created->fd);
  int failure = write_parts(fd.get(), parts);
  if (failure == 0 && exists && fchmod(fd.get(), status.st_mode & 07777) != 0) failure = errno;
  if (const int late = fd.close(); failure == 0) failure = late;
  if (failure == 0 && rename(created->path.c_str(), target.c_str()) != 0) failure = errno;
  if (failure == 0) return {};
  unlink(created->path.c_str());
  return cannot_write(path, reason(failure));
}

Result<void> write_file(const std::string& path, std::string_view text) {
  return write_file(path, ByteParts{std::as_bytes(std::span(text.data(), text.size()))});
}

}  // namespace tang
