#include "loop/program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tang::loop {

namespace {

constexpr std::string_view type_names[] = {"f64", "f32", "i64", "i32", "bool"};

constexpr OpInfo op_table[] = {
    {"constant", 0, "", OpForm::leaf, OpRule::leaf},
    {"symbol", 0, "", OpForm::leaf, OpRule::leaf},
    {"thread", 0, "thread", OpForm::leaf, OpRule::leaf},
    {"local", 0, "", OpForm::leaf, OpRule::leaf},
    {"load", 1, "", OpForm::leaf, OpRule::leaf},
    {"element", 1, "", OpForm::leaf, OpRule::leaf},
    {"cast", 1, "", OpForm::leaf, OpRule::leaf},
    {"round", 1, "", OpForm::leaf, OpRule::leaf},
    {"spread", 1, "", OpForm::leaf, OpRule::leaf},
    {"ramp", 1, "", OpForm::leaf, OpRule::leaf},
    {"low", 1, "", OpForm::leaf, OpRule::leaf},
    {"high", 1, "", OpForm::leaf, OpRule::leaf},
    {"join", 2, "", OpForm::leaf, OpRule::leaf},
    {"lane", 1, "", OpForm::leaf, OpRule::leaf},
    {"even", 2, "", OpForm::leaf, OpRule::leaf},
    {"odd", 2, "", OpForm::leaf, OpRule::leaf},
#define TANG_LOOP_OP(name, arity, spelling, form, rule) \
  {#name, arity, spelling, OpForm::form, OpRule::rule},
#include "loop/ops.def"
};

}  // namespace

std::string_view name(Type type) { return type_names[static_cast<size_t>(type)]; }

std::optional<Type> parse_type(std::string_view text) {
  for (size_t k = 0; k < std::size(type_names); ++k) {
    if (type_names[k] == text) return static_cast<Type>(k);
  }
  return std::nullopt;
}

std::string text(Shape shape) {
  const std::string type(name(shape.type));
  return shape.lanes == 1 ? type : type + "x" + std::to_string(shape.lanes);
}

std::optional<Shape> parse_shape(std::string_view wanted) {
  for (size_t k = 0; k < std::size(type_names); ++k) {
    for (uint8_t lanes = 1; lanes <= max_lanes; lanes *= 2) {
      const Shape shape{static_cast<Type>(k), lanes};
      if (text(shape) == wanted) return shape;
    }
  }
  return std::nullopt;
}

Type compute_type(Format format) {
  switch (kind(format)) {
    case Kind::boolean:
      return Type::boolean;
    case Kind::integer:
      return format == Format::i64 ? Type::i64 : Type::i32;
    case Kind::real:
      break;
  }
  // Blocks whose values f32 cannot hold: sums of two products, and 2^127 · 6.
  const bool wide = format == Format::q4_k || format == Format::mxfp4;
  return format == Format::f64 || wide ? Type::f64 : Type::f32;
}

const OpInfo& info(Op op) { return op_table[static_cast<size_t>(op)]; }

std::optional<Op> parse_call(std::string_view spelling) {
  for (size_t k = 0; k < std::size(op_table); ++k) {
    const OpInfo& row = op_table[k];
    if (row.form == OpForm::call && row.spelling == spelling) return static_cast<Op>(k);
  }
  return std::nullopt;
}

uint64_t real_bits(Type type, double value) {
  if (type == Type::f64) {
    if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
    return std::bit_cast<uint64_t>(value);
  }
  const float narrow =
      std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(value);
  return std::bit_cast<uint32_t>(narrow);
}

double real_value(const Node& constant) {
  if (constant.type == Type::f64) return std::bit_cast<double>(constant.bits);
  return std::bit_cast<float>(static_cast<uint32_t>(constant.bits));
}

int64_t integer_value(const Node& constant) { return static_cast<int64_t>(constant.bits); }

bool is_parallel(const Kernel& kernel) {
  return std::any_of(kernel.body.begin(), kernel.body.end(),
                     [](const Stmt& s) { return s.hint == Hint::parallel; });
}

std::string_view name(Role role) {
  constexpr std::string_view names[] = {"input", "output", "workspace", "prepared"};
  return names[static_cast<size_t>(role)];
}

std::optional<BufferId> Program::find_buffer(std::string_view wanted) const {
  for (size_t k = 0; k < buffers.size(); ++k) {
    if (buffers[k].name == wanted) return static_cast<BufferId>(k);
  }
  return std::nullopt;
}

std::optional<size_t> Program::find_kernel(std::string_view wanted) const {
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k].name == wanted) return k;
  }
  return std::nullopt;
}

std::vector<BufferId> Program::arguments() const {
  std::vector<BufferId> result;
  for (Role role : {Role::input, Role::output, Role::prepared}) {
    for (size_t k = 0; k < buffers.size(); ++k) {
      if (buffers[k].role == role) result.push_back(static_cast<BufferId>(k));
    }
  }
  return result;
}

BufferId Program::storage(BufferId id) const { return (*this)[id].into.value_or(id); }

bool Program::only_prepares(BufferId id) const {
  const auto reads = [id](const Kernel& k) {
    return std::find(k.reads.begin(), k.reads.end(), id) != k.reads.end();
  };
  return std::any_of(prepares.begin(), prepares.end(), reads) &&
         std::none_of(kernels.begin(), kernels.end(), reads);
}

}  // namespace tang::loop
