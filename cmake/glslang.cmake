# TANG_GLSLANG: glslang's static libraries, which make SPIR-V of GLSL for the vulkan device. Without
# them that device says that the program was built without it.

option(TANG_WITH_GLSLANG "compile GLSL in process, for the vulkan device" ON)

set(TANG_GLSLANG)
find_path(GLSLANG_INCLUDE_DIR glslang/Include/glslang_c_interface.h)
# In the order of their needs; which of them there are depends on glslang's version.
foreach(name glslang HLSL MachineIndependent GenericCodeGen OSDependent OGLCompiler SPIRV
        glslang-default-resource-limits SPIRV-Tools-opt SPIRV-Tools)
  find_library(GLSLANG_${name} lib${name}.a)
  if(GLSLANG_${name})
    list(APPEND TANG_GLSLANG ${GLSLANG_${name}})
  endif()
endforeach()
if(NOT TANG_WITH_GLSLANG OR NOT GLSLANG_INCLUDE_DIR OR NOT GLSLANG_glslang OR NOT GLSLANG_SPIRV)
  message(STATUS "glslang: not found, the program is built without the vulkan device")
  set(TANG_GLSLANG)
endif()
