// The GGUF format, versions 2 and 3: "GGUF", the version (4 bytes), the numbers of tensors and of
// metadata entries (8 each), the metadata, the tensors' descriptions and, from the next multiple of
// the alignment, their data. A string is its length (8 bytes) and its bytes. Shapes list the axis
// that varies fastest first. Of the metadata only `general.alignment` matters here.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "front/array_reader.h"

namespace tang {
namespace {

constexpr int64_t longest_name = 65535;  // of a metadata key; names of tensors are shorter
constexpr uint32_t most_axes = 8;
constexpr int most_nesting = 4;  // of arrays in the metadata
constexpr std::string_view alignment_key = "general.alignment";

struct Entry {
  std::string name;
  std::vector<int64_t> shape;
  uint32_t type = 0;
  int64_t begin = 0;  // within the data
  int64_t bytes = 0;  // 0 for a type that is not read
};

struct TypeRow {
  uint32_t id;
  std::string_view name;
  StoredType type;
};

// The element types that are read, by their number in the file. Blocks are read as they are.
constexpr TypeRow types[] = {
    {0, "F32", {Format::f32, 4}},      {1, "F16", {Format::f16, 2}},
    {2, "Q4_0", {Format::q4_0, 0}},    {8, "Q8_0", {Format::q8_0, 0}},
    {12, "Q4_K", {Format::q4_k, 0}},   {14, "Q6_K", {Format::q6_k, 0}},
    {24, "I8", {Format::i8, 1}},       {25, "I16", {Format::i32, 2}},
    {26, "I32", {Format::i32, 4}},     {27, "I64", {Format::i64, 8}},
    {28, "F64", {Format::f64, 8}},     {30, "BF16", {Format::bf16, 2}},
    {39, "MXFP4", {Format::mxfp4, 0}},
};

const TypeRow* type_of(uint32_t id) {
  for (const TypeRow& row : types)
    if (row.id == id) return &row;
  return nullptr;
}

// Bytes of a metadata value of fixed size, by the number of its type; 0 for strings and arrays.
int64_t value_bytes(uint32_t type) {
  constexpr int64_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < std::size(bytes) ? bytes[type] : 0;
}

auto malformed(const std::string& label, std::string_view what) {
  return error("E0703", fmt::format("{}: malformed .gguf: {}", label, what));
}

// Reads the header in order through a window of the file. The first problem stays; after it every
// read gives zeros, so callers look at `problem` once a step.
class Cursor {
 public:
  explicit Cursor(const InputFile& file) : file_(file) {}

  int64_t at() const { return at_; }
  int64_t left() const { return file_.size() - at_; }
  const std::optional<Diagnostic>& problem() const { return problem_; }
  void fail(Diagnostic d) {
    if (!problem_) problem_ = std::move(d);
  }
  void fail(std::string_view what) { fail(malformed(file_.path(), what).value()); }

  template <class T>
  T number() {
    std::byte raw[sizeof(T)] = {};
    take(raw);
    return little_endian<T>(raw);
  }

  void skip(int64_t bytes) {
    if (claim(bytes)) at_ += bytes;
  }

  // A count of things of at least `least` bytes each, which must fit what is left.
  int64_t count(std::string_view what, int64_t least) {
    const int64_t place = at_;
    const auto n = number<uint64_t>();
    if (problem_) return 0;
    if (n <= static_cast<uint64_t>(left() / least)) return static_cast<int64_t>(n);
    fail(error("E0702", fmt::format("{}: truncated: {} {} at byte {} do not fit the {} bytes left",
                                    file_.path(), n, what, place, left()))
             .value());
    return 0;
  }

  std::string text(std::string_view what) {
    const int64_t place = at_;
    const int64_t length = count(fmt::format("bytes of {}", what), 1);
    if (length > longest_name) {
      fail(fmt::format("{} at byte {} is {} bytes long, more than {}", what, place, length,
                       longest_name));
      return {};
    }
    std::string out(static_cast<size_t>(length), '\0');
    take(std::as_writable_bytes(std::span(out.data(), out.size())));
    return out;
  }

 private:
  bool claim(int64_t bytes) {
    if (problem_) return false;
    if (bytes <= left()) return true;
    fail(
        error("E0702", fmt::format("{}: truncated: {} bytes are expected at byte {}, but {} follow",
                                   file_.path(), bytes, at_, left()))
            .value());
    return false;
  }

  void take(std::span<std::byte> out) {
    const auto size = static_cast<int64_t>(out.size());
    if (!claim(size)) return;
    if (at_ < window_at_ || at_ + size > window_at_ + static_cast<int64_t>(window_.size())) {
      window_at_ = at_;
      window_.resize(static_cast<size_t>(std::min(left(), std::max<int64_t>(size, 1 << 16))));
      if (auto done = file_.read(at_, window_); !done) return fail(std::move(done.error()));
    }
    std::copy_n(window_.begin() + (at_ - window_at_), size, out.begin());
    at_ += size;
  }

  const InputFile& file_;
  int64_t at_ = 0;
  int64_t window_at_ = 0;
  std::vector<std::byte> window_;
  std::optional<Diagnostic> problem_;
};

// Steps over a metadata value. Recursion is bounded by most_nesting.
void skip_value(Cursor& in, uint32_t type, int depth) {
  constexpr uint32_t string = 8, array = 9;
  if (const int64_t bytes = value_bytes(type)) return in.skip(bytes);
  if (type == string) return in.skip(in.count("bytes of a string", 1));
  if (type != array || depth == most_nesting) {
    return in.fail(fmt::format("a metadata value of type {} before byte {}", type, in.at()));
  }
  const auto element = in.number<uint32_t>();
  const int64_t bytes = value_bytes(element);
  const int64_t n = in.count("metadata elements", bytes > 0 ? bytes : 8);
  if (bytes > 0) return in.skip(n * bytes);
  for (int64_t k = 0; k < n && !in.problem(); ++k) skip_value(in, element, depth + 1);
}

// Steps over the metadata; gives the alignment of the data.
int64_t read_metadata(Cursor& in, int64_t entries) {
  constexpr uint32_t u32 = 4;
  int64_t alignment = 32;
  for (int64_t k = 0; k < entries && !in.problem(); ++k) {
    const std::string key = in.text("a metadata key");
    const auto type = in.number<uint32_t>();
    if (key != alignment_key) {
      skip_value(in, type, 0);
      continue;
    }
    alignment = type == u32 ? in.number<uint32_t>() : 0;
    if (alignment <= 0 || alignment % 8 != 0) in.fail("general.alignment is no multiple of 8");
  }
  return alignment;
}

Entry read_entry(Cursor& in, const std::string& path) {
  Entry entry;
  entry.name = in.text("a tensor's name");
  const std::string label = member_label(path, entry.name);
  const auto axes = in.number<uint32_t>();
  if (axes > most_axes) in.fail(malformed(label, fmt::format("it has {} axes", axes)).value());
  for (uint32_t a = 0; a < axes && !in.problem(); ++a) {
    const auto extent = in.number<uint64_t>();
    if (extent > INT64_MAX) in.fail(malformed(label, "an extent is above 2^63").value());
    entry.shape.insert(entry.shape.begin(), static_cast<int64_t>(extent));
  }
  entry.type = in.number<uint32_t>();
  const auto offset = in.number<uint64_t>();
  if (offset > INT64_MAX) in.fail(malformed(label, "its offset is above 2^63").value());
  entry.begin = static_cast<int64_t>(offset);
  return entry;
}

// The bytes of an entry's elements, from its type and shape; 0 for a type that is not read.
Result<int64_t> entry_bytes(const Entry& entry, const std::string& label) {
  const std::optional<int64_t> count = element_count(entry.shape);
  if (!count) return malformed(label, "the shape " + shape_text(entry.shape) + " overflows");
  const TypeRow* row = type_of(entry.type);
  if (row == nullptr) return 0;
  const int block = info(row->type.format).block;
  if (block > 1 && (entry.shape.empty() || entry.shape.back() % block != 0)) {
    return malformed(label, fmt::format("rows of shape {} are no whole blocks of {}, {}",
                                        shape_text(entry.shape), row->name, block));
  }
  int64_t bytes = 0;
  if (block > 1) {
    if (const auto size = bytes_for(row->type.format, *count)) return *size;
  } else if (!__builtin_mul_overflow(*count, int64_t{row->type.bytes}, &bytes)) {
    return bytes;
  }
  return malformed(label, "the shape " + shape_text(entry.shape) + " overflows");
}

// Each tensor's data begin aligned, lie in the file and overlap no other's.
Result<void> check_places(std::vector<Entry> entries, int64_t alignment, int64_t data_size,
                          const std::string& path) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  int64_t covered = 0;
  for (const Entry& entry : entries) {
    const std::string label = member_label(path, entry.name);
    if (entry.begin % alignment != 0) {
      return malformed(label, fmt::format("its data begin at byte {}, which is no multiple of {}",
                                          entry.begin, alignment));
    }
    if (entry.begin > data_size || entry.bytes > data_size - entry.begin) {
      return error("E0702", fmt::format("{}: truncated: its {} bytes begin at byte {} of the data, "
                                        "which are {} bytes",
                                        label, entry.bytes, entry.begin, data_size));
    }
    if (entry.bytes > 0 && entry.begin < covered) {
      return malformed(label,
                       fmt::format("its data begin at byte {}, overlapping the tensor before "
                                   "it, which ends at {}",
                                   entry.begin, covered));
    }
    covered = std::max(covered, entry.begin + entry.bytes);
  }
  return {};
}

Result<Array> load_entry(const InputFile& file, int64_t data_at, const Entry& entry) {
  const std::string label = member_label(file.path(), entry.name);
  const TypeRow* row = type_of(entry.type);
  if (row == nullptr) {
    std::string known;
    for (const TypeRow& r : types) known += fmt::format(" {}", r.name);
    return error("E0704", fmt::format("{}: the GGUF type {} is not supported", label, entry.type),
                 "read are" + known);
  }
  FileSource source(file, data_at + entry.begin, entry.bytes);
  return read_elements(source, {row->type, entry.shape}, label);
}

void read_start(Cursor& in) {
  const auto magic = in.number<uint32_t>();
  if (!in.problem() && magic != 0x46554747) return in.fail("it does not begin with `GGUF`");
  const auto version = in.number<uint32_t>();
  if (!in.problem() && version != 2 && version != 3) {
    in.fail(fmt::format("version {} is not read; versions 2 and 3, little-endian, are", version));
  }
}

}  // namespace

Result<Members> open_gguf(const SharedFile& file) {
  constexpr int64_t least_entry = 8 + 4 + 4 + 8, least_value = 8 + 4 + 1;
  Cursor in(*file);
  read_start(in);
  const int64_t tensors = in.count("tensors", least_entry);
  const int64_t values = in.count("metadata entries", least_value);
  const int64_t alignment = read_metadata(in, values);
  std::vector<Entry> entries;
  std::set<std::string> names;
  for (int64_t k = 0; k < tensors && !in.problem(); ++k) {
    entries.push_back(read_entry(in, file->path()));
    if (in.problem()) break;
    const std::string label = member_label(file->path(), entries.back().name);
    if (!names.insert(entries.back().name).second) return malformed(label, "it is there twice");
    const Result<int64_t> bytes = entry_bytes(entries.back(), label);
    if (!bytes) return tl::unexpected(bytes.error());
    entries.back().bytes = *bytes;
  }
  if (in.problem()) return tl::unexpected(*in.problem());
  // Data may begin at the end of the file if there are none.
  const int64_t pad = (alignment - in.at() % alignment) % alignment;
  const int64_t data_at = in.at() + std::min(pad, in.left());
  if (auto fits = check_places(entries, alignment, file->size() - data_at, file->path()); !fits) {
    return tl::unexpected(std::move(fits.error()));
  }
  Members members;
  for (const Entry& entry : entries) {
    members.push_back(
        {entry.name, [file, data_at, entry]() { return load_entry(*file, data_at, entry); }});
  }
  return members;
}

}  // namespace tang
