#include "target/capability.h"

#include <array>

namespace tang {

namespace {

struct Words {
  std::string_view name, suffix;
};
constexpr std::array<Words, 5> words = {
    {{"cuda", ".cu"}, {"opencl", ".cl"}, {"glsl", ".comp"}, {"wgsl", ".wgsl"}, {"msl", ".metal"}}};

}  // namespace

std::string_view name(Dialect dialect) { return words[static_cast<size_t>(dialect)].name; }

std::string_view suffix(Dialect dialect) { return words[static_cast<size_t>(dialect)].suffix; }

std::optional<Dialect> parse_dialect(std::string_view name) {
  for (size_t k = 0; k < words.size(); ++k)
    if (words[k].name == name) return static_cast<Dialect>(k);
  return std::nullopt;
}

}  // namespace tang
