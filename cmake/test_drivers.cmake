# The tests of the drivers of Vulkan, each time in one process: unit.run.vulkan on the device that
# the loader finds first, unit.run.lavapipe and unit.run.swiftshader on those that run on processors,
# where they are installed. tests/layer lets Dawn take lavapipe.

file(GLOB lavapipe /usr/share/vulkan/icd.d/lvp_icd*.json)
file(GLOB swiftshader /usr/lib/chromium/vk_swiftshader_icd.json)
find_path(VULKAN_INCLUDE_DIR vulkan/vk_layer.h)

set(runtime ${PROJECT_BINARY_DIR}/runtime)  # Mesa wants such a folder
file(MAKE_DIRECTORY ${runtime})

function(tang_driver_test name)
  add_test(NAME unit.run.${name} COMMAND unit_run --gtest_filter=${TANG_DRIVER_TESTS}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(unit.run.${name} PROPERTIES LABELS unit TIMEOUT 1200
    ENVIRONMENT "XDG_RUNTIME_DIR=${runtime};${ARGN}")
endfunction()

tang_driver_test(vulkan)
if(lavapipe)
  set(settings VK_ICD_FILENAMES=${lavapipe} VK_DRIVER_FILES=${lavapipe})
  if(VULKAN_INCLUDE_DIR)
    enable_language(C)
    set(layer ${PROJECT_BINARY_DIR}/layer)
    add_library(tang_test_layer MODULE ${PROJECT_SOURCE_DIR}/tests/layer/lavapipe_layer.c)
    target_include_directories(tang_test_layer SYSTEM PRIVATE ${VULKAN_INCLUDE_DIR})
    target_compile_options(tang_test_layer PRIVATE -O1 -Wall -Wextra -fvisibility=hidden)
    target_link_options(tang_test_layer PRIVATE -Wl,-Bsymbolic)
    set_target_properties(tang_test_layer PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${layer})
    configure_file(${PROJECT_SOURCE_DIR}/tests/layer/lavapipe_layer.json
      ${layer}/lavapipe_layer.json COPYONLY)
    add_dependencies(unit_run tang_test_layer)
    list(APPEND settings VK_LAYER_PATH=${layer} VK_INSTANCE_LAYERS=VK_LAYER_TANG_lavapipe)
  endif()
  tang_driver_test(lavapipe ${settings})
endif()
if(swiftshader)
  tang_driver_test(swiftshader VK_ICD_FILENAMES=${swiftshader} VK_DRIVER_FILES=${swiftshader})
endif()

# device.NAME: a script of tests/drivers for a device of a driver, skipped where it is not there.
function(tang_device_test name script device programs)
  add_test(NAME device.${name}
    COMMAND bash ${PROJECT_SOURCE_DIR}/tests/drivers/${script}.sh ${device} ${programs}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(device.${name} PROPERTIES LABELS device TIMEOUT 1500 SKIP_RETURN_CODE 77
    ENVIRONMENT "TANG=$<TARGET_FILE:tang>;XDG_RUNTIME_DIR=${runtime};${ARGN}")
endfunction()

# Every script for a device.
function(tang_device_tests device)
  tang_device_test(${device} examples ${device} "" ${ARGN})
  tang_device_test(${device}.story story ${device} "" ${ARGN})
  tang_device_test(${device}.faults faults ${device} "" ${ARGN})
  tang_device_test(${device}.cases cases ${device} "" ${ARGN})
endfunction()

set(dawn TANG_WEBGPU_LIBRARY=${PROJECT_SOURCE_DIR}/build/webgpu/libwebgpu_wrapper.so)
tang_device_tests(cuda)
tang_device_tests(opencl)
if(lavapipe)
  tang_device_tests(vulkan VK_ICD_FILENAMES=${lavapipe} VK_DRIVER_FILES=${lavapipe})
  if(VULKAN_INCLUDE_DIR)
    tang_device_tests(webgpu ${settings} ${dawn})
  endif()
endif()
if(swiftshader)
  # Its compiler takes minutes for the larger kernels.
  set(small views bag_of_embeddings heat histogram layernorm quantise rmsnorm scans segments)
  tang_device_test(swiftshader examples webgpu "${small}" ${dawn}
    VK_ICD_FILENAMES=${swiftshader} VK_DRIVER_FILES=${swiftshader})
endif()

# libtang.so with PyTorch, skipped where that or a GPU is not there.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME device.dlpack_torch
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/drivers/dlpack_torch.py
            $<TARGET_FILE:tang_c>
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(device.dlpack_torch PROPERTIES LABELS device TIMEOUT 600
    SKIP_RETURN_CODE 77)
endif()
add_test(NAME faults.vm COMMAND bash ${PROJECT_SOURCE_DIR}/tests/drivers/faults.sh vm
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(faults.vm PROPERTIES LABELS cli TIMEOUT 600
  ENVIRONMENT "TANG=$<TARGET_FILE:tang>")

# emission.NAME: every example's kernels through the compiler of a language, skipped where it is not
# there.
foreach(name cuda msl glsl opencl)
  add_test(NAME emission.${name} COMMAND unit_emission --gtest_filter=ExamplesCompile.${name}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(emission.${name} PROPERTIES LABELS emission TIMEOUT 1800
    SKIP_REGULAR_EXPRESSION "SKIPPED")
endforeach()
# In Metal's language they run on the host too.
add_test(NAME emission.msl_run COMMAND unit_emission --gtest_filter=ExamplesRun.msl
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(emission.msl_run PROPERTIES LABELS emission TIMEOUT 1800)
