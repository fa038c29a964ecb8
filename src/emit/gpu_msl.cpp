// The Metal shading language.
#include <fmt/format.h>

#include "emit/gpu_dialect.h"
#include "emit/gpu_native.h"
#include "emit/gpu_packed.h"
#include "emit/snippets.h"

namespace tang {

namespace {

using loop::Type;

class Msl : public GpuDialect {
 public:
  std::string_view reserved() const override { return snippet("msl.words"); }

  const GpuSpelling& spelling() const override {
    static const GpuSpelling words = {{"TANG_FN", "static inline"},
                                      {"tang_i64", "long"},
                                      {"tang_u64", "ulong"},
                                      {"F32", "(float)"},
                                      {"I32", "(int)"},
                                      {"U32", "(uint)"},
                                      {"I64", "(long)"},
                                      {"U64", "(ulong)"},
                                      {"tang_bits", "as_type<uint>"},
                                      {"tang_float", "as_type<float>"},
                                      {"tang_rint", "rint"},
                                      {"tang_fma_f32", "fma"},
                                      {"tang_sqrt_f32", "sqrt"}};
    return words;
  }

  std::vector<std::string> library() const override {
    return gpu_library({"msl.h", false, false, false, ""}, spelling());
  }

  std::string type(Type type) const override {
    constexpr std::string_view names[] = {"double", "float", "long", "int", "bool"};
    return std::string(names[static_cast<size_t>(type)]);
  }
  std::string thread() const override { return "(int)tang_thread"; }
  std::string group() const override { return "(int)tang_group"; }
  std::string groups() const override { return "(int)tang_groups"; }

  std::string preamble(const GpuFrame&) const override {
    return "#include <metal_stdlib>\nusing namespace metal;\n#pragma METAL fp contract(off)\n\n";
  }

  std::string open(const GpuFrame& f) const override {
    std::string text = fmt::format("[[max_total_threads_per_threadgroup({})]]\nkernel void {}(\n",
                                   f.threads, f.entry);
    size_t place = 0;
    for (const GpuArgument& x : f.buffers)
      text += fmt::format("    {}device {}* {} [[buffer({})]],\n", x.written ? "" : "const ",
                          native_element(x.format, "u", "long"), x.name, place++);
    if (!f.symbols.empty())
      text += fmt::format("    constant long* tang_sizes [[buffer({})]],\n", place);
    text +=
        "    uint tang_group [[threadgroup_position_in_grid]],\n"
        "    uint tang_groups [[threadgroups_per_grid]],\n"
        "    uint tang_thread [[thread_position_in_threadgroup]]) {\n";
    const std::string type = this->type(f.wide ? Type::i64 : Type::i32);
    for (size_t k = 0; k < f.symbols.size(); ++k)
      text +=
          fmt::format("  const {0} {1} = ({0})tang_sizes[{2}];\n", type, f.symbols[k].second, k);
    return text;
  }

  std::string shared(const std::string& type, const std::string& name,
                     int64_t count) const override {
    return fmt::format("alignas(16) threadgroup {} {}[{}];", type, name, count);
  }
  std::string unroll() const override { return "#pragma clang loop unroll(full)"; }
  std::string barrier(bool buffers) const override {
    return buffers ? "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);"
                   : "threadgroup_barrier(mem_flags::mem_threadgroup);";
  }
  GpuText exchange(Type type, const std::string& value, int64_t mask) const override {
    if (type == Type::i64) return {fmt::format("tang_shuffle_i64({}, {})", value, mask), gpu_atom};
    if (type == Type::boolean)
      return {fmt::format("simd_shuffle_xor((int)({}), {}) != 0", value, mask), gpu_compare};
    return {fmt::format("simd_shuffle_xor({}, {})", value, mask), gpu_atom};
  }
  GpuText real(Type, double value) const override { return real_by_bits(value); }
  GpuText i64(int64_t value) const override { return native_i64(value, "L"); }

  std::string wide_pointer(Space space, bool fixed, const std::string& type,
                           const std::string& address) const override {
    return fmt::format("({}{} {}*)({})", fixed ? "const " : "",
                       space == Space::buffer ? "device" : "threadgroup", type, address);
  }
  std::string wide_value(const std::string& type, const std::string& parts) const override {
    return fmt::format("tang_{}({})", type, parts);
  }

  std::vector<std::string> store_part(const GpuArgument& x, const std::string& at, int,
                                      const std::string& value) const override {
    return {fmt::format("tang_put_4bits({}, {}, {});", x.name, at, value)};
  }
};

}  // namespace

std::unique_ptr<GpuDialect> msl_dialect() { return std::make_unique<Msl>(); }

}  // namespace tang
