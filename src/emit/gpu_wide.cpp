// Vectors in memory that one access reads or writes, for the expressions of gpu_expr.h.
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "emit/gpu_expr.h"

namespace tang {

using loop::LocalId;
using loop::Node;
using loop::Op;
using loop::Stmt;
using loop::StmtKind;
using loop::Type;
using loop::Value;

namespace {

constexpr std::string_view component = "xyzw";

}  // namespace

std::optional<WideMemory> GpuExpr::wide_memory(bool buffer, uint32_t id) const {
  const int bits = wide_bits(program_, kernel_, buffer, id);
  if (bits == 0) return std::nullopt;
  if (!buffer) {
    const bool real = kernel_.locals[id].type == Type::f32;
    return WideMemory{GpuDialect::Space::shared, local(static_cast<LocalId>(id)),
                      real ? "float" : "int",    bits,
                      array_words_[id],          real ? Format::f32 : Format::i32};
  }
  const GpuArgument& x = argument(static_cast<loop::BufferId>(id));
  if (x.atomic) return std::nullopt;
  const bool real = x.format == Format::f32 || x.format == Format::tf32;
  const char* word = real ? "float" : x.format == Format::i32 ? "int" : "uint";
  return WideMemory{GpuDialect::Space::buffer, x.name, word, bits, x.words, x.format};
}

std::string GpuExpr::wide_type(const std::string& word, int words) const {
  return words == 1 ? respell(word, dialect_.spelling()) : dialect_.vector_type(word, words);
}

// The words of one access, where memory is declared of vectors those of its declaration.
int GpuExpr::words_of_access(const WideMemory& memory, Value at, int lanes) const {
  const int words = words_at_once(plan_, memory.bits, at, lanes, vector_bytes_);
  if (!dialect_.packed()) return words;
  const bool alone = memory.words == 1 && memory.bits == 32;  // is what reads and stores do anyway
  return words < memory.words || alone ? 0 : memory.words;
}

// The vectors of an access, which begins at `at`, one after the other.
std::string GpuExpr::place_of(const WideMemory& memory, bool fixed, int words,
                              const std::string& at, int vector) const {
  const int elements = words * 32 / memory.bits;
  if (!dialect_.packed())
    return "*" +
           dialect_.wide_pointer(memory.space, fixed, wide_type(memory.word, words),
                                 fmt::format("{} + {}", memory.name,
                                             in(sum({at, gpu_atom}, vector * elements), gpu_sum)));
  return fmt::format("{}[{}]", memory.name,
                     dialect_.subscript(sum({at, gpu_atom}, vector).text, wide_));
}

// The address of an access in a name: of its first element, or of its first vector.
std::string GpuExpr::begin_of(const WideMemory& memory, int words, const GpuText& at) {
  if (!dialect_.packed()) return repeatable(at, index_type(), "at");
  const int shift = std::countr_zero(static_cast<unsigned>(words * 32 / memory.bits));
  const std::string text = shift == 0 ? at.text : fmt::format("{} >> {}u", in(at, gpu_atom), shift);
  return repeatable({text, shift == 0 ? at.level : gpu_compare}, index_type(), "at");
}

std::optional<GpuText> GpuExpr::read_wide(const Node& n, int lane) {
  const bool plain = n.args[1] == Value{} && n.args[2] == Value{} && n.lanes > 1;
  if (!plain || lazy_ > 0) return std::nullopt;
  const auto memory = wide_memory(n.op == Op::load, n.id);
  if (!memory) return std::nullopt;
  const int words = words_of_access(*memory, n.args[0], n.lanes);
  if (words == 0) return std::nullopt;
  const int per = 32 / memory->bits, elements = words * per;
  auto [found, is_new] = held_wide_.try_emplace(&n);
  if (is_new) {
    const std::string type = wide_type(memory->word, words);
    const std::string at = begin_of(*memory, words, address(n.args[0]));
    for (int e = 0; e * elements < n.lanes; ++e) {
      const std::string name = names_.name("wide");
      out_.line(dialect_.declare(true, type, name, place_of(*memory, true, words, at, e)));
      for (int w = 0; w < words; ++w)
        found->second.push_back(
            words == 1 ? name : fmt::format("{}.{}", name, component[static_cast<size_t>(w)]));
    }
  }
  const std::string& word = found->second[static_cast<size_t>(lane / per)];
  if (per == 1) return GpuText{word, gpu_atom};
  const std::string bits = fmt::format("tang_bits_{}({}, {}u)", memory->bits, word, lane % per);
  if (memory->format == Format::boolean) return GpuText{bits + " != 0", gpu_compare};
  return GpuText{fmt::format("tang_load_{}({})", name(memory->format), bits), gpu_atom};
}

bool GpuExpr::store_wide(const Stmt& s, const std::vector<GpuText>& values) {
  const bool buffer = s.kind == StmtKind::store;
  if (s.stride != Value{} || s.first != Value{}) return false;
  const auto memory = wide_memory(buffer, buffer ? index(s.buffer) : index(s.local));
  if (!memory) return false;
  const int lanes = static_cast<int>(values.size());
  const int words = words_of_access(*memory, s.a, lanes);
  if (words == 0) return false;
  const int per = 32 / memory->bits, elements = words * per;
  const std::string type = wide_type(memory->word, words);
  const std::string at = begin_of(*memory, words, address(s.a));
  for (int e = 0; e * elements < lanes; ++e) {
    std::vector<std::string> parts;
    for (int w = 0; w < words; ++w) {
      std::vector<std::string> bits;
      for (int k = 0; k < per; ++k) {
        const GpuText& value = values[static_cast<size_t>(e * elements + w * per + k)];
        const std::string one = stored_word(memory->format, kernel_[s.b].type, value);
        bits.push_back(k == 0 ? one : fmt::format("({} << {}u)", one, k * memory->bits));
      }
      parts.push_back(fmt::format("{}", fmt::join(bits, " | ")));
    }
    const std::string all = fmt::format("{}", fmt::join(parts, ", "));
    out_.line(fmt::format("{} = {};", place_of(*memory, false, words, at, e),
                          words == 1 ? all : dialect_.wide_value(type, all)));
  }
  return true;
}

}  // namespace tang
