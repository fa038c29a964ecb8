// OpenCL C 1.2.
#include <fmt/format.h>

#include "emit/gpu_dialect.h"
#include "emit/gpu_native.h"
#include "emit/snippets.h"

namespace tang {

namespace {

using loop::Type;

class OpenCl : public GpuDialect {
 public:
  std::string_view reserved() const override { return snippet("opencl.words"); }

  const GpuSpelling& spelling() const override {
    static const GpuSpelling words = [] {
      GpuSpelling all = {{"TANG_FN", "static inline"},
                         {"tang_i64", "long"},
                         {"tang_u64", "ulong"},
                         {"F32", "(float)"},
                         {"F64", "(double)"},
                         {"I32", "(int)"},
                         {"U32", "(uint)"},
                         {"I64", "(long)"},
                         {"U64", "(ulong)"},
                         {"tang_bits", "as_uint"},
                         {"tang_float", "as_float"},
                         {"tang_rint", "rint"},
                         {"tang_rint_f64", "rint"}};
      for (const char* f : {"fma", "sqrt"}) all[fmt::format("tang_{}_f32", f)] = f;
      for (const char* f :
           {"fma", "sqrt", "exp", "log", "log1p", "tanh", "sin", "cos", "atan2", "erf", "erfc"})
        all[fmt::format("tang_{}_f64", f)] = f;
      return all;
    }();
    return words;
  }

  std::vector<std::string> library() const override {
    return gpu_library({"opencl.h", false, false, true, ""}, spelling());
  }

  std::string type(Type type) const override {
    constexpr std::string_view names[] = {"double", "float", "long", "int", "bool"};
    return std::string(names[static_cast<size_t>(type)]);
  }
  std::string thread() const override { return "(int)get_local_id(0)"; }
  std::string group() const override { return "(int)get_group_id(0)"; }
  std::string groups() const override { return "(int)get_num_groups(0)"; }

  std::string preamble(const GpuFrame& f) const override {
    std::string text = "#pragma OPENCL FP_CONTRACT OFF\n";
    if (f.f64) text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
    if (f.exchanges) text += "#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable\n";
    return text + "\n";
  }

  std::string open(const GpuFrame& f) const override {
    std::string parameters;
    for (const GpuArgument& x : f.buffers)
      parameters +=
          fmt::format("{}{}__global {}* restrict {}", parameters.empty() ? "" : ", ",
                      x.written ? "" : "const ", native_element(x.format, "u", "long"), x.name);
    for (const auto& [passed, used] : f.symbols)
      parameters += fmt::format("{}long {}", parameters.empty() ? "" : ", ", passed);
    return fmt::format("__kernel __attribute__((reqd_work_group_size({}, 1, 1)))\nvoid {}({}) {{\n",
                       f.threads, f.entry, parameters) +
           native_symbols(*this, f);
  }

  std::string shared(const std::string& type, const std::string& name,
                     int64_t count) const override {
    return fmt::format("__local {} {}[{}] __attribute__((aligned(16)));", type, name, count);
  }
  std::string unroll() const override { return "#pragma unroll"; }
  std::string barrier(bool buffers) const override {
    return buffers ? "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
                   : "barrier(CLK_LOCAL_MEM_FENCE);";
  }
  GpuText exchange(Type type, const std::string& value, int64_t mask) const override {
    const std::string moved =
        fmt::format("sub_group_shuffle_xor({}, {}u)",
                    type == Type::boolean ? "(int)(" + value + ")" : value, mask);
    if (type == Type::boolean) return {moved + " != 0", gpu_compare};
    return {moved, gpu_atom};
  }
  GpuText i64(int64_t value) const override { return native_i64(value, "L"); }

  std::string wide_pointer(Space space, bool fixed, const std::string& type,
                           const std::string& address) const override {
    return fmt::format("({}{} {}*)({})", fixed ? "const " : "",
                       space == Space::buffer ? "__global" : "__local", type, address);
  }
  std::string wide_value(const std::string& type, const std::string& parts) const override {
    return fmt::format("({})({})", type, parts);
  }

  std::vector<std::string> store_part(const GpuArgument& x, const std::string& at, int,
                                      const std::string& value) const override {
    return {fmt::format("tang_put_4bits({}, {}, {});", x.name, at, value)};
  }
};

}  // namespace

std::unique_ptr<GpuDialect> opencl_dialect() { return std::make_unique<OpenCl>(); }

}  // namespace tang
