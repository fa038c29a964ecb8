// The .safetensors format: the header's length (8 bytes), a JSON object from names to
// {dtype, shape, data_offsets}, and the data, which the tensors tile without gaps or overlaps.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "front/array_reader.h"

namespace tang {
namespace {

constexpr int64_t longest_header = 100'000'000;  // the format's own limit

struct Entry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  int64_t begin = 0;  // within the data
  int64_t end = 0;
};

std::optional<StoredType> type_of(std::string_view dtype) {
  if (dtype == "BOOL") return stored_type('b', 1);
  if (dtype == "BF16") return StoredType{Format::bf16, 2};
  if (dtype == "F8_E4M3") return StoredType{Format::f8e4m3, 1};
  if (dtype == "F8_E5M2") return StoredType{Format::f8e5m2, 1};
  if (dtype.size() < 2 || dtype.size() > 3) return std::nullopt;
  const std::string_view bits = dtype.substr(1);
  const int bytes = bits == "8" ? 1 : bits == "16" ? 2 : bits == "32" ? 4 : bits == "64" ? 8 : 0;
  switch (dtype.front()) {
    case 'F':
      return stored_type('f', bytes);
    case 'I':
      return stored_type('i', bytes);
    case 'U':
      return stored_type('u', bytes);
    default:
      return std::nullopt;
  }
}

auto malformed(const std::string& label, std::string_view what) {
  return error("E0703", fmt::format("{}: malformed .safetensors header: {}", label, what));
}

// A JSON array of integers in 0 … 2^63 − 1.
std::optional<std::vector<int64_t>> naturals(const nlohmann::json& value) {
  if (!value.is_array()) return std::nullopt;
  std::vector<int64_t> out;
  for (const nlohmann::json& item : value) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > INT64_MAX) return std::nullopt;
    out.push_back(item.get<int64_t>());
  }
  return out;
}

Result<Entry> parse_entry(const std::string& name, const nlohmann::json& value,
                          const std::string& label) {
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
      !value.contains("shape") || !value.contains("data_offsets")) {
    return malformed(label, "an entry has dtype, shape and data_offsets");
  }
  if (!value["dtype"].is_string()) return malformed(label, "dtype is not a string");
  auto shape = naturals(value["shape"]);
  if (!shape) return malformed(label, "shape is not a list of integers of at least 0");
  const auto offsets = naturals(value["data_offsets"]);
  if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1]) {
    return malformed(label, "data_offsets is not [begin, end] with 0 <= begin <= end");
  }
  return Entry{name, value["dtype"].get<std::string>(), std::move(*shape), (*offsets)[0],
               (*offsets)[1]};
}

// The declared shape and type against the declared bytes. Types that cannot be read are passed.
Result<void> check_entry(const Entry& entry, const std::string& label) {
  const std::optional<int64_t> count = element_count(entry.shape);
  if (!count) return malformed(label, "the shape " + shape_text(entry.shape) + " overflows");
  const std::optional<StoredType> type = type_of(entry.dtype);
  if (!type) return {};
  int64_t bytes = 0;
  if (__builtin_mul_overflow(*count, int64_t{type->bytes}, &bytes) ||
      bytes != entry.end - entry.begin) {
    return malformed(
        label, fmt::format("{} elements of {} do not take the {} bytes of "
                           "data_offsets [{}, {}]",
                           *count, entry.dtype, entry.end - entry.begin, entry.begin, entry.end));
  }
  return {};
}

// The tensors must tile the data in some order.
Result<void> check_tiling(std::vector<Entry> entries, int64_t data_size, const std::string& path) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t covered = 0;
  for (const Entry& entry : entries) {
    const std::string label = member_label(path, entry.name);
    if (entry.end > data_size) {
      return error("E0702", fmt::format("{}: truncated: its data end at byte {} of the data, which "
                                        "are {} bytes",
                                        label, entry.end, data_size));
    }
    if (entry.begin != covered) {
      return malformed(
          label,
          fmt::format("its data begin at byte {}, {} the end of the tensor "
                      "before it, {}",
                      entry.begin, entry.begin < covered ? "overlapping" : "leaving a gap after",
                      covered));
    }
    covered = entry.end;
  }
  if (covered != data_size) {
    return malformed(path,
                     fmt::format("the tensors cover {} of {} bytes of data", covered, data_size));
  }
  return {};
}

Result<Array> load_entry(const InputFile& file, int64_t data_at, const Entry& entry) {
  const std::string label = member_label(file.path(), entry.name);
  const std::optional<StoredType> type = type_of(entry.dtype);
  if (!type) {
    return error("E0704",
                 fmt::format("{}: the dtype {} is not supported", label, quoted_name(entry.dtype)),
                 "read are F64 F32 F16 BF16 F8_E4M3 F8_E5M2 I64 I32 I16 I8 U64 U32 U16 U8 BOOL");
  }
  FileSource source(file, data_at + entry.begin, entry.end - entry.begin);
  return read_elements(source, {*type, entry.shape}, label);
}

struct Header {
  nlohmann::json tensors;
  int64_t data_at;
};

Result<Header> read_header(const InputFile& file) {
  std::byte start[8] = {};
  if (auto done = file.read(0, start); !done) return tl::unexpected(std::move(done.error()));
  const auto length = little_endian<uint64_t>(start);
  if (length > static_cast<uint64_t>(file.size() - 8)) {
    return error("E0702", fmt::format("{}: truncated, or not .safetensors: the header claims {} "
                                      "bytes, but {} follow",
                                      file.path(), length, file.size() - 8));
  }
  if (length > longest_header) {
    return malformed(file.path(),
                     fmt::format("its {} bytes are more than {}", length, longest_header));
  }
  std::string text(length, '\0');
  auto bytes = std::as_writable_bytes(std::span(text.data(), text.size()));
  if (auto done = file.read(8, bytes); !done) return tl::unexpected(std::move(done.error()));
  auto tensors = parse_json(text, file.path(), "E0703");
  if (!tensors) return tl::unexpected(std::move(tensors.error()));
  if (!tensors->is_object()) return malformed(file.path(), "it is not an object");
  tensors->erase("__metadata__");
  return Header{std::move(*tensors), 8 + static_cast<int64_t>(length)};
}

}  // namespace

Result<Members> open_safetensors(const SharedFile& file) {
  Result<Header> header = read_header(*file);
  if (!header) return tl::unexpected(std::move(header.error()));
  std::vector<Entry> entries;
  for (const auto& [name, value] : header->tensors.items()) {
    const std::string label = member_label(file->path(), name);
    Result<Entry> entry = parse_entry(name, value, label);
    if (!entry) return tl::unexpected(std::move(entry.error()));
    if (auto fits = check_entry(*entry, label); !fits) {
      return tl::unexpected(std::move(fits.error()));
    }
    entries.push_back(std::move(*entry));
  }
  const int64_t data_at = header->data_at;
  if (auto tiled = check_tiling(entries, file->size() - data_at, file->path()); !tiled) {
    return tl::unexpected(std::move(tiled.error()));
  }
  Members members;
  for (const Entry& entry : entries) {
    members.push_back(
        {entry.name, [file, data_at, entry]() { return load_entry(*file, data_at, entry); }});
  }
  return members;
}

}  // namespace tang
