// Layout, by PKWARE's APPNOTE 6.3: members, each with a local header; the central directory; its
// end record, which lies within the last 65557 bytes. Sizes of 2^32 − 1 refer to a ZIP64 extra
// field.
#include "front/zip.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

namespace tang {
namespace {

constexpr uint32_t local_signature = 0x04034b50;
constexpr uint32_t entry_signature = 0x02014b50;
constexpr uint32_t end_signature = 0x06054b50;
constexpr uint32_t end64_signature = 0x06064b50;
constexpr uint32_t locator_signature = 0x07064b50;
constexpr int64_t local_bytes = 30;
constexpr int64_t entry_bytes = 46;
constexpr int64_t end_bytes = 22;
constexpr int64_t locator_bytes = 20;
constexpr int64_t end64_bytes = 56;
constexpr uint32_t in_zip64 = 0xffffffff;
constexpr int64_t best_ratio = 1032;  // deflate packs at most this many bytes into one

auto malformed(const std::string& label, std::string_view what) {
  return error("E0703", fmt::format("{}: malformed archive: {}", label, what));
}

Result<std::vector<std::byte>> read_block(const InputFile& file, int64_t at, int64_t size) {
  std::vector<std::byte> block(static_cast<size_t>(size));
  if (auto done = file.read(at, block); !done) return tl::unexpected(std::move(done.error()));
  return block;
}

struct Directory {
  int64_t at = 0;
  int64_t size = 0;
  int64_t entries = 0;
};

bool within(const Directory& directory, int64_t limit) {
  return directory.at >= 0 && directory.size >= 0 && directory.at <= limit &&
         directory.size <= limit - directory.at && directory.entries >= 0 &&
         directory.entries <= directory.size / entry_bytes;
}

// The ZIP64 end record whose locator precedes the end record at `end_at`; empty if there is none.
Result<std::optional<Directory>> find_directory64(const InputFile& file, int64_t end_at) {
  if (end_at < locator_bytes) return std::optional<Directory>();
  auto locator = read_block(file, end_at - locator_bytes, locator_bytes);
  if (!locator) return tl::unexpected(std::move(locator.error()));
  if (little_endian<uint32_t>(locator->data()) != locator_signature) {
    return std::optional<Directory>();
  }
  const auto at = little_endian<int64_t>(locator->data() + 8);
  if (at < 0 || at > end_at - locator_bytes - end64_bytes) {
    return malformed(file.path(), "the ZIP64 end record lies outside the file");
  }
  auto record = read_block(file, at, end64_bytes);
  if (!record) return tl::unexpected(std::move(record.error()));
  const std::byte* r = record->data();
  const Directory directory{little_endian<int64_t>(r + 48), little_endian<int64_t>(r + 40),
                            little_endian<int64_t>(r + 32)};
  if (little_endian<uint32_t>(r) != end64_signature || !within(directory, at)) {
    return malformed(file.path(), "the ZIP64 end record contradicts the file's size");
  }
  return std::optional(directory);
}

Result<Directory> find_directory(const InputFile& file) {
  const int64_t tail_size = std::min<int64_t>(file.size(), end_bytes + 0xffff);
  auto tail = read_block(file, file.size() - tail_size, tail_size);
  if (!tail) return tl::unexpected(std::move(tail.error()));
  for (int64_t at = tail_size - end_bytes; at >= 0; --at) {
    const std::byte* r = tail->data() + at;
    if (little_endian<uint32_t>(r) != end_signature) continue;
    if (at + end_bytes + little_endian<uint16_t>(r + 20) != tail_size) continue;
    const int64_t end_at = file.size() - tail_size + at;
    auto wide = find_directory64(file, end_at);
    if (!wide) return tl::unexpected(std::move(wide.error()));
    const Directory directory =
        wide->value_or(Directory{little_endian<uint32_t>(r + 16), little_endian<uint32_t>(r + 12),
                                 little_endian<uint16_t>(r + 10)});
    if (!within(directory, end_at)) {
      return malformed(file.path(), "its directory lies outside the file");
    }
    return directory;
  }
  std::byte start[4] = {};
  if (file.size() >= 4) {
    if (auto done = file.read(0, start); !done) return tl::unexpected(std::move(done.error()));
  }
  if (little_endian<uint32_t>(start) == local_signature) {
    return error("E0702", fmt::format("{}: truncated: the {} bytes do not end with the archive's "
                                      "directory",
                                      file.path(), file.size()));
  }
  return error("E0703", file.path() + ": not a .npz (zip) archive");
}

// Replaces the sizes that refer to the ZIP64 extra field; false if it is missing or too short.
bool apply_zip64(ZipEntry& entry, std::span<const std::byte> extra) {
  int64_t* fields[] = {&entry.size, &entry.packed_size, &entry.header_at};
  const auto refers = [](const int64_t* field) { return *field == in_zip64; };
  if (std::none_of(std::begin(fields), std::end(fields), refers)) return true;
  while (extra.size() >= 4) {
    const auto id = little_endian<uint16_t>(extra.data());
    const size_t length = little_endian<uint16_t>(extra.data() + 2);
    extra = extra.subspan(4);
    if (length > extra.size()) return false;
    if (id != 1) {
      extra = extra.subspan(length);
      continue;
    }
    std::span<const std::byte> body = extra.first(length);
    for (int64_t* field : fields) {
      if (!refers(field)) continue;
      if (body.size() < 8) return false;
      *field = little_endian<int64_t>(body.data());
      body = body.subspan(8);
    }
    return true;
  }
  return false;
}

// Parses one directory entry and drops its bytes from `rest`; empty if malformed.
std::optional<ZipEntry> parse_entry(std::span<const std::byte>& rest) {
  if (rest.size() < entry_bytes) return std::nullopt;
  const std::byte* r = rest.data();
  const size_t name_length = little_endian<uint16_t>(r + 28);
  const size_t extra_length = little_endian<uint16_t>(r + 30);
  const size_t total = entry_bytes + name_length + extra_length + little_endian<uint16_t>(r + 32);
  if (little_endian<uint32_t>(r) != entry_signature || total > rest.size()) return std::nullopt;
  ZipEntry entry;
  entry.flags = little_endian<uint16_t>(r + 8);
  entry.method = little_endian<uint16_t>(r + 10);
  entry.crc = little_endian<uint32_t>(r + 16);
  entry.packed_size = little_endian<uint32_t>(r + 20);
  entry.size = little_endian<uint32_t>(r + 24);
  entry.header_at = little_endian<uint32_t>(r + 42);
  entry.name.assign(reinterpret_cast<const char*>(r + entry_bytes), name_length);
  if (!apply_zip64(entry, rest.subspan(entry_bytes + name_length, extra_length))) {
    return std::nullopt;
  }
  rest = rest.subspan(total);
  return entry;
}

// Adds the next bytes to a running CRC.
uint32_t extend_crc(uint32_t crc, std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// The bytes of one member. Stored members are read straight into the caller's memory.
class ZipSource : public ByteSource {
 public:
  ZipSource(SharedFile file, ZipEntry entry, int64_t data_at, std::string label)
      : file_(std::move(file)),
        entry_(std::move(entry)),
        next_(data_at),
        end_(data_at + entry_.packed_size),
        label_(std::move(label)) {}
  ZipSource(const ZipSource&) = delete;
  ZipSource& operator=(const ZipSource&) = delete;
  ~ZipSource() override {
    if (inflating_) inflateEnd(&stream_);
  }

  int64_t size() const override { return entry_.size; }

  Result<void> read(std::span<std::byte> out) override {
    auto done = entry_.method == 0 ? read_stored(out) : read_deflated(out);
    if (done) crc_ = extend_crc(crc_, out);
    return done;
  }

  Result<void> finish() override {
    if (entry_.method == 8) {
      std::byte more = {};
      int64_t got = 0;
      if (auto done = inflate_some({&more, 1}, got); !done) return done;
      if (got != 0) return malformed(label_, "it unpacks to more bytes than declared");
    }
    if (crc_ != entry_.crc) {
      return error("E0703", fmt::format("{}: damaged: its CRC is {:08x}, the archive says {:08x}",
                                        label_, crc_, entry_.crc));
    }
    return {};
  }

 private:
  Result<void> read_stored(std::span<std::byte> out) {
    const int64_t at = next_;
    next_ += static_cast<int64_t>(out.size());
    if (next_ > end_) return malformed(label_, "it is shorter than declared");
    return file_->read(at, out);
  }

  Result<void> read_deflated(std::span<std::byte> out) {
    while (!out.empty()) {
      int64_t got = 0;
      if (auto done = inflate_some(out, got); !done) return done;
      if (got == 0) return malformed(label_, "it unpacks to fewer bytes than declared");
      out = out.subspan(static_cast<size_t>(got));
    }
    return {};
  }

  // Unpacks into `out` until some bytes appear; `got` is 0 only at the end of the packed stream.
  Result<void> inflate_some(std::span<std::byte> out, int64_t& got) {
    if (!inflating_ && inflateInit2(&stream_, -MAX_WBITS) != Z_OK) {
      return tl::unexpected(out_of_memory("unpacking " + label_, "some"));
    }
    inflating_ = true;
    const size_t room = std::min<size_t>(out.size(), std::numeric_limits<uInt>::max() / 2);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(room);
    while (!ended_ && stream_.avail_out == room) {
      if (stream_.avail_in == 0 && next_ < end_) {
        if (auto done = refill(); !done) return done;
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        ended_ = true;
      } else if (status != Z_OK) {
        return error("E0703", label_ + ": damaged: the packed data are not valid");
      }
    }
    got = static_cast<int64_t>(room - stream_.avail_out);
    return {};
  }

  Result<void> refill() {
    input_.resize(static_cast<size_t>(std::min<int64_t>(end_ - next_, 1 << 16)));
    auto done = file_->read(next_, input_);
    next_ += static_cast<int64_t>(input_.size());
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(input_.size());
    return done;
  }

  SharedFile file_;
  ZipEntry entry_;
  int64_t next_;
  int64_t end_;
  std::string label_;
  uint32_t crc_ = 0;
  z_stream stream_ = {};
  bool inflating_ = false;
  bool ended_ = false;
  std::vector<std::byte> input_;
};

// Little-endian records under construction.
class Record {
 public:
  Record& u16(uint64_t value) { return put(value, 2); }
  Record& u32(uint64_t value) { return put(value, 4); }
  Record& u64(uint64_t value) { return put(value, 8); }
  Record& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Record& put(uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }

  std::string bytes_;
};

constexpr uint64_t dos_date = (1 << 5) | 1;  // 1980-01-01, the earliest there is

struct WrittenMember {
  uint64_t at;
  uint64_t size;
  uint32_t crc;
  bool wide() const { return size >= in_zip64 || at >= in_zip64; }
};

// The fields that local header and directory entry share. A wide member has its sizes in the extra
// field.
void put_common(Record& record, const WrittenMember& m, size_t name_length, size_t extra_length) {
  const uint64_t size = m.wide() ? in_zip64 : m.size;
  record.u16(m.wide() ? 45 : 20).u16(0).u16(0).u16(0).u16(dos_date).u32(m.crc).u32(size).u32(size);
  record.u16(name_length).u16(extra_length);
}

std::string local_header(const std::string& name, const WrittenMember& m) {
  Record record;
  record.u32(local_signature);
  put_common(record, m, name.size(), m.wide() ? 20 : 0);
  record.text(name);
  if (m.wide()) record.u16(1).u16(16).u64(m.size).u64(m.size);
  return record.bytes();
}

std::string directory_entry(const std::string& name, const WrittenMember& m) {
  Record record;
  record.u32(entry_signature).u16(m.wide() ? 45 : 20);
  put_common(record, m, name.size(), m.wide() ? 28 : 0);
  record.u16(0).u16(0).u16(0).u32(0).u32(m.wide() ? in_zip64 : m.at).text(name);
  if (m.wide()) record.u16(1).u16(24).u64(m.size).u64(m.size).u64(m.at);
  return record.bytes();
}

std::string end_records(uint64_t count, uint64_t at, uint64_t size) {
  Record record;
  const bool wide = count >= 0xffff || at >= in_zip64 || size >= in_zip64;
  if (wide) {
    record.u32(end64_signature).u64(end64_bytes - 12).u16(45).u16(45).u32(0).u32(0);
    record.u64(count).u64(count).u64(size).u64(at);
    record.u32(locator_signature).u32(0).u64(at + size).u32(1);
  }
  record.u32(end_signature).u16(0).u16(0).u16(wide ? 0xffff : count).u16(wide ? 0xffff : count);
  record.u32(wide ? in_zip64 : size).u32(wide ? in_zip64 : at).u16(0);
  return record.bytes();
}

WrittenMember measure(const ZipMember& member, uint64_t at) {
  WrittenMember m{at, 0, 0};
  for (const auto part : member.parts) {
    m.size += part.size();
    m.crc = extend_crc(m.crc, part);
  }
  return m;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

Result<std::vector<ZipEntry>> read_zip_directory(const InputFile& file) {
  Result<Directory> directory = find_directory(file);
  if (!directory) return tl::unexpected(std::move(directory.error()));
  auto block = read_block(file, directory->at, directory->size);
  if (!block) return tl::unexpected(std::move(block.error()));
  std::span<const std::byte> rest = *block;
  std::vector<ZipEntry> entries;
  for (int64_t i = 0; i < directory->entries; ++i) {
    std::optional<ZipEntry> entry = parse_entry(rest);
    if (!entry) return malformed(file.path(), fmt::format("entry {} of its directory", i));
    entries.push_back(std::move(*entry));
  }
  return entries;
}

Result<std::unique_ptr<ByteSource>> open_zip_entry(const SharedFile& file, const ZipEntry& entry,
                                                   const std::string& label) {
  if ((entry.flags & 1) != 0) return error("E0704", label + ": the member is encrypted");
  if (entry.method != 0 && entry.method != 8) {
    return error("E0704",
                 fmt::format("{}: compression method {} is not supported", label, entry.method),
                 "save with numpy.savez or numpy.savez_compressed");
  }
  const int64_t limit = file->size() - local_bytes;
  if (entry.header_at < 0 || entry.header_at > limit || entry.packed_size < 0 || entry.size < 0) {
    return malformed(label, "the member lies outside the file");
  }
  std::byte header[local_bytes] = {};
  if (auto done = file->read(entry.header_at, header); !done) return tl::unexpected(done.error());
  if (little_endian<uint32_t>(header) != local_signature) {
    return malformed(label, fmt::format("no member begins at byte {}", entry.header_at));
  }
  const int64_t data_at = entry.header_at + local_bytes + little_endian<uint16_t>(header + 26) +
                          little_endian<uint16_t>(header + 28);
  if (data_at > file->size() || entry.packed_size > file->size() - data_at) {
    return error("E0702",
                 fmt::format("{}: truncated: its {} bytes at byte {} end beyond the file's "
                             "{} bytes",
                             label, entry.packed_size, data_at, file->size()));
  }
  const bool possible = entry.method == 0 ? entry.size == entry.packed_size
                                          : entry.size / best_ratio <= entry.packed_size;
  if (!possible) {
    return malformed(label, fmt::format("{} packed bytes cannot hold the declared {}",
                                        entry.packed_size, entry.size));
  }
  return std::make_unique<ZipSource>(file, entry, data_at, label);
}

Result<void> write_zip(const std::string& path, const std::vector<ZipMember>& members) {
  std::vector<std::string> headers;
  headers.reserve(members.size());  // parts point into these strings
  ByteParts parts;
  std::string directory;
  uint64_t at = 0;
  for (const ZipMember& member : members) {
    if (member.name.size() > 0xffff) {
      return error("E0708",
                   fmt::format("{}: cannot be written: a member's name is too long", path));
    }
    const WrittenMember m = measure(member, at);
    headers.push_back(local_header(member.name, m));
    directory += directory_entry(member.name, m);
    parts.push_back(bytes_of(headers.back()));
    parts.insert(parts.end(), member.parts.begin(), member.parts.end());
    at += headers.back().size() + m.size;
  }
  parts.push_back(bytes_of(directory));
  const std::string end = end_records(members.size(), at, directory.size());
  parts.push_back(bytes_of(end));
  return write_file(path, parts);
}

}  // namespace tang
