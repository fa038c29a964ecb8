// Vectors in memory: by a row where their elements lie side by side and need no conversion, lane by
// lane elsewhere.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "emit/c_element.h"
#include "emit/c_vector.h"

namespace tang {

using loop::Op;
using loop::Shape;
using loop::Type;

namespace {

Shape halved(Shape s) { return {s.type, static_cast<uint8_t>(s.lanes / 2)}; }

std::string element_type(const CVector::Memory& m) {
  return std::string(m.format ? c_storage(*m.format) : c_type(m.shape.type));
}

// The part of a function's name that says what memory it touches.
std::string suffix(const CVector::Memory& m) {
  std::string text =
      std::string(m.by ? "_by" : "") + (m.first ? "_first" : "") + (m.streams ? "_past" : "");
  const std::string shape = loop::text(m.shape);
  if (m.format && name(*m.format) != name(m.shape.type))
    return fmt::format("{}_{}_{}", text, name(*m.format), shape);
  if (!m.format && m.shape.type == Type::boolean) text += "_array";
  return text + "_" + shape;
}

std::string place(const CVector::Memory& m, int k) {
  if (k == 0) return "at";
  return m.by ? fmt::format("at + {} * s", k) : fmt::format("at + {}", k);
}

std::string lane_of(Shape shape, int k) {
  return shape.type == Type::boolean ? fmt::format("(v[{}] != 0)", k) : fmt::format("v[{}]", k);
}

// `p, at, s, n` of the half that begins at lane k.
std::string arguments(const CVector::Memory& m, int k) {
  std::string text = "p, " + place(m, k);
  if (m.by) text += ", s";
  if (m.first) text += k == 0 ? ", n" : fmt::format(", n > {0} ? n - {0} : 0", k);
  return text;
}

}  // namespace

CVectorFunction CVector::access(const Memory& m, bool stores) {
  CVectorFunction f;
  f.result = stores ? "void" : type(m.shape);
  f.parameters = {fmt::format("{}{} *p", stores ? "" : "const ", element_type(m)), "int64_t at"};
  if (m.by) f.parameters.push_back("int64_t s");
  if (m.first) f.parameters.push_back("int64_t n");
  if (stores) f.parameters.push_back(type(m.shape) + " v");
  return f;
}

std::string CVector::load(const Memory& m) {
  const std::string name = "tang_load" + suffix(m);
  if (!known_.insert(name).second || snippet(name)) return name;
  CVectorFunction f = access(m, false);
  f.body = is_pair(m.shape) ? access_halves(m, false) : load_lanes(m);
  access_rows(f, m, false);
  define(f, name);
  return name;
}

std::string CVector::store(const Memory& m) {
  const std::string name = "tang_store" + suffix(m);
  if (!known_.insert(name).second || snippet(name)) return name;
  CVectorFunction f = access(m, true);
  f.body = is_pair(m.shape) ? access_halves(m, true) : store_lanes(m);
  access_rows(f, m, true);
  define(f, name);
  return name;
}

std::vector<std::string> CVector::access_halves(const Memory& m, bool stores) {
  Memory part = m;
  part.shape = halved(m.shape);
  const int half = part.shape.lanes;
  const std::string lo = arguments(m, 0), hi = arguments(m, half);
  if (!stores) {
    const std::string inner = load(part);
    return {fmt::format("return {0}({1}({2}), {1}({3}));", join(part.shape), inner, lo, hi)};
  }
  const std::string inner = store(part);
  return {fmt::format("{}({}, v.lo);", inner, lo), fmt::format("{}({}, v.hi);", inner, hi)};
}

std::vector<std::string> CVector::load_lanes(const Memory& m) {
  std::vector<std::string> list;
  for (int e = 0; e < m.shape.lanes; ++e) {
    const std::string at = place(m, e);
    const std::string read =
        m.format ? decode_element(*m.format, m.shape.type, "p", at) : fmt::format("p[{}]", at);
    list.push_back(m.first ? fmt::format("{} < n ? {} : 0", e, read) : read);
  }
  return {fmt::format("return {};", lanes(m.shape, list))};
}

std::vector<std::string> CVector::store_lanes(const Memory& m) {
  std::vector<std::string> list;
  for (int e = 0; e < m.shape.lanes; ++e) {
    const std::string at = place(m, e), v = lane_of(m.shape, e);
    const std::string write = m.format ? encode_element(*m.format, m.shape.type, "p", at, v, v)
                                       : fmt::format("p[{}] = {};", at, v);
    list.push_back(m.first ? fmt::format("if ({} < n) {}", e, write) : write);
  }
  return list;
}

// A function that gives a mask of the first n lanes.
std::string CVector::first(Shape shape) {
  const bool wide = vector_bytes(shape) / shape.lanes == 8;
  const Shape mask{wide ? Type::i64 : Type::i32, shape.lanes};
  const std::string name = "tang_first_" + loop::text(mask);
  if (!known_.insert(name).second) return name;
  CVectorFunction f{type(mask), {"int64_t n"}, {}, {}};
  std::vector<std::string> numbers;
  for (int e = 0; e < mask.lanes; ++e) numbers.push_back(std::to_string(e));
  f.body = {
      fmt::format("const {} m = n < 0 ? 0 : n > {} ? {} : ({})n;", c_type(mask.type), mask.lanes,
                  mask.lanes, c_type(mask.type)),
      fmt::format("return ({})({} < {}(m));", type(mask), lanes(mask, numbers), spread(mask))};
  define(f, name);
  return name;
}

std::string CVector::gather(Format format, Shape shape, Shape indices) {
  const std::string name = fmt::format("tang_gather_{}_{}_{}", tang::name(format),
                                       loop::text(shape), loop::name(indices.type));
  if (!known_.insert(name).second) return name;
  CVectorFunction f{
      type(shape), {fmt::format("const {} *p", c_storage(format)), type(indices) + " i"}, {}, {}};
  if (is_pair(shape) || is_pair(indices)) {
    const std::string inner = gather(format, halved(shape), halved(indices));
    f.body = {fmt::format("return {0}({1}(p, {2}(i)), {1}(p, {3}(i)));", join(halved(shape)), inner,
                          half(Op::low, indices), half(Op::high, indices))};
  } else {
    std::vector<std::string> list;
    for (int e = 0; e < shape.lanes; ++e)
      list.push_back(decode_element(format, shape.type, "p", fmt::format("i[{}]", e)));
    f.body = {fmt::format("return {};", lanes(shape, list))};
  }
  define(f, name);
  return name;
}

}  // namespace tang
