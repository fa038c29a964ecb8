// Elements of buffers and arrays in the expressions of gpu_expr.h.
#include <bit>

#include <fmt/format.h>

#include "emit/gpu_expr.h"

namespace tang {

using loop::LocalId;
using loop::Node;
using loop::Op;
using loop::Type;
using loop::Value;

namespace {

bool is_whole(Format format) {
  return format == Format::f32 || format == Format::tf32 || format == Format::f64 ||
         format == Format::i64 || format == Format::i32;
}

}  // namespace

// A word of memory that is declared of vectors of `words` words.
std::string GpuExpr::packed_word(const std::string& name, int words, const GpuText& at) {
  if (words == 1) return fmt::format("{}[{}]", name, dialect_.subscript(at.text, wide_));
  const std::string index = repeatable(at, index_type(), "at");
  return fmt::format("{}[{}][{}]", name,
                     dialect_.subscript(fmt::format("{} >> {}u", index, words / 2), wide_),
                     dialect_.subscript(fmt::format("{} & {}", index, words - 1), wide_));
}

std::string GpuExpr::array_element(LocalId id, const GpuText& at) {
  return packed_word(local(id), array_words(id), at);
}

// The bits of an element that is narrower than a word, as a word.
GpuText GpuExpr::raw(const GpuArgument& x, const GpuText& at) {
  const int bits = info(x.format).bits;
  const std::string index = repeatable(at, index_type(), "at");
  const std::string word_type = respell("uint", dialect_.spelling());
  if (dialect_.packed()) {
    const int shift = std::countr_zero(static_cast<unsigned>(32 / bits));
    const GpuText place{fmt::format("{} >> {}u", index, shift), gpu_compare};
    const std::string word = x.words > 1 ? packed_word(x.name, x.words, place)
                                         : dialect_.word(x, dialect_.subscript(place.text, wide_));
    return {fmt::format("tang_bits_{}({}, {})", bits, word, dialect_.cast(word_type, index).text),
            gpu_atom};
  }
  if (bits == 4)
    return {fmt::format("tang_bits_4({}[{} / 2], {})", x.name, index,
                        dialect_.cast(word_type, index + " % 2").text),
            gpu_atom};
  return {fmt::format("{}[{}]", x.name, at.text), gpu_atom};
}

GpuText GpuExpr::load(const GpuArgument& x, const GpuText& at, bool narrows) {
  if (is_block(x.format)) return block(x, at, narrows ? Type::f32 : loop::compute_type(x.format));
  if (is_whole(x.format)) return {packed_word(x.name, x.words, at), gpu_atom};
  const GpuText bits = raw(x, at);
  if (x.format == Format::boolean)
    return {fmt::format("{} != {}", bits.text, dialect_.packed() ? "0u" : "0"), gpu_compare};
  return {fmt::format("tang_load_{}({})", name(x.format), bits.text), gpu_atom};
}

// The bits that are stored, as a word.
std::string GpuExpr::stored_bits(Format format, Type type, const GpuText& value) const {
  if (format == Format::boolean)
    return dialect_.select(value, {"1u", gpu_atom}, {"0u", gpu_atom}).text;
  if (type == Type::f64)
    return fmt::format("tang_store_{}_f32(tang_odd({}))", name(format), value.text);
  return fmt::format("tang_store_{}_{}({})", name(format), name(type), value.text);
}

// What is stored of a value, in a type of the element's size.
std::string GpuExpr::stored_word(Format format, Type type, const GpuText& value) const {
  if (!is_whole(format)) return stored_bits(format, type, value);
  const std::string& text = value.text;
  if (format == Format::f32 && type == Type::f64)
    return dialect_.cast(dialect_.type(Type::f32), text).text;
  if (format == Format::i32 && type == Type::i64) return fmt::format("tang_cast_i64_i32({})", text);
  if (format == Format::i64 && type == Type::i32)
    return dialect_.pairs() ? fmt::format("tang_cast_i32_i64({})", text)
                            : dialect_.cast(dialect_.type(Type::i64), text).text;
  if (format == Format::tf32)
    return fmt::format("tang_store_tf32_f32({})",
                       type == Type::f64 ? fmt::format("tang_odd({})", text) : text);
  return text;
}

std::vector<std::string> GpuExpr::store(const GpuArgument& x, const GpuText& at, Type type,
                                        const GpuText& value) {
  const std::string stored = stored_word(x.format, type, value);
  const int width = info(x.format).bits;
  if (is_whole(x.format) || (!dialect_.packed() && width >= 8))
    return {fmt::format("{}[{}] = {};", x.name, dialect_.subscript(at.text, wide_), stored)};
  return dialect_.store_part(x, repeatable(at, index_type(), "at"), width, stored);
}

GpuText GpuExpr::read(const Node& n, int lane, bool narrows) {
  const bool is_load = n.op == Op::load;
  const auto buffer = static_cast<loop::BufferId>(n.id);
  const auto element = [&](const GpuText& at) -> GpuText {
    if (is_load) return load(argument(buffer), at, narrows);
    return {array_element(static_cast<LocalId>(n.id), at), gpu_atom};
  };
  if (n.lanes == 1 || kernel_[n.args[0]].lanes > 1) return element(address(n.args[0], lane));
  if (!narrows)
    if (auto whole = read_wide(n, lane)) return *whole;
  // Lanes of a vector: the address once.
  const auto hold = [&](Value which, std::string_view name, bool counts) -> GpuText {
    const auto key = counts ? ~which.id : which.id;
    const auto found = held_.find(key);
    if (found != held_.end() && lazy_ == 0) return found->second;
    const GpuText text = counts ? bound(which) : address(which);
    const GpuText held{repeatable(text, index_type(), name), gpu_atom};
    if (lazy_ == 0) held_[key] = held;
    return held;
  };
  GpuText at = hold(n.args[0], "at", false);
  if (n.args[1] == Value{}) {
    at = sum(at, lane);
  } else if (lane > 0) {
    const GpuText by = hold(n.args[1], "by", false);
    at = {fmt::format("{} + {} * {}", at.text, by.text, lane), gpu_sum};
  }
  if (n.args[2] == Value{}) return element(at);
  const GpuText count = hold(n.args[2], "count", true);
  ++lazy_;
  const GpuText x = element(at);
  --lazy_;
  return dialect_.select({fmt::format("{} < {}", lane, count.text), gpu_compare}, x,
                         zero(narrows ? Type::f32 : n.type));
}

}  // namespace tang
