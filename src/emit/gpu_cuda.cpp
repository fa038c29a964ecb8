// CUDA C++, compiled without headers.
#include <cmath>

#include <fmt/format.h>

#include "emit/gpu_dialect.h"
#include "emit/gpu_native.h"
#include "emit/snippets.h"

namespace tang {

namespace {

using loop::Type;

class Cuda : public GpuDialect {
 public:
  std::string_view reserved() const override { return snippet("cuda.words"); }

  const GpuSpelling& spelling() const override {
    static const GpuSpelling words = {{"TANG_FN", "static __device__ inline"},
                                      {"uint", "unsigned"},
                                      {"tang_i64", "long long"},
                                      {"tang_u64", "unsigned long long"},
                                      {"F32", "(float)"},
                                      {"F64", "(double)"},
                                      {"I32", "(int)"},
                                      {"U32", "(unsigned)"},
                                      {"I64", "(long long)"},
                                      {"U64", "(unsigned long long)"},
                                      {"tang_bits", "__float_as_uint"},
                                      {"tang_float", "__uint_as_float"},
                                      {"tang_rint", "rintf"},
                                      {"tang_rint_f64", "rint"},
                                      {"tang_fma_f32", "fmaf"},
                                      {"tang_fma_f64", "fma"},
                                      {"tang_sqrt_f32", "sqrtf"},
                                      {"tang_sqrt_f64", "sqrt"},
                                      {"tang_exp_f32", "expf"},
                                      {"tang_exp_f64", "exp"},
                                      {"tang_log_f32", "logf"},
                                      {"tang_log_f64", "log"},
                                      {"tang_log1p_f32", "log1pf"},
                                      {"tang_log1p_f64", "log1p"},
                                      {"tang_tanh_f32", "tanhf"},
                                      {"tang_tanh_f64", "tanh"},
                                      {"tang_sin_f32", "sinf"},
                                      {"tang_sin_f64", "sin"},
                                      {"tang_cos_f32", "cosf"},
                                      {"tang_cos_f64", "cos"},
                                      {"tang_atan2_f32", "atan2f"},
                                      {"tang_atan2_f64", "atan2"},
                                      {"tang_erf_f32", "erff"},
                                      {"tang_erf_f64", "erf"},
                                      {"tang_erfc_f32", "erfcf"},
                                      {"tang_erfc_f64", "erfc"}};
    return words;
  }

  std::vector<std::string> library() const override {
    return gpu_library({"cuda.h", true, false, true, ""}, spelling());
  }

  std::string type(Type type) const override {
    constexpr std::string_view names[] = {"double", "float", "long long", "int", "bool"};
    return std::string(names[static_cast<size_t>(type)]);
  }
  std::string thread() const override { return "(int)threadIdx.x"; }
  std::string group() const override { return "(int)blockIdx.x"; }
  std::string groups() const override { return "(int)gridDim.x"; }

  std::string preamble(const GpuFrame&) const override { return ""; }

  std::string open(const GpuFrame& f) const override {
    std::string parameters;
    for (const GpuArgument& x : f.buffers)
      parameters += fmt::format("{}{}{}* __restrict__ {}", parameters.empty() ? "" : ", ",
                                x.written ? "" : "const ", element(x.format), x.name);
    for (const auto& [passed, used] : f.symbols)
      parameters += fmt::format("{}long long {}", parameters.empty() ? "" : ", ", passed);
    return fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n", f.threads,
                       f.entry, parameters) +
           native_symbols(*this, f);
  }

  std::string shared(const std::string& type, const std::string& name,
                     int64_t count) const override {
    return fmt::format("__shared__ alignas(16) {} {}[{}];", type, name, count);
  }
  std::string unroll() const override { return "#pragma unroll"; }
  std::string barrier(bool) const override { return "__syncthreads();"; }

  GpuText exchange(Type, const std::string& value, int64_t mask) const override {
    return {fmt::format("__shfl_xor_sync(0xffffffffu, {}, {})", value, mask), gpu_atom};
  }
  GpuText i64(int64_t value) const override { return native_i64(value, "ll"); }

  std::string wide_pointer(Space, bool fixed, const std::string& type,
                           const std::string& address) const override {
    return fmt::format("({}{}*)({})", fixed ? "const " : "", type, address);
  }
  std::string wide_value(const std::string& type, const std::string& parts) const override {
    return fmt::format("make_{}({})", type, parts);
  }

  std::vector<std::string> store_part(const GpuArgument& x, const std::string& at, int,
                                      const std::string& value) const override {
    return {fmt::format("tang_put_4bits({}, {}, {});", x.name, at, value)};
  }

 private:
  static std::string element(Format format) {
    return native_element(format, "unsigned ", "long long");
  }
};

}  // namespace

std::unique_ptr<GpuDialect> cuda_dialect() { return std::make_unique<Cuda>(); }

}  // namespace tang
