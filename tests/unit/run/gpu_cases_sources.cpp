#include "unit/run/gpu_cases.h"

namespace tang::gpu_cases {

namespace {

std::string glsl(Example example) {
  const std::string head = "#version 450\n";
  const std::string symbols = "layout(push_constant) uniform Sizes { int n; int k; };\n";
  const std::string buffers =
      "layout(binding = 0) readonly buffer X { int x[]; };\n"
      "layout(binding = 1) buffer Y { int y[]; };\n";
  const std::string wide = "layout(local_size_x = 64) in;\n";
  switch (example) {
    case Example::affine:
      return head + wide + symbols + buffers +
             "void main() {\n"
             "  for (int i = int(gl_GlobalInvocationID.x); i < n; i += 64 * "
             "int(gl_NumWorkGroups.x))\n"
             "    y[i] = k * x[i] + i;\n"
             "}\n";
    case Example::sums:
      return head + wide + symbols + buffers +
             "shared int part[64];\n"
             "void main() {\n"
             "  int t = int(gl_LocalInvocationID.x);\n"
             "  for (int g = int(gl_WorkGroupID.x); g < n; g += int(gl_NumWorkGroups.x)) {\n"
             "    part[t] = x[64 * g + t];\n"
             "    barrier();\n"
             "    for (int s = 32; s > 0; s /= 2) {\n"
             "      if (t < s) part[t] += part[t + s];\n"
             "      barrier();\n"
             "    }\n"
             "    if (t == 0) y[g] = part[0];\n"
             "    barrier();\n"
             "  }\n"
             "}\n";
    case Example::exchange:
      return head +
             "#extension GL_KHR_shader_subgroup_basic : require\n"
             "#extension GL_KHR_shader_subgroup_shuffle : require\n" +
             wide + symbols + buffers +
             "void main() {\n"
             "  int i = int(gl_LocalInvocationID.x);\n"
             "  y[i] = subgroupShuffleXor(x[i], 1);\n"
             "}\n";
    case Example::halves:
      return head +
             "#extension GL_EXT_shader_16bit_storage : require\n"
             "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n" +
             wide + symbols +
             "layout(binding = 0) readonly buffer X { float16_t x[]; };\n"
             "layout(binding = 1) buffer Y { float16_t y[]; };\n"
             "void main() {\n"
             "  int i = int(gl_GlobalInvocationID.x);\n"
             "  if (i < n) y[i] = float16_t(2.0 * float(x[i]));\n"
             "}\n";
    case Example::broken:
      return head + "void main() { nowhere = 1; }\n";
  }
  return {};
}

std::string wgsl(Example example) {
  // The sizes are components of vec4<i32>.
  const std::string symbols = "@group(0) @binding(2) var<uniform> sizes : array<vec4<i32>, 1>;\n";
  const std::string buffers =
      "@group(0) @binding(0) var<storage, read_write> x : array<i32>;\n"
      "@group(0) @binding(1) var<storage, read_write> y : array<i32>;\n";
  const std::string main =
      "@compute @workgroup_size(64)\n"
      "fn main(@builtin(local_invocation_id) thread : vec3<u32>,\n"
      "        @builtin(workgroup_id) group : vec3<u32>,\n"
      "        @builtin(num_workgroups) groups : vec3<u32>) {\n"
      "  let n = sizes[0].x;\n"
      "  let k = sizes[0].y;\n"
      "  let t = i32(thread.x);\n";
  switch (example) {
    case Example::affine:
      return symbols + buffers + main +
             "  for (var i = 64 * i32(group.x) + t; i < n; i += 64 * i32(groups.x)) {\n"
             "    y[i] = k * x[i] + i;\n"
             "  }\n"
             "}\n";
    case Example::sums:
      return symbols + buffers + "var<workgroup> part : array<i32, 64>;\n" + main +
             "  for (var g = i32(group.x); g < n; g += i32(groups.x)) {\n"
             "    part[t] = x[64 * g + t];\n"
             "    workgroupBarrier();\n"
             "    for (var s = 32; s > 0; s /= 2) {\n"
             "      if (t < s) { part[t] += part[t + s]; }\n"
             "      workgroupBarrier();\n"
             "    }\n"
             "    if (t == 0) { y[g] = part[0] + 0 * k; }\n"
             "    workgroupBarrier();\n"
             "  }\n"
             "}\n";
    case Example::exchange:
      return "enable subgroups;\n" + symbols + buffers + main +
             "  y[t] = subgroupShuffleXor(x[t], 1u) + 0 * (n + k);\n"
             "}\n";
    case Example::halves:
      return "enable f16;\n" + symbols +
             "@group(0) @binding(0) var<storage, read_write> x : array<f16>;\n"
             "@group(0) @binding(1) var<storage, read_write> y : array<f16>;\n" +
             main +
             "  let i = 64 * i32(group.x) + t;\n"
             "  if (i < n) { y[i] = f16(2.0 * f32(x[i]) + f32(0 * k)); }\n"
             "}\n";
    case Example::broken:
      return "fn main() { nowhere = 1; }\n";
  }
  return {};
}

}  // namespace

GpuFunction function(Dialect dialect, Example example) {
  GpuFunction f;
  f.entry = "main";
  f.source = dialect == Dialect::glsl ? glsl(example) : wgsl(example);
  f.threads = 64;
  f.shared_bytes = example == Example::sums ? 256 : 0;
  f.symbols = {ParamId{0}, ParamId{1}};
  return f;
}

GpuSource source(Dialect dialect, std::vector<Example> examples) {
  GpuSource made;
  made.dialect = dialect;
  for (const Example example : examples) {
    made.kernels.push_back(made.functions.size());
    made.functions.push_back(function(dialect, example));
  }
  return made;
}

}  // namespace tang::gpu_cases
