// What the readers of array files share: sequential sources of bytes, stored element types, and the
// one function that turns stored elements into an Array. Private to the array readers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/array.h"
#include "base/files.h"
#include "front/array_file.h"

namespace tang {

static_assert(std::endian::native == std::endian::little, "file data are read in place");

using SharedFile = std::shared_ptr<const InputFile>;
using Members = std::vector<ArrayFile::Member>;

// Bytes in order: part of a file, or a member of an archive as it is unpacked.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Total bytes the source holds (for a packed member, as declared by its archive).
  virtual int64_t size() const = 0;

  // Fills `out` with the next bytes.
  virtual Result<void> read(std::span<std::byte> out) = 0;

  // Called after the last byte; verifies checksums.
  virtual Result<void> finish() { return {}; }
};

// Bytes begin … begin + size of a file, a range the caller has checked.
class FileSource : public ByteSource {
 public:
  FileSource(const InputFile& file, int64_t begin, int64_t size)
      : file_(file), next_(begin), size_(size) {}
  int64_t size() const override { return size_; }
  Result<void> read(std::span<std::byte> out) override {
    const int64_t at = next_;
    next_ += static_cast<int64_t>(out.size());
    return file_.read(at, out);
  }

 private:
  const InputFile& file_;
  int64_t next_;
  int64_t size_;
};

// How a file stores one element, and the format it is read as.
struct StoredType {
  Format format = Format::f32;
  int bytes = 4;             // in the file; 0 for block formats, which are read as they are
  bool is_unsigned = false;  // integers only
  bool big_endian = false;
};

struct StoredArray {
  StoredType type;
  std::vector<int64_t> shape;
  bool column_major = false;  // Fortran order: the first axis varies fastest
};

// The element type of `bits` (8 … 64) and class 'f', 'i', 'u' or 'b'; empty if there is none.
std::optional<StoredType> stored_type(char type_class, int bytes);

// Reads the elements, whose bytes the caller has compared with the source's size. `label` begins
// the messages.
Result<Array> read_elements(ByteSource& source, const StoredArray& stored,
                            const std::string& label);

// Reads a whole .npy image from the source.
Result<Array> read_npy(ByteSource& source, const std::string& label);

// A .npy file in memory: its header, and the elements of the array it shows or of a copy in a
// format NumPy has. Valid while that array lives.
struct NpyImage {
  std::string header;
  std::optional<Array> converted;
  std::span<const std::byte> elements;

  ByteParts parts() const {
    return {std::as_bytes(std::span(header.data(), header.size())), elements};
  }
};

// E0709 for block formats; `path` begins the message.
Result<NpyImage> npy_image(const Array& array, const std::string& path);

Result<Members> open_npy(const SharedFile& file);
Result<Members> open_npz(const SharedFile& file);
Result<Members> open_safetensors(const SharedFile& file);
Result<Members> open_gguf(const SharedFile& file);

// A name from a file, quoted, at most 100 bytes, control characters escaped.
std::string quoted_name(std::string_view name);

// "path: tensor `name`".
std::string member_label(const std::string& path, std::string_view name);

template <class T>
T little_endian(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace tang
