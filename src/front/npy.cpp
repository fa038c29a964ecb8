// The .npy format, versions 1 to 3: magic "\x93NUMPY", two version bytes, the header's length (two
// bytes in version 1, then four), a Python dictionary literal with exactly the keys descr,
// fortran_order and shape, and the elements.
#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "front/array_reader.h"

namespace tang {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr int64_t longest_header = int64_t{1} << 20;
constexpr size_t most_axes = 64;

struct NpyHeader {
  std::string descr;
  bool structured = false;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

// A strict reader of the header's dictionary; each function returns false at the first fault, with
// `at` on it.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }

  bool dictionary(NpyHeader& header) {
    if (!accept('{')) return false;
    while (!accept('}')) {
      std::string key;
      if (!string(key) || !accept(':') || !value(key, header)) return false;
      if (!accept(',')) {
        if (!accept('}')) return false;
        break;
      }
    }
    skip_space();
    return at_ == text_.size() && (header.structured || !header.descr.empty()) &&
           header.fortran_order && header.shape;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool string(std::string& out) {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }

  bool value(const std::string& key, NpyHeader& header) {
    if (key == "descr" && header.descr.empty() && !header.structured) return descr(header);
    if (key == "fortran_order" && !header.fortran_order) return boolean(header.fortran_order);
    if (key == "shape" && !header.shape) return shape(header.shape.emplace());
    return false;
  }

  // A list describes a structured type: it is skipped up to its closing bracket.
  bool descr(NpyHeader& header) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != '[') return string(header.descr);
    header.structured = true;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      depth += text_[at_] == '[' ? 1 : text_[at_] == ']' ? -1 : 0;
      if (depth == 0) {
        ++at_;
        return true;
      }
    }
    return false;
  }

  bool boolean(std::optional<bool>& out) {
    if (accept_word("True")) {
      out = true;
    } else if (accept_word("False")) {
      out = false;
    }
    return out.has_value();
  }

  // A tuple; one extent needs its comma, as in Python. The suffix L is how Python 2 wrote integers.
  bool shape(std::vector<int64_t>& out) {
    if (!accept('(')) return false;
    bool comma = true;
    while (!accept(')')) {
      int64_t extent = 0;
      if (!comma || out.size() == most_axes || !integer(extent)) return false;
      out.push_back(extent);
      comma = accept(',');
    }
    return out.size() != 1 || comma;
  }

  bool integer(int64_t& out) {
    skip_space();
    const char* begin = text_.data() + at_;
    const auto [end, failure] = std::from_chars(begin, text_.data() + text_.size(), out);
    if (failure != std::errc() || out < 0) return false;
    at_ += static_cast<size_t>(end - begin);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

auto unsupported_type(const std::string& label, std::string_view descr) {
  std::string hint = "save it as float64, float32, float16, an integer type or bool";
  const std::string_view code =
      descr.substr(std::min(descr.find_first_not_of("<>=|"), descr.size()));
  if (code.starts_with('c')) hint = "save the real and the imaginary part as two arrays";
  if (code.starts_with('O')) hint = "object arrays hold Python values; convert with .astype(…)";
  if (code.starts_with('V')) {
    hint = "NumPy loses the name of bfloat16 and 8-bit floats: save with .astype('float32')";
  }
  return error("E0704",
               fmt::format("{}: the element type {} is not supported", label, quoted_name(descr)),
               hint);
}

Result<StoredType> element_type(const NpyHeader& header, const std::string& label) {
  if (header.structured) return unsupported_type(label, "structured");
  std::string_view code = header.descr;
  const char order =
      std::string_view("<>=|").find(code.front()) != std::string_view::npos ? code.front() : '=';
  if (order == code.front()) code.remove_prefix(1);
  std::optional<StoredType> type;
  if (code.size() == 2 && code[1] >= '1' && code[1] <= '8')
    type = stored_type(code[0], code[1] - '0');
  if (code == "?") type = stored_type('b', 1);
  if (!type) return unsupported_type(label, header.descr);
  type->big_endian = order == '>' && type->bytes > 1;
  return *type;
}

struct HeaderText {
  std::string text;
  int64_t data_at;
};

Result<HeaderText> header_text(ByteSource& source, const std::string& label) {
  const auto truncated = [&](std::string_view where) {
    return error("E0702",
                 fmt::format("{}: truncated: {} bytes end within {}", label, source.size(), where));
  };
  std::byte start[12] = {};
  if (source.size() < 10) return truncated("the .npy header");
  if (auto done = source.read({start, 10}); !done) return tl::unexpected(done.error());
  if (std::memcmp(start, magic.data(), magic.size()) != 0) {
    return error("E0703", label + ": not .npy data: the magic bytes \\x93NUMPY are missing");
  }
  const int major = std::to_integer<int>(start[6]);
  const int minor = std::to_integer<int>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return error("E0703", fmt::format("{}: .npy version {}.{} is unknown", label, major, minor),
                 "versions 1.0, 2.0 and 3.0 are read");
  }
  int64_t data_at = 10;
  int64_t length = little_endian<uint16_t>(start + 8);
  if (major > 1) {
    if (source.size() < 12) return truncated("the .npy header");
    if (auto done = source.read({start + 10, 2}); !done) return tl::unexpected(done.error());
    data_at = 12;
    length = little_endian<uint32_t>(start + 8);
  }
  if (length > source.size() - data_at) return truncated("the .npy header");
  if (length > longest_header) {
    return error("E0703", fmt::format("{}: a .npy header of {} bytes is longer than {}", label,
                                      length, longest_header));
  }
  HeaderText header{std::string(static_cast<size_t>(length), '\0'), data_at + length};
  auto bytes = std::as_writable_bytes(std::span(header.text.data(), header.text.size()));
  if (auto done = source.read(bytes); !done) return tl::unexpected(done.error());
  return header;
}

// Compares what the header declares with what the source holds.
Result<void> check_size(const StoredArray& stored, int64_t held, const std::string& label) {
  const std::optional<int64_t> count = element_count(stored.shape);
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, int64_t{stored.type.bytes}, &bytes)) {
    return error("E0703",
                 fmt::format("{}: the shape {} overflows", label, shape_text(stored.shape)));
  }
  const std::string declared = fmt::format("shape {} with {}-byte elements needs {} bytes of data",
                                           shape_text(stored.shape), stored.type.bytes, bytes);
  if (bytes > held) {
    return error("E0702",
                 fmt::format("{}: truncated: {}, but {} follow the header", label, declared, held));
  }
  if (bytes < held) {
    return error("E0703", fmt::format("{}: {}, but {} follow the header", label, declared, held));
  }
  return {};
}

// The array in a format NumPy has, or nothing if it is in one already.
Result<std::optional<Array>> for_numpy(const Array& array) {
  Format target = array.format;
  switch (array.format) {
    case Format::bf16:
    case Format::f8e4m3:
    case Format::f8e5m2:
      target = Format::f32;
      break;
    case Format::i4:
      target = Format::i8;
      break;
    case Format::u4:
      target = Format::u8;
      break;
    default:
      return std::optional<Array>();
  }
  Result<Array> converted = make_array(target, array.shape);
  if (!converted) return tl::unexpected(std::move(converted.error()));
  const int64_t n = array.elements();
  for (int64_t i = 0; i < n; ++i) converted->set(i, array.at(i));
  return std::optional<Array>(std::move(*converted));
}

std::string_view descr_of(Format format) {
  switch (format) {
    case Format::f64:
      return "<f8";
    case Format::f32:
    case Format::tf32:
      return "<f4";
    case Format::f16:
      return "<f2";
    case Format::i64:
      return "<i8";
    case Format::i32:
      return "<i4";
    case Format::i8:
      return "|i1";
    case Format::u8:
      return "|u1";
    case Format::boolean:
      return "|b1";
    default:
      return "";
  }
}

// The magic, version 1.0 (2.0 if long) and header, padded so that the data begin at a multiple
// of 64.
std::string header_for(std::string_view descr, const std::vector<int64_t>& shape) {
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const bool wide = dictionary.size() > 65000;
  const size_t before = wide ? 12 : 10;
  dictionary.append(63 - (before + dictionary.size()) % 64, ' ');
  dictionary += '\n';
  std::string out(magic);
  out += wide ? '\2' : '\1';
  out += '\0';
  for (size_t i = 0; i < before - 8; ++i) {
    out += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  }
  return out + dictionary;
}

}  // namespace

Result<Array> read_npy(ByteSource& source, const std::string& label) {
  Result<HeaderText> text = header_text(source, label);
  if (!text) return tl::unexpected(std::move(text.error()));
  NpyHeader header;
  HeaderParser parser(text->text);
  if (!parser.dictionary(header)) {
    return error("E0703",
                 fmt::format("{}: the .npy header is malformed at its byte {}", label, parser.at()),
                 "it must be {'descr': …, 'fortran_order': …, 'shape': (…)} with extents of at "
                 "least 0");
  }
  Result<StoredType> type = element_type(header, label);
  if (!type) return tl::unexpected(std::move(type.error()));
  const StoredArray stored{*type, std::move(*header.shape), *header.fortran_order};
  if (auto fits = check_size(stored, source.size() - text->data_at, label); !fits) {
    return tl::unexpected(std::move(fits.error()));
  }
  return read_elements(source, stored, label);
}

Result<NpyImage> npy_image(const Array& array, const std::string& path) {
  Result<std::optional<Array>> converted = for_numpy(array);
  if (!converted) return tl::unexpected(std::move(converted.error()));
  NpyImage image;
  image.converted = std::move(*converted);
  const Array& shown = image.converted ? *image.converted : array;
  const std::string_view descr = descr_of(shown.format);
  if (descr.empty()) {
    return error("E0709",
                 fmt::format("{}: format {} cannot be written to this kind of file", path,
                             name(array.format)),
                 "block formats are for inputs only");
  }
  image.header = header_for(descr, shown.shape);
  image.elements = shown.data.bytes();
  return image;
}

Result<Members> open_npy(const SharedFile& file) {
  const auto load = [file]() {
    FileSource source(*file, 0, file->size());
    return read_npy(source, file->path());
  };
  return Members{{"", load}};
}

}  // namespace tang
