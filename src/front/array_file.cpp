#include "front/array_file.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "front/array_reader.h"

namespace tang {
namespace {

std::string lower_extension(std::string_view path) {
  const size_t dot = path.find_last_of("./");
  if (dot == std::string_view::npos || path[dot] == '/') return {};
  std::string extension(path.substr(dot));
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

// "a, b, c and 7 more".
std::string member_list(const Members& members) {
  constexpr size_t shown = 8;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(shown, members.size()); ++i) {
    names.push_back(quoted_name(members[i].name));
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (members.size() > shown) text += fmt::format(" and {} more", members.size() - shown);
  return text.empty() ? "none" : text;
}

Result<Array> convert_integers(const Array& array, Format target, std::string_view tensor) {
  Result<Array> converted = make_array(target, array.shape);
  if (!converted) return converted;
  const int64_t n = array.elements();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t value = array.integer_at(i);
    if (value < integer_min(target) || value > integer_max(target)) {
      return error(
          "E0705",
          fmt::format("tensor {}: the value {} at flat index {} of the {} data does not fit "
                      "the declared format {} ({} to {})",
                      quoted_name(tensor), value, i, name(array.format), name(target),
                      integer_min(target), integer_max(target)),
          fmt::format("declare `{} : {}`, or change the data", tensor, name(array.format)));
    }
    converted->set_integer(i, value);
  }
  return converted;
}

}  // namespace

FileType file_type(std::string_view path) {
  const std::string extension = lower_extension(path);
  if (extension == ".npy") return FileType::npy;
  if (extension == ".npz") return FileType::npz;
  if (extension == ".safetensors") return FileType::safetensors;
  if (extension == ".gguf") return FileType::gguf;
  return FileType::raw;
}

std::string quoted_name(std::string_view text) {
  constexpr size_t shown = 100;
  std::string out = "`";
  for (const char c : text.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return out + (text.size() > shown ? "…`" : "`");
}

std::string member_label(const std::string& path, std::string_view member) {
  return fmt::format("{}: tensor {}", path, quoted_name(member));
}

Result<ArrayFile> ArrayFile::open(const std::string& path) {
  const FileType type = file_type(path);
  if (type == FileType::raw) {
    return error(
        "E0709", fmt::format("{}: a raw file has no members, format or shape", path),
        "give it to one input, `--in NAME=FILE`, or use .npy, .npz, .safetensors or .gguf");
  }
  Result<InputFile> input = InputFile::open(path);
  if (!input) return tl::unexpected(std::move(input.error()));
  const auto file = std::make_shared<const InputFile>(std::move(*input));
  Result<Members> members = type == FileType::npy    ? open_npy(file)
                            : type == FileType::npz  ? open_npz(file)
                            : type == FileType::gguf ? open_gguf(file)
                                                     : open_safetensors(file);
  if (!members) return tl::unexpected(std::move(members.error()));
  ArrayFile opened;
  opened.path_ = path;
  opened.members_ = std::move(*members);
  return opened;
}

Result<Array> ArrayFile::read(const std::optional<std::string>& member) const {
  if (!member) {
    if (members_.size() == 1) return members_.front().load();
    return error("E0707",
                 fmt::format("{}: it holds {} tensors, so the one to read must be named: {}", path_,
                             members_.size(), member_list(members_)),
                 "write `--in NAME=FILE:MEMBER`");
  }
  for (const Member& m : members_) {
    if (m.name == *member) return m.load();
  }
  if (file_type(path_) == FileType::npy) {
    return error("E0707",
                 fmt::format("{}: a .npy file holds one tensor without a name, so it has "
                             "no member {}",
                             path_, quoted_name(*member)),
                 "leave out the member");
  }
  return error("E0707", fmt::format("{}: it has no member {}; its members: {}", path_,
                                    quoted_name(*member), member_list(members_)));
}

Result<std::vector<NamedArray>> read_arrays(const std::string& path,
                                            const std::function<bool(std::string_view)>& wanted) {
  Result<ArrayFile> file = ArrayFile::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  std::vector<NamedArray> arrays;
  for (const ArrayFile::Member& member : file->members()) {
    if (wanted && !wanted(member.name)) continue;
    Result<Array> array = member.load();
    if (!array) return tl::unexpected(std::move(array.error()));
    arrays.push_back({member.name, std::move(*array)});
  }
  return arrays;
}

Result<Array> read_array(const std::string& path, const std::optional<std::string>& member) {
  return ArrayFile::open(path).and_then([&](const ArrayFile& file) { return file.read(member); });
}

Result<Array> read_raw(const std::string& path, Format format, const std::vector<int64_t>& shape) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  const std::optional<int64_t> count = element_count(shape);
  const std::optional<int64_t> bytes = count ? bytes_for(format, *count) : std::nullopt;
  if (bytes && *bytes != file->size()) {
    return error("E0706",
                 fmt::format("{}: raw data of shape {} and format {} are {} bytes, but the "
                             "file holds {}",
                             path, shape_text(shape), name(format), *bytes, file->size()),
                 "raw files hold exactly the declared elements, row-major and little-endian");
  }
  Result<Array> array = make_array(format, shape);
  if (!array) return array;
  if (Result<void> done = file->read(0, array->data.bytes()); !done) {
    return tl::unexpected(std::move(done.error()));
  }
  if (format == Format::boolean || format == Format::tf32) {
    for (int64_t i = 0; i < *count; ++i) array->set(i, array->at(i));
  }
  return array;
}

Result<Array> convert(Array array, Format target, std::string_view tensor) {
  if (array.format == target) return array;
  const bool blocks = is_block(array.format) || is_block(target);
  if (kind(array.format) != kind(target) || blocks) {
    return error("E0705",
                 fmt::format("tensor {}: the data are {}, but the declared format is {}{}",
                             quoted_name(tensor), name(array.format), name(target),
                             blocks ? ", and blocks are not converted" : ""),
                 fmt::format("declare `{} : {}`, or convert the file", tensor, name(array.format)));
  }
  if (kind(target) == Kind::integer) return convert_integers(array, target, tensor);
  Result<Array> converted = make_array(target, array.shape);
  if (!converted) return converted;
  const int64_t n = array.elements();
  for (int64_t i = 0; i < n; ++i) converted->set(i, array.at(i));
  return converted;
}

Result<void> write_array(const std::string& path, const Array& array, std::string_view member) {
  switch (file_type(path)) {
    case FileType::npy:
      break;
    case FileType::npz:
      return write_npz(path, {{std::string(member), &array}});
    case FileType::raw:
      return write_file(path, ByteParts{array.data.bytes()});
    case FileType::safetensors:
    case FileType::gguf:
      return error("E0709", fmt::format("{}: outputs are not written to this kind of file", path),
                   "write .npy, .npz or raw");
  }
  Result<NpyImage> image = npy_image(array, path);
  if (!image) return tl::unexpected(std::move(image.error()));
  return write_file(path, image->parts());
}

}  // namespace tang
