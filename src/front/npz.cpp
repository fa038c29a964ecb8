// The .npz format: a zip archive whose members NAME.npy are .npy files.
#include <set>
#include <utility>

#include <fmt/format.h>

#include "front/array_reader.h"
#include "front/zip.h"

namespace tang {
namespace {

constexpr std::string_view suffix = ".npy";

Result<Array> load_member(const SharedFile& file, const ZipEntry& entry, std::string_view name) {
  const std::string label = member_label(file->path(), name);
  auto source = open_zip_entry(file, entry, label);
  if (!source) return tl::unexpected(std::move(source.error()));
  return read_npy(**source, label);
}

}  // namespace

// Members with another suffix are not arrays and are passed over.
Result<Members> open_npz(const SharedFile& file) {
  auto entries = read_zip_directory(*file);
  if (!entries) return tl::unexpected(std::move(entries.error()));
  Members members;
  std::set<std::string> seen;
  for (const ZipEntry& entry : *entries) {
    if (!std::string_view(entry.name).ends_with(suffix)) continue;
    std::string name = entry.name.substr(0, entry.name.size() - suffix.size());
    if (!seen.insert(name).second) {
      return error("E0703", member_label(file->path(), name) + ": two members have this name");
    }
    members.push_back({name, [file, entry, name]() { return load_member(file, entry, name); }});
  }
  return members;
}

Result<void> write_npz(const std::string& path,
                       const std::vector<std::pair<std::string, const Array*>>& arrays) {
  std::vector<NpyImage> images;
  std::vector<ZipMember> members;
  images.reserve(arrays.size());  // members point into the images
  for (const auto& [name, array] : arrays) {
    Result<NpyImage> image = npy_image(*array, path);
    if (!image) return tl::unexpected(std::move(image.error()));
    images.push_back(std::move(*image));
    members.push_back({name + std::string(suffix), images.back().parts()});
  }
  return write_zip(path, members);
}

}  // namespace tang
