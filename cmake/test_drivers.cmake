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

# device.NAME: every example on a device of a driver, and device.cases.NAME: limits and values that
# are easily got wrong; skipped where the device is not there.
function(tang_device_test name)
  foreach(test examples cases)
    set(full device.${name})
    if(test STREQUAL cases)
      set(full device.cases.${name})
    endif()
    add_test(NAME ${full} COMMAND bash ${PROJECT_SOURCE_DIR}/tests/drivers/${test}.sh ${name}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${full} PROPERTIES LABELS device TIMEOUT 2700 SKIP_RETURN_CODE 77
      ENVIRONMENT "TANG=$<TARGET_FILE:tang>;XDG_RUNTIME_DIR=${runtime};${ARGN}")
  endforeach()
endfunction()

tang_device_test(cuda)
tang_device_test(opencl)
if(lavapipe)
  tang_device_test(vulkan VK_ICD_FILENAMES=${lavapipe} VK_DRIVER_FILES=${lavapipe})
endif()
if(swiftshader)
  tang_device_test(webgpu VK_ICD_FILENAMES=${swiftshader} VK_DRIVER_FILES=${swiftshader}
    TANG_WEBGPU_LIBRARY=${PROJECT_SOURCE_DIR}/build/webgpu/libwebgpu_wrapper.so)
endif()
