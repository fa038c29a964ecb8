// Files: reading with limits, mapping, and writing that leaves either the whole file or the old
// one. Errors are E0701 (cannot open or read), E0702 (shorter than asked) and E0708 (cannot write),
// all with exit 2, and name the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace tang {

// An open file read by position. A file that is not regular (a pipe, a terminal) is read to its end
// on opening and served from memory, up to `pipe_limit` bytes; its size is then known too.
class InputFile {
 public:
  static constexpr int64_t pipe_limit = int64_t{1} << 32;

  static Result<InputFile> open(const std::string& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }

  // Fills `out` from byte `offset`; E0702 with both byte counts if the file ends before.
  Result<void> read(int64_t offset, std::span<std::byte> out) const;

 private:
  InputFile() = default;

  std::string path_;
  int fd_ = -1;  // -1 when served from memory
  int64_t size_ = 0;
  std::string contents_;
};

// The whole file as text. More than `limit` bytes is E0701 naming both counts.
Result<std::string> read_file(const std::string& path, int64_t limit);

// A regular file mapped read-only. The bytes are valid while this object lives and nobody truncates
// the file.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

using ByteParts = std::vector<std::span<const std::byte>>;

// Writes the parts one after the other to a new file beside `path`, then renames it over `path`
// (through symbolic links; the old file's mode is kept). On failure the new file is removed and
// `path` is as it was. A path that is not a regular file (a pipe, a device) is written in place.
// A process that wants E0708 for a file-size limit must ignore SIGXFSZ.
Result<void> write_file(const std::string& path, const ByteParts& parts);
Result<void> write_file(const std::string& path, std::string_view text);

}  // namespace tang
