// Array files: the inputs and outputs of programs (language.md section 2, "Files").
//
// A file is opened once: its structure (header, member table) is checked whole, every claimed size
// against the file's, before anything is allocated. Members are then read one by one into row-major
// little-endian arrays; big-endian and Fortran-ordered .npy data are rearranged on the way, 16-bit
// and unsigned integers widen to the next format that holds all their values.
//
// Every error names the path, the tensor if there is one, and the byte counts at odds; all are exit
// 2, but for E0903:
//
//   E0701  cannot open or read the file
//   E0702  truncated: the file ends before the data its header declares
//   E0703  malformed: bad magic, header, member table, checksum, or bytes left over
//   E0704  an element type or compression that is not supported
//   E0705  format mismatch: kinds differ, or a value does not fit the declared format
//   E0706  shape mismatch: raw data of another size, an impossible extent
//   E0707  missing member, or several where one is wanted
//   E0708  cannot write
//   E0709  a kind of file that cannot be read or written here
//   E0903  out of memory (exit 5)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/array.h"
#include "base/diagnostic.h"
#include "base/format.h"

namespace tang {

enum class FileType : uint8_t { npy, npz, safetensors, gguf, raw };

// By extension, in any case; `raw` for any other.
FileType file_type(std::string_view path);

struct NamedArray {
  std::string name;  // empty in a .npy
  Array array;
};

// An open .npy, .npz, .safetensors or .gguf file.
class ArrayFile {
 public:
  struct Member {
    std::string name;
    std::function<Result<Array>()> load;
  };

  // E0709 for raw files.
  static Result<ArrayFile> open(const std::string& path);

  // In the order of the file (.npz, .gguf) or of the names (.safetensors).
  const std::vector<Member>& members() const { return members_; }

  // The member of that name; without a name, the only member. E0707 lists what there is.
  Result<Array> read(const std::optional<std::string>& member) const;

 private:
  std::string path_;
  std::vector<Member> members_;
};

// Every member, or those `wanted` accepts; members that are not wanted may have any element type.
Result<std::vector<NamedArray>> read_arrays(
    const std::string& path, const std::function<bool(std::string_view)>& wanted = {});

Result<Array> read_array(const std::string& path, const std::optional<std::string>& member = {});

// Row-major little-endian data of exactly the declared bytes, otherwise E0706. Pipes are read too.
Result<Array> read_raw(const std::string& path, Format format, const std::vector<int64_t>& shape);

// The array in the format a program declares for `tensor`: a float array is rounded; between
// integer formats every value must fit; other pairs are E0705.
Result<Array> convert(Array array, Format target, std::string_view tensor);

// Writes one output: .npy, .npz (one member, named `member`), otherwise raw. Raw data are the bytes
// of the format; in .npy and .npz, formats NumPy lacks become f32 (i4: i8, u4: u8). On failure no
// partial file is left.
Result<void> write_array(const std::string& path, const Array& array,
                         std::string_view member = "arr_0");

// Several outputs into one .npz, in this order; the arrays are only read.
Result<void> write_npz(const std::string& path,
                       const std::vector<std::pair<std::string, const Array*>>& arrays);

}  // namespace tang
