// Vectors in memory that one access reads or writes, for the expressions of gpu_expr.h.
#include <algorithm>

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
  if (dialect_.packed()) return std::nullopt;
  if (!buffer) {
    const loop::Local& array = kernel_.locals[id];
    const bool fits = array.shared && (array.type == Type::f32 || array.type == Type::i32);
    if (!fits) return std::nullopt;
    return WideMemory{GpuDialect::Space::shared, local(static_cast<LocalId>(id)),
                      array.type == Type::f32 ? "float" : "int", 32,
                      array.type == Type::f32 ? Format::f32 : Format::i32};
  }
  const GpuArgument& x = argument(static_cast<loop::BufferId>(id));
  const int bits = info(x.format).bits;
  if (is_block(x.format) || bits > 32 || bits < 8) return std::nullopt;
  const bool real = x.format == Format::f32 || x.format == Format::tf32;
  return WideMemory{GpuDialect::Space::buffer, x.name,
                    real                      ? "float"
                    : x.format == Format::i32 ? "int"
                                              : "uint",
                    bits, x.format};
}

std::string GpuExpr::wide_type(const std::string& word, int words) const {
  return words == 1 ? respell(word, dialect_.spelling()) : fmt::format("{}{}", word, words);
}

// How many words an access takes, so that it is aligned: 4, 2, or 1 of narrower elements; 0: none.
int GpuExpr::words_at_once(const WideMemory& memory, Value at, int lanes) const {
  const int per = 32 / memory.bits;
  const int64_t multiple = plan_.multiple(at);
  for (const int words : {4, 2, 1}) {
    const int elements = words * per;
    const bool useful = elements > 1 && words * 4 <= vector_bytes_;
    if (useful && lanes % elements == 0 && multiple % elements == 0) return words;
  }
  return 0;
}

std::optional<GpuText> GpuExpr::read_wide(const Node& n, int lane) {
  const bool plain = n.args[1] == Value{} && n.args[2] == Value{} && n.lanes > 1;
  if (!plain || lazy_ > 0) return std::nullopt;
  const auto memory = wide_memory(n.op == Op::load, n.id);
  if (!memory) return std::nullopt;
  const int words = words_at_once(*memory, n.args[0], n.lanes);
  if (words == 0) return std::nullopt;
  const int per = 32 / memory->bits, elements = words * per;
  auto [found, is_new] = held_wide_.try_emplace(&n);
  if (is_new) {
    const std::string type = wide_type(memory->word, words);
    const std::string at = repeatable(address(n.args[0]), index_type(), "at");
    for (int e = 0; e < n.lanes; e += elements) {
      const std::string name = names_.name("wide");
      const std::string pointer = dialect_.wide_pointer(
          memory->space, true, type,
          fmt::format("{} + {}", memory->name, in(sum({at, gpu_atom}, e), gpu_sum)));
      out_.line(dialect_.declare(true, type, name, "*" + pointer));
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

bool GpuExpr::store_wide(const Stmt& s, const std::vector<GpuText>& values, const std::string& at) {
  const bool buffer = s.kind == StmtKind::store;
  const auto memory = wide_memory(buffer, buffer ? index(s.buffer) : index(s.local));
  if (!memory) return false;
  const int lanes = static_cast<int>(values.size());
  const int words = words_at_once(*memory, s.a, lanes);
  if (words == 0) return false;
  const int per = 32 / memory->bits, elements = words * per;
  const std::string type = wide_type(memory->word, words);
  for (int e = 0; e < lanes; e += elements) {
    std::vector<std::string> parts;
    for (int w = 0; w < words; ++w) {
      std::vector<std::string> bits;
      for (int k = 0; k < per; ++k) {
        const GpuText& value = values[static_cast<size_t>(e + w * per + k)];
        const std::string one = stored_word(memory->format, kernel_[s.b].type, value);
        bits.push_back(k == 0 ? one : fmt::format("({} << {}u)", one, k * memory->bits));
      }
      parts.push_back(fmt::format("{}", fmt::join(bits, " | ")));
    }
    const std::string pointer = dialect_.wide_pointer(
        memory->space, false, type,
        fmt::format("{} + {}", memory->name, in(sum({at, gpu_atom}, e), gpu_sum)));
    const std::string all = fmt::format("{}", fmt::join(parts, ", "));
    out_.line(fmt::format("*{} = {};", pointer, words == 1 ? all : dialect_.wide_value(type, all)));
  }
  return true;
}

}  // namespace tang
