// .npz files: the directory of the archive, its members as they unpack, the arrays in them.
#include "front/array_reader.h"
#include "front/zip.h"
#include "fuzz/inputs/target.h"
#include "support/temp_dir.h"

namespace tang::fuzz {

namespace {

// A deflated member with ZIP64 fields, made with Python's zipfile.
const std::string packed =
#include "unit/front/packed_npz.inc"
    ;

std::string file_of(const std::vector<std::pair<std::string, const Array*>>& arrays) {
  std::vector<NpyImage> images;
  for (const auto& [name, array] : arrays) images.push_back(*npy_image(*array, "seed"));
  std::vector<ZipMember> members;
  for (size_t k = 0; k < arrays.size(); ++k)
    members.push_back({arrays[k].first + ".npy", images[k].parts()});
  const TempDir folder;
  require(write_zip(folder / "a.npz", members).has_value(), "an archive can be written");
  return folder.read("a.npz");
}

}  // namespace

std::vector<std::string> seeds() {
  auto x = make_array(Format::f32, {2, 3}), n = make_array(Format::i64, {4});
  return {packed, file_of({{"x", &*x}}), file_of({{"x", &*x}, {"n", &*n}}), file_of({})};
}

void run(std::string_view input) {
  const MemoryFile file(input);
  auto opened = InputFile::open(file.path());
  require(opened.has_value(), "the file opens");
  const auto members = open_npz(std::make_shared<InputFile>(std::move(*opened)));
  if (!members) return;
  for (const auto& m : *members) m.load();
}

}  // namespace tang::fuzz
