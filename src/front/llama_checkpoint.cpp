#include "front/llama_checkpoint.h"

#include <cstring>

#include <fmt/format.h>

namespace tang {

namespace {

constexpr int64_t header_bytes = 7 * 4;
constexpr int64_t most_layers = 128;       // each makes a dozen definitions of the graph
constexpr int64_t largest_size = 1 << 24;  // of any other size: products of two fit 64 bits

auto bad_header(const std::string& path, std::string_view what) {
  return error("E0714", fmt::format("{}: {}", path, what),
               "a llama2.c checkpoint begins with seven int32: dim, hidden, layers, heads, kv "
               "heads, vocabulary, context");
}

Result<LlamaShape> read_header(const std::string& path, std::span<const std::byte> bytes) {
  if (static_cast<int64_t>(bytes.size()) < header_bytes)
    return error("E0702", fmt::format("{}: the header takes {} bytes, the file has {}", path,
                                      header_bytes, bytes.size()));
  int32_t fields[7];
  std::memcpy(fields, bytes.data(), sizeof fields);
  const char* const names[] = {"dim",      "hidden",     "layers", "heads",
                               "kv heads", "vocabulary", "context"};
  for (int k = 0; k < 7; ++k) {
    const int64_t most = k == 2 ? most_layers : largest_size;
    if (fields[k] < 1 || fields[k] > most)
      return bad_header(path, fmt::format("the header at byte {} says {} = {}, not 1 to {}", 4 * k,
                                          names[k], fields[k], most));
  }
  LlamaShape s{fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6]};
  if (s.dim % s.heads != 0 || s.head() % 2 != 0)
    return bad_header(
        path, fmt::format("dim = {} is not an even number for each of {} heads", s.dim, s.heads));
  if (s.heads % s.kv_heads != 0)
    return bad_header(path,
                      fmt::format("{} heads do not share {} kv heads evenly", s.heads, s.kv_heads));
  return s;
}

// Values of one layer's block.
std::array<int64_t, llama_weight_kinds> block_sizes(const LlamaShape& s) {
  const int64_t kv = s.kv_heads * s.head();
  return {s.vocab * s.dim,
          s.dim,
          s.dim * s.dim,
          kv * s.dim,
          kv * s.dim,
          s.dim * s.dim,
          s.dim,
          s.hidden * s.dim,
          s.dim * s.hidden,
          s.hidden * s.dim,
          s.dim};
}

bool is_of_model(size_t kind) { return kind == 0 || kind + 1 == llama_weight_kinds; }

}  // namespace

Result<LlamaCheckpoint> LlamaCheckpoint::open(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  const auto shape = read_header(path, file->bytes());
  if (!shape) return tl::unexpected(shape.error());
  LlamaCheckpoint model(std::move(*file), *shape);
  // Each product is at most 2^48 a layer, so the sum of all stays below 2^62.
  const std::array<int64_t, llama_weight_kinds> sizes = block_sizes(*shape);
  int64_t next = 0;
  for (size_t k = 0; k < sizes.size(); ++k) {
    model.blocks_[k] = {next, sizes[k]};
    next += sizes[k] * (is_of_model(k) ? 1 : shape->layers);
  }
  const int64_t wanted = header_bytes + 4 * (next + shape->context * shape->head());
  const auto size = static_cast<int64_t>(model.file_.bytes().size());
  if (size < wanted)
    return error(
        "E0702",
        fmt::format("{}: its header declares {} bytes, the file ends at {}", path, wanted, size),
        "was it copied whole?");
  if (size > wanted)
    return error("E0703", fmt::format("{}: its header declares {} bytes, and {} more follow", path,
                                      wanted, size - wanted));
  return model;
}

std::span<const float> LlamaCheckpoint::weight(LlamaWeight kind, int64_t layer) const {
  const Block& b = blocks_[static_cast<size_t>(kind)];
  const auto* values = reinterpret_cast<const float*>(file_.bytes().data() + header_bytes);
  return {values + b.first + layer * b.count, static_cast<size_t>(b.count)};
}

}  // namespace tang
