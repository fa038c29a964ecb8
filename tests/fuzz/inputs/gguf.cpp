// .gguf files: metadata of every type, plain and block tensors.
#include "front/array_reader.h"
#include "fuzz/inputs/target.h"

namespace tang::fuzz {

namespace {

std::string u32(uint32_t x) { return bytes_of(x); }
std::string u64(uint64_t x) { return bytes_of(x); }
std::string text(const std::string& s) { return u64(s.size()) + s; }

// Tensors are given with their fields after the name, metadata whole.
std::string file_of(const std::vector<std::string>& tensors, const std::vector<std::string>& values,
                    size_t data) {
  std::string out = "GGUF" + u32(3) + u64(tensors.size()) + u64(values.size());
  for (const std::string& v : values) out += v;
  for (const std::string& t : tensors) out += t;
  out.resize((out.size() + 31) / 32 * 32, '\0');
  return out + std::string(data, '\1');
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string plain = text("x") + u32(2) + u64(3) + u64(2) + u32(0) + u64(0);
  const std::string q8 = text("q") + u32(1) + u64(32) + u32(8) + u64(32);
  const std::string q4k = text("k") + u32(1) + u64(256) + u32(12) + u64(0);
  const std::vector<std::string> values = {
      text("general.name") + u32(8) + text("a model"),
      text("general.alignment") + u32(4) + u32(32),
      text("tokens") + u32(9) + u32(8) + u64(2) + text("a") + text("bc"),
      text("nested") + u32(9) + u32(9) + u64(1) + u32(0) + u64(3) + "xyz",
      text("flag") + u32(7) + "\1",
      text("count") + u32(10) + u64(7),
      text("x") + u32(12) + bytes_of(0.5)};
  return {file_of({}, {}, 0), file_of({plain}, {}, 32), file_of({plain, q8}, values, 96),
          file_of({q4k}, {values[1]}, 160)};
}

void run(std::string_view input) {
  const MemoryFile file(input);
  auto opened = InputFile::open(file.path());
  require(opened.has_value(), "the file opens");
  const auto members = open_gguf(std::make_shared<InputFile>(std::move(*opened)));
  if (!members) return;
  for (const auto& m : *members) m.load();
}

}  // namespace tang::fuzz
