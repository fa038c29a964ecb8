// Functions on vectors that are written by hand: which file has them, and what that file uses.
#include <algorithm>

#include <fmt/format.h>

#include "emit/c_vector.h"
#include "emit/snippets.h"

namespace tang {

using loop::Op;
using loop::Shape;
using loop::Type;

namespace {

struct File {
  std::string_view name;
  std::vector<std::string_view> functions;
  std::vector<std::string_view> files;  // that it uses
};

const std::vector<File>& files() {
  static const std::vector<File> all = {
      {"vector_exp.h", {"tang_exp_f32x8"}, {}},
      {"vector_sigmoid.h",
       {"tang_sigmoid_f32x8", "tang_silu_f32x8", "tang_gelu_tanh_f32x8"},
       {"vector_exp.h"}},
      {"vector_erf.h", {"tang_erf_f32x8", "tang_erfc_f32x8", "tang_gelu_f32x8"}, {"vector_exp.h"}},
      {"vector_pow.h", {"tang_pow_f32x8"}, {"vector_exp.h"}},
      {"vector_sin.h", {"tang_sin_f32x8", "tang_cos_f32x8"}, {"vector_exp.h"}},
      {"vector_tanh.h", {"tang_tanh_f32x8"}, {"vector_exp.h"}},
      {"vector_log.h",
       {"tang_log_f32x8", "tang_log1p_f32x8", "tang_softplus_f32x8"},
       {"vector_exp.h"}},
      {"vector_formats.h",
       {"tang_load_bf16_f32x8", "tang_store_bf16_f32x8", "tang_round_bf16_f32x8",
        "tang_load_f16_f32x8"},
       {}},
  };
  return all;
}

const File* find_file(std::string_view function) {
  for (const File& f : files())
    if (std::find(f.functions.begin(), f.functions.end(), function) != f.functions.end()) return &f;
  return nullptr;
}

}  // namespace

bool CVector::has_snippet(Op op, Shape shape) {
  return find_file(fmt::format("tang_{}_{}x8", loop::info(op).name, loop::name(shape.type)));
}

bool CVector::snippet(std::string_view name) {
  const File* file = find_file(name);
  if (!file) return false;
  include(file->name);
  return true;
}

void CVector::include(std::string_view name) {
  if (!known_.insert(std::string(name)).second) return;
  for (const Type t : {Type::f32, Type::i32, Type::boolean}) type({t, 8});
  const Shape v{Type::f32, 8};
  const Shape args[] = {v, v, v};
  operation(Op::fma, args);
  spread(v);
  for (const File& f : files()) {
    if (f.name != name) continue;
    for (const std::string_view used : f.files) include(used);
    std::string guard(name.substr(0, name.size() - 2));
    add(guard, std::string(tang::snippet(name)));
  }
}

}  // namespace tang
