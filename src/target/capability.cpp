#include "target/capability.h"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

Capability least(Dialect dialect) {
  Capability c;
  c.dialect = dialect;
  c.machine = dialect == Dialect::cuda ? "nvidia.sm90a" : "gpu.portable";
  c.i64 = dialect == Dialect::cuda || dialect == Dialect::opencl || dialect == Dialect::msl;
  switch (dialect) {
    case Dialect::cuda:  // compute capability 5.0 and up
      c.threads = 1024;
      c.shared_bytes = 48 << 10;
      c.buffers = 64;
      c.binding_bytes = INT64_MAX;
      c.groups = INT32_MAX;
      c.subgroup = 32;
      c.f64 = c.f16 = c.narrow_words = c.wide_addresses = true;
      break;
    case Dialect::opencl:  // full profile of 1.2, but for its one thread a group
      c.shared_bytes = 32 << 10;
      c.buffers = 64;
      c.groups = INT32_MAX;
      c.narrow_words = c.wide_addresses = true;
      break;
    case Dialect::glsl:  // Vulkan 1.1, but for the 4 buffers that every driver goes beyond
      c.threads = 128;
      break;
    case Dialect::wgsl:  // the default limits of WebGPU
      c.buffers = 8;
      break;
    case Dialect::msl:  // Apple7
      c.threads = 1024;
      c.shared_bytes = 32 << 10;
      c.buffers = 31 - 1;
      c.binding_bytes = 256 << 20;
      c.groups = INT32_MAX;
      c.subgroup = 32;
      c.f16 = c.narrow_words = c.wide_addresses = true;
      break;
  }
  return c;
}

namespace {

using Json = nlohmann::json;

tl::unexpected<Diagnostic> bad_field(const std::string& file, std::string_view what) {
  auto e =
      error("E0807", fmt::format("limits file `{}`: {}", file, what),
            "It is an object with any of threads, shared_bytes, buffers, binding_bytes, groups, "
            "subgroup and f16.");
  e.value().where.file = file;
  return e;
}

// Whether the field is an integer from `from` on, which then becomes `to`.
bool read_limit(const Json& value, int64_t from, int64_t& to) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) return false;
  if (value.get<int64_t>() < from) return false;
  to = value.get<int64_t>();
  return true;
}

}  // namespace

Result<Capability> with_limits(Capability base, std::string_view json, const std::string& file) {
  const Json limits = Json::parse(json, nullptr, false);
  if (limits.is_discarded()) return bad_field(file, "this is no JSON");
  if (!limits.is_object()) return bad_field(file, "this is no JSON object");
  for (const auto& [field, value] : limits.items()) {
    if (field == "f16") {
      if (!value.is_boolean()) return bad_field(file, "`f16` is true or false");
      base.f16 = value.get<bool>();
      continue;
    }
    const std::pair<std::string_view, int64_t*> numbers[] = {
        {"threads", &base.threads}, {"shared_bytes", &base.shared_bytes},
        {"buffers", &base.buffers}, {"binding_bytes", &base.binding_bytes},
        {"groups", &base.groups},   {"subgroup", &base.subgroup}};
    int64_t* limit = nullptr;
    for (const auto& [name, place] : numbers)
      if (name == field) limit = place;
    if (!limit) return bad_field(file, fmt::format("there is no limit `{}`", field));
    const int64_t from = field == "subgroup" || field == "shared_bytes" ? 0 : 1;
    if (!read_limit(value, from, *limit))
      return bad_field(file, fmt::format("`{}` is an integer from {} on", field, from));
  }
  return base;
}

}  // namespace tang
