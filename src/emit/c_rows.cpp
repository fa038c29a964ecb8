#include "emit/c_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "emit/c_element.h"
#include "emit/c_vector.h"
#include "target/table.h"

namespace tang {

namespace {

using loop::Shape;
using loop::Type;

Format format_of(Type type) {
  constexpr Format formats[] = {Format::f64, Format::f32, Format::i64, Format::i32,
                                Format::boolean};
  return formats[static_cast<size_t>(type)];
}

bool is_type(const Operand& o, Type type) {
  return o.formats.size() == 1 && o.formats[0] == format_of(type);
}

bool in_memory(const Operand& o) {
  return std::find(o.spaces.begin(), o.spaces.end(), Space::global) != o.spaces.end();
}

// A register with the row's elements in order.
bool is_vector(const Row& row, const Operand& o, Shape shape) {
  return o.spaces == std::vector{Space::reg} && is_type(o, shape.type) && row.axes.size() == 1 &&
         row.axes[0].sizes.allows(shape.lanes) && o.axes.size() == 1 &&
         o.holds.text == fmt::format("elem {} -> {}", shape.lanes, row.axes[0].name);
}

bool is_elements(const Row& row, const Operand& o, Shape shape) {
  return in_memory(o) && is_type(o, shape.type) && row.axes.size() == 1 &&
         row.axes[0].sizes.allows(shape.lanes) && o.axes.size() == 1;
}

template <class Fits>
const Row* find(std::string_view needs, Fits fits) {
  const auto& tables = shipped_tables();
  if (!tables) return nullptr;
  for (const Row& row : tables->rows)
    if (row.needs == needs && row.scope == Scope::thread && row.computes.result && fits(row))
      return &row;
  return nullptr;
}

bool computes(const Computes& c, loop::Op op) {
  if (op == loop::Op::fma)
    return c.kind == Computes::Kind::contract && c.op == Op::add && c.arguments.size() == 2;
  return c.kind == Computes::Kind::map && info(c.op).name == loop::info(op).name;
}

}  // namespace

const Row* find_operation(loop::Op op, Shape shape, std::string_view needs) {
  return find(needs, [&](const Row& row) {
    const bool adds = row.operands[*row.computes.result].accumulates;
    return computes(row.computes, op) && adds == (op == loop::Op::fma) &&
           std::all_of(row.operands.begin(), row.operands.end(),
                       [&](const Operand& o) { return is_vector(row, o, shape); });
  });
}

const Row* find_spread(Shape shape, std::string_view needs) {
  return find(needs, [&](const Row& row) {
    if (row.computes.kind != Computes::Kind::move) return false;
    const Operand& d = row.operands[*row.computes.result];
    const Operand& a = row.operands[row.computes.arguments[0]];
    return is_type(d, shape.type) && is_type(a, shape.type) &&
           a.spaces == std::vector{Space::reg} && a.holds.text == "single" &&
           d.holds.text == fmt::format("elem {} replica", shape.lanes);
  });
}

const Row* find_move(Shape shape, bool stores, bool masked, std::string_view needs, bool streams) {
  return find(needs, [&](const Row& row) {
    if (row.computes.kind != Computes::Kind::move) return false;
    const Operand& d = row.operands[*row.computes.result];
    const Operand& a = row.operands[row.computes.arguments[0]];
    const Operand& memory = stores ? d : a;
    return is_elements(row, memory, shape) && is_vector(row, stores ? a : d, shape) &&
           memory.masks == masked && memory.streams == streams;
  });
}

std::string row_text(const Row& row, const RowHoles& holes) {
  return fill_holes(row.text, [&](std::string_view hole) -> std::optional<std::string> {
    const auto found = holes.find(hole);
    return found == holes.end() ? std::nullopt : std::optional(found->second);
  });
}

RowHoles row_operands(const Row& row) {
  RowHoles holes;
  for (size_t k = 0; k < row.computes.arguments.size(); ++k)
    holes[row.operands[row.computes.arguments[k]].name] = "abc"[k];
  return holes;
}

// ---- functions from rows
// -------------------------------------------------------------------------

// Statements that compute `d` by a row and return it. Registers of integers are untyped in AVX2.
std::vector<std::string> CVector::row_body(const Row& row, Shape result, RowHoles holes,
                                           std::string_view before) {
  const bool untyped = !row.needs.empty() && !is_real(result.type);
  const Operand& d = row.operands[*row.computes.result];
  if (untyped) {
    for (auto& [name, text] : holes) {
      const Operand* o = row.find(name);
      const bool vector = o && o->spaces[0] == Space::reg && o->holds.text != "single";
      if (vector) text = fmt::format("(__m{}i){}", vector_bytes(result) * 8, text);
    }
  }
  holes[d.name] = "d";
  const std::string c = type(result);
  std::vector<std::string> lines = {untyped ? fmt::format("__m{}i d", vector_bytes(result) * 8)
                                            : c + " d"};
  lines[0] += before.empty() ? ";" : fmt::format(" = {};", before);
  const std::string text = row_text(row, holes);
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  lines.push_back(untyped ? fmt::format("return ({})d;", c) : "return d;");
  return lines;
}

namespace {

// Elements that need no conversion.
bool is_plain(const CVector::Memory& m) {
  if (m.shape.type == Type::boolean) return false;
  return !m.format || c_storage(*m.format) == c_type(m.shape.type);
}

}  // namespace

// Past the caches where the address is as the row wants it.
void CVector::stream_rows(std::vector<std::string>& body, Shape shape, std::string_view needs,
                          RowHoles holes) {
  const Row* row = find_move(shape, true, false, needs, true);
  if (!row) return;
  const Operand& d = row->operands[*row->computes.result];
  holes[d.name] = "(p + at)";
  holes[row->operands[row->computes.arguments[0]].name] = "v";
  body.insert(body.begin(), {fmt::format("if (((uintptr_t)(p + at) & {}) == 0) {{", d.align - 1),
                             "  " + row_text(*row, holes), "  return;", "}"});
}

void CVector::access_rows(CVectorFunction& f, const Memory& m, bool stores) {
  if (m.by || !is_plain(m) || is_pair(m.shape)) return;
  for (const std::string_view needs : {vector_feature, std::string_view()}) {
    const Row* row = find_move(m.shape, stores, m.first, needs);
    if (!row) continue;
    const std::string& memory =
        row->operands[stores ? *row->computes.result : row->computes.arguments[0]].name;
    const std::string& value =
        row->operands[stores ? row->computes.arguments[0] : *row->computes.result].name;
    RowHoles holes = {{memory, "(p + at)"}, {value, "v"}};
    if (m.first) holes[memory + ".mask"] = fmt::format("(__m256i){}(n)", first(m.shape));
    std::vector<std::string>& body = needs.empty() ? f.body : f.better;
    body = stores ? std::vector{row_text(*row, holes)} : row_body(*row, m.shape, holes);
    if (m.streams) stream_rows(body, m.shape, needs, holes);
  }
}

}  // namespace tang
