// .npy files.
#include "front/array_reader.h"
#include "fuzz/inputs/target.h"

namespace tang::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const Format f : {Format::f64, Format::f32, Format::f16, Format::i32, Format::boolean}) {
    auto array = make_array(f, {2, 3});
    const auto image = npy_image(*array, "seed");
    std::string bytes;
    for (const auto part : image->parts())
      bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
    all.push_back(bytes);
    if (const size_t at = bytes.find("False"); at != std::string::npos) {
      bytes.replace(at, 5, "True ");
      all.push_back(bytes);
    }
    if (const size_t at = bytes.find('<'); at != std::string::npos) {
      bytes[at] = '>';
      all.push_back(bytes);
    }
  }
  return all;
}

void run(std::string_view input) {
  const MemoryFile file(input);
  auto opened = InputFile::open(file.path());
  require(opened.has_value(), "the file opens");
  const auto members = open_npy(std::make_shared<InputFile>(std::move(*opened)));
  if (!members) return;
  for (const auto& m : *members) m.load();
}

}  // namespace tang::fuzz
