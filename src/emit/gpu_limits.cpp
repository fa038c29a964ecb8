#include "emit/gpu_limits.h"

#include <algorithm>

#include <fmt/format.h>

#include "emit/c_expr.h"

namespace tang {

using loop::Kernel;
using loop::Node;
using loop::Op;
using loop::Program;
using loop::Stmt;
using loop::StmtKind;
using loop::Type;
using loop::Value;

int64_t shared_bytes(const Kernel& kernel) {
  int64_t bytes = 0;
  for (const Stmt& s : kernel.body) {
    if (s.kind != StmtKind::array || !kernel[s.local].shared) continue;
    const Type type = kernel[s.local].type;
    const int64_t size = type == Type::f64 || type == Type::i64 ? 8 : 4;
    bytes += (kernel[s.local].count * size + 15) / 16 * 16;
  }
  return bytes;
}

namespace {

// The node that computes in the type, if any, below `v`.
const Node* find(const Program& program, const Kernel& kernel, Value v, Type type) {
  if (v == Value{}) return nullptr;
  const Node& n = kernel[v];
  if (n.type == type) return &n;
  if (reads_narrowed(program, kernel, n))
    return find(program, kernel, kernel[n.args[0]].args[0], type);
  for (const Value a : loop::Operands(n))
    if (const Node* found = find(program, kernel, a, type)) return found;
  return nullptr;
}

tl::unexpected<Diagnostic> exceeds(const Kernel& kernel, std::string_view what, int64_t needs,
                                   int64_t offers, const std::string& hint = "") {
  return error("E0921",
               fmt::format("kernel `{}` needs {} {}, the device offers {}", kernel.name, needs,
                           what, offers),
               hint, Exit::target_limit);
}

// A function of f64 that GLSL has no word for.
const Node* find_lacking(const Kernel& kernel, Value v) {
  if (v == Value{}) return nullptr;
  const Node& n = kernel[v];
  constexpr Op lacking[] = {Op::sin,   Op::cos, Op::atan2, Op::exp,       Op::log,
                            Op::log1p, Op::pow, Op::tanh,  Op::sigmoid,   Op::silu,
                            Op::gelu,  Op::erf, Op::erfc,  Op::gelu_tanh, Op::softplus};
  if (n.type == Type::f64 &&
      std::find(std::begin(lacking), std::end(lacking), n.op) != std::end(lacking))
    return &n;
  for (const Value a : loop::Operands(n))
    if (const Node* found = find_lacking(kernel, a)) return found;
  return nullptr;
}

Result<void> functions(const Kernel& kernel, const Capability& device) {
  if (device.dialect != Dialect::glsl) return {};
  for (const Stmt& s : kernel.body)
    for (const Value v : {s.a, s.b})
      if (const Node* n = find_lacking(kernel, v))
        return error("E0922",
                     fmt::format("kernel `{}` computes `{}` in f64, which GLSL does not",
                                 kernel.name, info(n->op).name),
                     "Store it as f32, or choose another device.", Exit::target_limit);
  return {};
}

Result<void> formats(const Program& program, const Kernel& kernel, const Capability& device) {
  if (device.f64) return functions(kernel, device);
  const auto refuse = [&](const std::string& what) {
    return error(
        "E0922",
        fmt::format("kernel `{}` computes {} in f64, which the device does not", kernel.name, what),
        "Store it as f32, or choose another device.", Exit::target_limit);
  };
  for (const auto* list : {&kernel.reads, &kernel.writes})
    for (const loop::BufferId id : *list)
      if (program[id].format == Format::f64) return refuse(fmt::format("`{}`", program[id].name));
  for (const Stmt& s : kernel.body)
    for (const Value v : {s.a, s.b, s.stride, s.first})
      if (const Node* n = find(program, kernel, v, Type::f64))
        return refuse(n->op == Op::load ? fmt::format("`{}`", program.buffers[n->id].name)
                                        : std::string("a value"));
  return {};
}

// Of a buffer whose size is known; otherwise 0.
int64_t bytes_of(const loop::Buffer& b) {
  const auto count = b.count.constant();
  if (!count || is_block(b.format)) return 0;
  return *count / 8 * info(b.format).bits + *count % 8 * info(b.format).bits / 8;
}

}  // namespace

Diagnostics warnings(const Program& program, const Capability& device) {
  if (device.f16) return {};
  for (const auto* kernels : {&program.kernels, &program.prepares})
    for (const Kernel& kernel : *kernels)
      for (const loop::BufferId id : bindings(program, kernel))
        if (program[id].format == Format::f16)
          return {
              error("W0921", fmt::format("{} does not offer f16: such values are moved as bits and "
                                         "computed in f32",
                                         device.device.empty() ? std::string(name(device.dialect))
                                                               : device.device))
                  .value()};
  return {};
}

bool computes_in(const Program& program, const Kernel& kernel, Type type) {
  for (const auto* list : {&kernel.reads, &kernel.writes})
    for (const loop::BufferId id : *list)
      if (!is_block(program[id].format) && loop::compute_type(program[id].format) == type)
        return true;
  for (const loop::Local& local : kernel.locals)
    if (local.type == type) return true;
  for (const Stmt& s : kernel.body)
    for (const Value v : {s.a, s.b, s.stride, s.first})
      if (find(program, kernel, v, type)) return true;
  return false;
}

Result<void> within_limits(const Program& program, const Kernel& kernel,
                           const GpuSourceOptions& options) {
  const Capability& device = options.capability;
  if (kernel.threads > device.threads)
    return exceeds(kernel, "threads in a group", kernel.threads, device.threads);
  if (shared_bytes(kernel) > device.shared_bytes)
    return exceeds(kernel, "bytes of shared memory", shared_bytes(kernel), device.shared_bytes);
  const auto buffers = static_cast<int64_t>(bindings(program, kernel).size());
  if (buffers > device.buffers) return exceeds(kernel, "buffers", buffers, device.buffers);
  for (const loop::BufferId id : bindings(program, kernel))
    if (const auto bytes = bytes_of(program[id]); bytes > device.binding_bytes)
      return exceeds(
          kernel, fmt::format("bytes of `{}` in a binding", program[id].name), bytes,
          device.binding_bytes,
          fmt::format("make `{0}` smaller, declare it in a narrower format, or read it as "
                      "several inputs; other devices bind more",
                      program[id].name));
  for (const Stmt& s : kernel.body)
    if (s.kind == StmtKind::exchange && s.step >= device.subgroup)
      return exceeds(kernel, "threads that exchange values", s.step + 1, device.subgroup);
  const bool narrow_only =
      device.dialect == Dialect::wgsl || (device.dialect == Dialect::glsl && !device.i64);
  if (options.wide && narrow_only)
    return error("E0921",
                 fmt::format("kernel `{}` needs indices of 64 bits, {} has 32", kernel.name,
                             name(device.dialect)),
                 "Make the sizes smaller, or choose another device.", Exit::target_limit);
  return formats(program, kernel, device);
}

}  // namespace tang
