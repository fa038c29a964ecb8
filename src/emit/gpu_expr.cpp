#include "emit/gpu_expr.h"

#include <algorithm>

#include <fmt/format.h>

#include "emit/c_expr.h"
#include "emit/gpu_source.h"

namespace tang {

using loop::BufferId;
using loop::LocalId;
using loop::LocalKind;
using loop::Node;
using loop::Op;
using loop::OpForm;
using loop::Type;
using loop::Value;

GpuExpr::GpuExpr(const loop::Program& program, const loop::Kernel& kernel, const GpuPlan& plan,
                 const GpuDialect& dialect, const GpuSourceOptions& options, Namer names,
                 Writer& out)
    : program_(program),
      kernel_(kernel),
      plan_(plan),
      dialect_(dialect),
      wide_(options.wide),
      vector_bytes_(options.capability.vector_bytes),
      names_(std::move(names)),
      out_(out),
      argument_of_(program.buffers.size(), SIZE_MAX),
      array_words_(kernel.locals.size(), 1),
      symbol_of_(program.symbols.size()),
      thread_(names_.name("thread")) {
  for (const BufferId id : bindings(program, kernel)) {
    argument_of_[loop::index(id)] = arguments_.size();
    arguments_.push_back({names_.name(program[id].name), program[id].format, false, false});
  }
  for (const BufferId id : kernel.writes)
    arguments_[argument_of_[loop::index(program.storage(id))]].written = true;
  if (dialect.packed()) {
    const GpuVectors vectors = gpu_vectors(program, kernel, plan, vector_bytes_);
    for (size_t k = 0; k < program.buffers.size(); ++k) {
      if (argument_of_[k] == SIZE_MAX) continue;
      arguments_[argument_of_[k]].words = vectors.buffers[k].words;
      arguments_[argument_of_[k]].atomic = vectors.buffers[k].parts;
    }
    for (size_t k = 0; k < array_words_.size(); ++k) array_words_[k] = vectors.arrays[k].words;
  }
  std::vector<bool> used(program.symbols.size(), false);
  for (const Node& n : kernel.nodes)
    if (n.op == Op::symbol) used[n.id] = true;
  for (size_t k = 0; k < used.size(); ++k) {
    if (!used[k]) continue;
    const std::string name = names_.name(program.symbols[k]);
    symbols_.emplace_back(names_.name(name + "_passed"), name);
    symbol_of_[k] = name;
  }
  for (const loop::Local& local : kernel.locals) {
    std::vector<std::string> lanes;
    for (int e = 0; e < local.lanes; ++e)
      lanes.push_back(
          names_.name(local.lanes == 1 ? local.name : fmt::format("{}_{}", local.name, e)));
    locals_.push_back(std::move(lanes));
  }
}

const GpuArgument& GpuExpr::argument(BufferId id) const {
  return arguments_[argument_of_[loop::index(program_.storage(id))]];
}

std::string GpuExpr::index_type() const { return dialect_.type(wide_ ? Type::i64 : Type::i32); }

std::string GpuExpr::type(LocalId id) const {
  return plan_.is_index(id) ? index_type() : dialect_.type(kernel_[id].type);
}

GpuText GpuExpr::sum(const GpuText& a, int64_t b) const {
  if (b == 0) return a;
  return {fmt::format("{} {} {}", in(a, gpu_sum), b < 0 ? "-" : "+", b < 0 ? -b : b), gpu_sum};
}

// ---- widths -------------------------------------------------------------------------------------

GpuText GpuExpr::widen(const GpuText& index) const {
  if (wide_) return index;
  if (dialect_.pairs()) return {fmt::format("tang_cast_i32_i64({})", index.text), gpu_atom};
  return dialect_.cast(dialect_.type(Type::i64), index.text);
}

GpuText GpuExpr::narrow(const GpuText& value) const {
  if (wide_) return value;
  if (dialect_.pairs()) return {fmt::format("tang_low_i64({})", value.text), gpu_atom};
  return dialect_.cast(dialect_.type(Type::i32), value.text);
}

GpuText GpuExpr::bound(Value v) {
  if (wide_ || plan_.fits(v) || plan_.pure(v)) return address(v);
  return {fmt::format("tang_cast_i64_i32({})", value(v).text), gpu_atom};
}

GpuText GpuExpr::for_local(LocalId id, Value v, int lane) {
  return plan_.is_index(id) ? address(v, lane) : value(v, lane);
}

std::string GpuExpr::repeatable(const GpuText& text, const std::string& type,
                                std::string_view name) {
  const bool plain = std::all_of(text.text.begin(), text.text.end(),
                                 [](char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (plain || lazy_ > 0) return in(text, gpu_atom);
  const std::string held = names_.name(name);
  out_.line(dialect_.declare(true, type, held, text.text));
  return held;
}

// ---- i64 ----------------------------------------------------------------------------------------

// Where a lane comes from, of what only moves lanes.
bool GpuExpr::moved(const Node& n, int lane, Value& from, int& from_lane) const {
  const int half = kernel_[n.args[0] == Value{} ? Value{0} : n.args[0]].lanes;
  from = n.args[0];
  switch (n.op) {
    case Op::spread:
      from_lane = 0;
      return true;
    case Op::low:
      from_lane = lane;
      return true;
    case Op::high:
      from_lane = lane + half / 2;
      return true;
    case Op::lane:
      from_lane = static_cast<int>(n.id);
      return true;
    case Op::join:
      from = lane < half ? n.args[0] : n.args[1];
      from_lane = lane < half ? lane : lane - half;
      return true;
    case Op::even:
    case Op::odd: {
      const int run = static_cast<int>(n.id);
      const bool second = lane / run % 2 == 1;
      from = second ? n.args[1] : n.args[0];
      from_lane = lane - (second ? run : 0) + (n.op == Op::odd ? run : 0);
      return true;
    }
    default:
      return false;
  }
}

GpuText GpuExpr::value(Value v, int lane) {
  const Node& n = kernel_[v];
  Value from;
  int from_lane = 0;
  if (moved(n, lane, from, from_lane)) return value(from, from_lane);
  return n.type == Type::i64 ? wide_value(n, v, lane) : other(n, lane);
}

GpuText GpuExpr::address(Value v, int lane) {
  const Node& n = kernel_[v];
  if (n.type != Type::i64) return value(v, lane);
  Value from;
  int from_lane = 0;
  if (moved(n, lane, from, from_lane)) return address(from, from_lane);
  return narrow_index(n, v, lane);
}

GpuText GpuExpr::wide_value(const Node& n, Value v, int lane) {
  if (n.op == Op::constant) return dialect_.i64(integer_value(n));
  if (n.op == Op::local && !plan_.is_index(static_cast<LocalId>(n.id)))
    return {local(static_cast<LocalId>(n.id), lane), gpu_atom};
  if (n.op == Op::symbol || n.op == Op::thread || n.op == Op::local || plan_.fits(v))
    return widen(address(v, lane));
  switch (n.op) {
    case Op::load:
    case Op::element:
      return read(n, lane);
    case Op::cast:
      return cast(n, lane);
    case Op::round:
      return round(n, lane);
    case Op::select:
      return choose(n, lane, [&](Value arm) { return value(arm, lane); });
    case Op::ramp:
      return {fmt::format("tang_add_i64({}, {})", value(n.args[0]).text, dialect_.i64(lane).text),
              gpu_atom};
    default:
      return call(n, lane);
  }
}

GpuText GpuExpr::narrow_index(const Node& n, Value v, int lane) {
  switch (n.op) {
    case Op::constant:
      if (wide_ && (integer_value(n) > INT32_MAX || integer_value(n) < INT32_MIN))
        return dialect_.i64(integer_value(n));
      return dialect_.i32(static_cast<int32_t>(integer_value(n)));
    case Op::symbol:
      return {symbol_of_[n.id], gpu_atom};
    case Op::thread:
      return {thread_, gpu_atom};
    case Op::local: {
      const auto id = static_cast<LocalId>(n.id);
      const GpuText name{local(id, lane), gpu_atom};
      return plan_.is_index(id) ? name : narrow(name);
    }
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::neg:
      return index_infix(n, lane);
    case Op::ramp:
      return sum(address(n.args[0]), lane);
    case Op::cast:
      if (kernel_[n.args[0]].type == Type::i32) {
        const GpuText x = value(n.args[0], lane);
        return wide_ ? dialect_.cast(index_type(), x.text) : x;
      }
      if (kernel_[n.args[0]].type == Type::boolean)
        return dialect_.select(value(n.args[0], lane), {"1", gpu_atom}, {"0", gpu_atom});
      break;
    default:
      break;
  }
  if (plan_.fits(v) || (wide_ && plan_.pure(v))) return index_operation(n, lane);
  return narrow(wide_value(n, v, lane));
}

GpuText GpuExpr::index_infix(const Node& n, int lane) {
  const GpuText a = address(n.args[0], lane);
  if (n.op == Op::neg) return {"-" + in(a, gpu_atom), gpu_unary};
  const GpuText b = address(n.args[1], lane);
  const int level = n.op == Op::mul ? gpu_product : gpu_sum;
  return {fmt::format("{} {} {}", in(a, level), loop::info(n.op).spelling, in(b, level + 1)),
          level};
}

GpuText GpuExpr::index_operation(const Node& n, int lane) {
  if (n.op == Op::select) return choose(n, lane, [&](Value arm) { return address(arm, lane); });
  const GpuText a = address(n.args[0], lane);
  if (n.args[1] == Value{})
    return {fmt::format("tang_{}_{}({})", loop::info(n.op).name, width(), a.text), gpu_atom};
  const GpuText b = address(n.args[1], lane);
  std::string_view name = loop::info(n.op).name;
  const bool divides = n.op == Op::div || n.op == Op::mod;
  if (divides && plan_.nonnegative(n.args[0]) && plan_.nonnegative(n.args[1])) {
    const Node& by = kernel_[n.args[1]];
    if (by.op == Op::constant && integer_value(by) > 0)
      return {fmt::format("{} {} {}", in(a, gpu_product), n.op == Op::div ? "/" : "%",
                          in(b, gpu_unary)),
              gpu_product};
    name = n.op == Op::div ? "quotient" : "remainder";
  }
  return {fmt::format("tang_{}_{}({}, {})", name, width(), a.text, b.text), gpu_atom};
}

// ---- everything else ----------------------------------------------------------------------------

GpuText GpuExpr::zero(Type type) const {
  if (type == Type::boolean) return {"false", gpu_atom};
  if (is_real(type)) return dialect_.real(type, 0);
  return type == Type::i64 ? dialect_.i64(0) : dialect_.i32(0);
}

GpuText GpuExpr::other(const Node& n, int lane) {
  switch (n.op) {
    case Op::constant:
      if (n.type == Type::boolean) return {n.bits ? "true" : "false", gpu_atom};
      return is_real(n.type) ? dialect_.real(n.type, loop::real_value(n))
                             : dialect_.i32(integer_value(n));
    case Op::local:
      return {local(static_cast<LocalId>(n.id), lane), gpu_atom};
    case Op::load:
    case Op::element:
      return read(n, lane);
    case Op::cast:
      return cast(n, lane);
    case Op::round:
      return round(n, lane);
    case Op::ramp:
      return {fmt::format("tang_add_i32({}, {})", value(n.args[0]).text, lane), gpu_atom};
    case Op::select:
      return choose(n, lane, [&](Value arm) { return value(arm, lane); });
    case Op::logical_and:
    case Op::logical_or:
      return logic(n, lane);
    case Op::logical_not:
      return {"!" + in(value(n.args[0], lane), gpu_atom), gpu_unary};
    case Op::lt:
    case Op::le:
    case Op::eq:
    case Op::ne:
      return compare(n, lane);
    default:
      break;
  }
  const bool infixes =
      is_real(n.type) && (loop::info(n.op).form == OpForm::infix || n.op == Op::neg);
  return infixes ? infix(n, lane) : call(n, lane);
}

GpuText GpuExpr::infix(const Node& n, int lane) {
  const GpuText a = value(n.args[0], lane);
  if (n.op == Op::neg) return {"-" + in(a, gpu_atom), gpu_unary};
  const GpuText b = value(n.args[1], lane);
  const int level = n.op == Op::mul || n.op == Op::quot ? gpu_product : gpu_sum;
  return {fmt::format("{} {} {}", in(a, level), loop::info(n.op).spelling, in(b, level + 1)),
          level};
}

GpuText GpuExpr::call(const Node& n, int lane) {
  std::string text = fmt::format("tang_{}_{}(", loop::info(n.op).name, name(n.type));
  for (int k = 0; k < loop::info(n.op).arity; ++k)
    text += (k ? ", " : "") + value(n.args[k], lane).text;
  return {text + ")", gpu_atom};
}

GpuText GpuExpr::lazily(Value v, const std::function<GpuText(Value)>& print) {
  ++lazy_;
  GpuText text = print(v);
  --lazy_;
  return text;
}

GpuText GpuExpr::choose(const Node& n, int lane, const std::function<GpuText(Value)>& arm) {
  const GpuText c = value(n.args[0], lane);
  if (n.lanes > 1) return dialect_.select(c, arm(n.args[1]), arm(n.args[2]));
  const GpuText a = lazily(n.args[1], arm), b = lazily(n.args[2], arm);
  return dialect_.select(c, a, b);
}

GpuText GpuExpr::logic(const Node& n, int lane) {
  const auto print = [&](Value v) { return value(v, lane); };
  const GpuText a = print(n.args[0]);
  const GpuText b = n.lanes > 1 ? print(n.args[1]) : lazily(n.args[1], print);
  return {fmt::format("{} {} {}", in(a, gpu_compare), n.op == Op::logical_and ? "&&" : "||",
                      in(b, gpu_compare)),
          gpu_logic};
}

GpuText GpuExpr::compare(const Node& n, int lane) {
  const Type type = kernel_[n.args[0]].type;
  const bool indices = type == Type::i64 && plan_.fits(n.args[0]) && plan_.fits(n.args[1]);
  const auto side = [&](int k) {
    return indices ? address(n.args[k], lane) : value(n.args[k], lane);
  };
  const GpuText a = side(0), b = side(1);
  if (type == Type::i64 && !indices && dialect_.pairs())
    return {fmt::format("tang_{}_i64({}, {})", loop::info(n.op).name, a.text, b.text), gpu_atom};
  if (n.op == Op::ne && is_real(type) && dialect_.ordered())
    return {fmt::format("!({} == {})", in(a, gpu_sum), in(b, gpu_sum)), gpu_unary};
  return {fmt::format("{} {} {}", in(a, gpu_sum), loop::info(n.op).spelling, in(b, gpu_sum)),
          gpu_compare};
}

GpuText GpuExpr::cast(const Node& n, int lane) {
  const Value arg = n.args[0];
  const Node& x = kernel_[arg];
  const Type from = x.type, to = n.type;
  if (reads_narrowed(program_, kernel_, n)) return read(x, lane, true);
  if (to == Type::boolean) {
    if (from == Type::i64 && dialect_.pairs() && !plan_.fits(arg))
      return {fmt::format("tang_ne_i64({}, {})", value(arg, lane).text, zero(from).text), gpu_atom};
    const GpuText text =
        from == Type::i64 && plan_.fits(arg) ? address(arg, lane) : value(arg, lane);
    const GpuText none = from == Type::i64 && plan_.fits(arg) ? GpuText{"0", gpu_atom} : zero(from);
    return {fmt::format("{} != {}", in(text, gpu_sum), none.text), gpu_compare};
  }
  if (from == Type::boolean) {
    const GpuText one = is_real(to)       ? dialect_.real(to, 1)
                        : to == Type::i64 ? dialect_.i64(1)
                                          : dialect_.i32(1);
    return dialect_.select(value(arg, lane), one, zero(to));
  }
  if (from == Type::i64 && plan_.fits(arg)) {
    const GpuText index = address(arg, lane);
    if (to == Type::i32 && !wide_) return index;
    if (is_real(to) && !wide_) return dialect_.cast(dialect_.type(to), index.text);
  }
  if (from == Type::i32 && to == Type::i64) {
    const GpuText text = value(arg, lane);
    if (dialect_.pairs()) return {fmt::format("tang_cast_i32_i64({})", text.text), gpu_atom};
    return dialect_.cast(dialect_.type(to), text.text);
  }
  const bool plain = is_real(to) && from != Type::i64;
  const GpuText text = value(arg, lane);
  if (plain) return dialect_.cast(dialect_.type(to), text.text);
  return {fmt::format("tang_cast_{}_{}({})", name(from), name(to), text.text), gpu_atom};
}

GpuText GpuExpr::round(const Node& n, int lane) {
  const GpuText x = value(n.args[0], lane);
  if (is_integer(n.type)) {
    if (n.format == Format::i64 || (n.format == Format::i32 && n.type == Type::i32)) return x;
    const int64_t low = integer_min(n.format), high = integer_max(n.format);
    const auto limit = [&](int64_t k) {
      return n.type == Type::i64 ? dialect_.i64(k).text : dialect_.i32(k).text;
    };
    return {fmt::format("tang_clamp_{}({}, {}, {})", name(n.type), x.text, limit(low), limit(high)),
            gpu_atom};
  }
  if (n.format == Format::f64 || (n.format == Format::f32 && n.type == Type::f32)) return x;
  GpuText narrow = x;
  if (n.type == Type::f64)
    narrow = n.format == Format::f32 ? dialect_.cast(dialect_.type(Type::f32), x.text)
                                     : GpuText{fmt::format("tang_odd({})", x.text), gpu_atom};
  GpuText rounded = narrow;
  if (n.format == Format::tf32)
    rounded = {fmt::format("tang_store_tf32_f32({})", narrow.text), gpu_atom};
  else if (n.format != Format::f32)
    rounded = {fmt::format("tang_load_{0}(tang_store_{0}_f32({1}))", name(n.format), narrow.text),
               gpu_atom};
  return n.type == Type::f64 ? dialect_.cast(dialect_.type(Type::f64), rounded.text) : rounded;
}

}  // namespace tang
