// .safetensors files.
#include "front/array_reader.h"
#include "fuzz/inputs/target.h"

namespace tang::fuzz {

namespace {

std::string file_of(const std::string& header, size_t data) {
  return bytes_of(uint64_t{header.size()}) + header + std::string(data, 'x');
}

}  // namespace

std::vector<std::string> seeds() {
  return {
      file_of("{}", 0), file_of(R"({"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24),
      file_of(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[],)"
              R"("data_offsets":[0,2]},"b":{"dtype":"I64","shape":[2,0],"data_offsets":[2,2]}})",
              2),
      file_of(R"({"a":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]},)"
              R"("b":{"dtype":"BOOL","shape":[1],"data_offsets":[3,4]},)"
              R"("c":{"dtype":"U8","shape":[1,2],"data_offsets":[4,6]}})",
              6)};
}

void run(std::string_view input) {
  const MemoryFile file(input);
  auto opened = InputFile::open(file.path());
  require(opened.has_value(), "the file opens");
  const auto members = open_safetensors(std::make_shared<InputFile>(std::move(*opened)));
  if (!members) return;
  for (const auto& m : *members) m.load();
}

}  // namespace tang::fuzz
