#include "run/spirv.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#ifdef TANG_GLSLANG
#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>
#endif

namespace tang {

uint32_t binding_count(const std::vector<uint32_t>& spirv) {
  constexpr size_t header = 5;
  constexpr uint32_t decorate = 71, binding = 33;
  uint32_t count = 0;
  for (size_t at = header; at < spirv.size();) {
    const uint32_t words = spirv[at] >> 16, operation = spirv[at] & 0xffff;
    if (words == 0 || at + words > spirv.size()) break;
    if (operation == decorate && words == 4 && spirv[at + 2] == binding)
      count = std::max(count, spirv[at + 3] + 1);
    at += words;
  }
  return count;
}

#ifdef TANG_GLSLANG

namespace {

struct Delete {
  void operator()(glslang_shader_t* shader) const { glslang_shader_delete(shader); }
  void operator()(glslang_program_t* program) const { glslang_program_delete(program); }
};

auto refused(const std::string& kernel, const char* log) {
  return error("E0999",
               fmt::format("glslang refuses the kernel {}:\n{}", kernel, log ? log : "no log"));
}

}  // namespace

bool has_glslang() { return true; }

Result<std::vector<uint32_t>> spirv_of_glsl(const std::string& source, const std::string& kernel) {
  [[maybe_unused]] static const int once = glslang_initialize_process();
  glslang_input_t input{};
  input.language = GLSLANG_SOURCE_GLSL;
  input.stage = GLSLANG_STAGE_COMPUTE;
  input.client = GLSLANG_CLIENT_VULKAN;
  input.client_version = GLSLANG_TARGET_VULKAN_1_2;
  input.target_language = GLSLANG_TARGET_SPV;
  input.target_language_version = GLSLANG_TARGET_SPV_1_5;
  input.code = source.c_str();
  input.default_version = 450;
  input.default_profile = GLSLANG_NO_PROFILE;
  constexpr int messages = GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT;
  input.messages = static_cast<glslang_messages_t>(messages);
  input.resource = glslang_default_resource();

  const std::unique_ptr<glslang_shader_t, Delete> shader(glslang_shader_create(&input));
  if (!shader) return refused(kernel, nullptr);
  if (!glslang_shader_preprocess(shader.get(), &input) ||
      !glslang_shader_parse(shader.get(), &input))
    return refused(kernel, glslang_shader_get_info_log(shader.get()));
  const std::unique_ptr<glslang_program_t, Delete> program(glslang_program_create());
  glslang_program_add_shader(program.get(), shader.get());
  if (!glslang_program_link(program.get(), messages))
    return refused(kernel, glslang_program_get_info_log(program.get()));
  glslang_program_SPIRV_generate(program.get(), GLSLANG_STAGE_COMPUTE);
  std::vector<uint32_t> words(glslang_program_SPIRV_get_size(program.get()));
  if (words.empty()) return refused(kernel, glslang_program_SPIRV_get_messages(program.get()));
  glslang_program_SPIRV_get(program.get(), words.data());
  return words;
}

#else

bool has_glslang() { return false; }

Result<std::vector<uint32_t>> spirv_of_glsl(const std::string&, const std::string&) {
  return error("E0911", "this program was built without glslang, which the vulkan device needs",
               "install glslang-dev and build again", Exit::no_device);
}

#endif

}  // namespace tang
