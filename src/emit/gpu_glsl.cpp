// GLSL 4.5 for Vulkan.
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "emit/gpu_dialect.h"
#include "emit/gpu_packed.h"
#include "emit/snippets.h"

namespace tang {

namespace {

using loop::Type;

class Glsl : public GpuDialect {
 public:
  explicit Glsl(bool native) : native_(native) {
    spelling_ = {{"TANG_FN", ""},
                 {"tang_i64", native ? "int64_t" : "uvec2"},
                 {"tang_u64", "uint64_t"},
                 {"tang_pair", "uvec2"},
                 {"F32", "float"},
                 {"F64", "double"},
                 {"I32", "int"},
                 {"U32", "uint"},
                 {"I64", "int64_t"},
                 {"U64", "uint64_t"},
                 {"tang_bits", "floatBitsToUint"},
                 {"tang_float", "uintBitsToFloat"},
                 {"tang_rint", "roundEven"},
                 {"tang_fma_f32", "fma"},
                 {"tang_fma_f64", "fma"},
                 {"tang_sqrt_f32", "sqrt"},
                 {"tang_sqrt_f64", "sqrt"}};
  }

  std::string_view reserved() const override { return snippet("glsl.words"); }
  const GpuSpelling& spelling() const override { return spelling_; }
  bool pairs() const override { return !native_; }
  bool wraps() const override { return true; }
  bool packed() const override { return true; }

  std::vector<std::string> library() const override {
    return gpu_library({"glsl.glsl", false, !native_, native_, "lf"}, spelling_);
  }

  std::string type(Type type) const override {
    constexpr std::string_view names[] = {"double", "float", "int64_t", "int", "bool"};
    return type == Type::i64 && !native_ ? "uvec2" : std::string(names[static_cast<size_t>(type)]);
  }
  std::string thread() const override { return "int(gl_LocalInvocationID.x)"; }
  std::string group() const override { return "int(gl_WorkGroupID.x)"; }
  std::string groups() const override { return "int(gl_NumWorkGroups.x)"; }

  std::string preamble(const GpuFrame& f) const override {
    std::string text = "#version 450\n";
    if (native_) text += "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n";
    if (f.exchanges) {
      text += "#extension GL_KHR_shader_subgroup_shuffle : require\n";
      if (native_) text += "#extension GL_EXT_shader_subgroup_extended_types_int64 : require\n";
    }
    text += fmt::format("layout(local_size_x = {}) in;\n", f.threads);
    for (size_t k = 0; k < f.buffers.size(); ++k) {
      const GpuArgument& x = f.buffers[k];
      text += fmt::format("layout(std430, set = 0, binding = {}) {}buffer tang_buffer_{} {{\n", k,
                          x.written ? "" : "readonly ", k);
      const std::string word = element(x.format);
      text +=
          fmt::format("  {} {}[];\n}};\n", x.words > 1 ? vector_type(word, x.words) : word, x.name);
    }
    if (!f.symbols.empty()) {
      text += "layout(push_constant) uniform tang_sizes {\n";
      for (const auto& [passed, used] : f.symbols) text += fmt::format("  int {};\n", passed);
      text += "};\n";
    }
    for (const std::string& line : f.shared) text += line + "\n";
    return text + "\n";
  }

  std::string open(const GpuFrame& f) const override {
    std::string text = "void main() {\n";
    const std::string type(f.wide ? "int64_t" : "int");
    for (const auto& [passed, used] : f.symbols)
      text += fmt::format("  const {0} {1} = {0}({2});\n", type, used, passed);
    return text;
  }

  // Reals are not contracted.
  std::string declare(bool fixed, const std::string& type, const std::string& name,
                      const std::string& value) const override {
    const bool real = type == "float" || type == "double";
    return fmt::format("{}{} {} = {};",
                       real    ? "precise "
                       : fixed ? "const "
                               : "",
                       type, name, value);
  }
  bool names_stored(Type type) const override { return is_real(type); }
  std::string shared(const std::string& type, const std::string& name,
                     int64_t count) const override {
    return fmt::format("shared {} {}[{}];", type, name, count);
  }
  bool shares_outside() const override { return true; }
  std::string barrier(bool buffers) const override {
    return buffers ? "memoryBarrierBuffer(); memoryBarrierShared(); barrier();"
                   : "memoryBarrierShared(); barrier();";
  }

  GpuText cast(const std::string& type, const std::string& text) const override {
    return {fmt::format("{}({})", type, text), gpu_atom};
  }
  GpuText exchange(Type, const std::string& value, int64_t mask) const override {
    return {fmt::format("subgroupShuffleXor({}, {}u)", value, mask), gpu_atom};
  }
  GpuText real(Type type, double v) const override {
    if (type == Type::f32) return real_by_bits(v);
    const auto bits = std::bit_cast<uint64_t>(v);
    const bool plain = std::abs(v) < 1e6 && v == std::floor(v) && !std::signbit(v);
    if (plain) return {fmt::format("{:.1f}lf", v), gpu_atom};
    return {
        fmt::format("packDouble2x32(uvec2(0x{:08x}u, 0x{:08x}u))", bits & 0xffffffff, bits >> 32),
        gpu_atom};
  }
  GpuText i64(int64_t value) const override {
    if (!native_) return pair(value, "uvec2");
    if (value == INT64_MIN) return {"(-9223372036854775807L - 1L)", gpu_atom};
    return {fmt::format("{}L", value), value < 0 ? gpu_unary : gpu_atom};
  }
  std::string subscript(const std::string& at, bool wide) const override {
    return wide ? fmt::format("uint({})", at) : at;
  }
  std::string vector_type(const std::string& word, int words) const override {
    return fmt::format("{}vec{}", word == "float" ? "" : word == "int" ? "i" : "u", words);
  }
  std::vector<std::string> store_part(const GpuArgument& x, const std::string& at, int bits,
                                      const std::string& value) const override {
    const Part p = part(at, bits, [](const std::string& t) { return "uint(" + t + ")"; });
    return {fmt::format("atomicAnd({}[{}], ~({} << {}));", x.name, p.word, p.mask, p.shift),
            fmt::format("atomicOr({}[{}], ({}) << {});", x.name, p.word, value, p.shift)};
  }

 private:
  std::string element(Format format) const {
    switch (format) {
      case Format::f64:
        return "double";
      case Format::f32:
      case Format::tf32:
        return "float";
      case Format::i64:
        return type(Type::i64);
      case Format::i32:
        return "int";
      default:
        return "uint";
    }
  }

  bool native_;
  GpuSpelling spelling_;
};

}  // namespace

std::unique_ptr<GpuDialect> glsl_dialect(bool native_i64) {
  return std::make_unique<Glsl>(native_i64);
}

}  // namespace tang
