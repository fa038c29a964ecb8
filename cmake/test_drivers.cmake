# The tests of the vulkan and webgpu drivers again, on each driver of Vulkan that runs on processors
# and is installed: unit.run.lavapipe.* (with tests/layer, so that Dawn takes it) and
# unit.run.swiftshader.*. Those of unit.run.* run on what the loader finds.

set(filter "*Vulkan*:*WebGpu*:*GpuPrograms*")
set(runtime ${PROJECT_BINARY_DIR}/runtime)  # Mesa wants such a folder
file(MAKE_DIRECTORY ${runtime})

# tang_driver_tests(NAME MANIFEST SETTING...): the tests with the driver of a manifest.
function(tang_driver_tests name manifest)
  gtest_discover_tests(unit_run
    TEST_PREFIX unit.run.${name}. TEST_LIST unit_run_${name} TEST_FILTER ${filter}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS unit TIMEOUT 1200
    ENVIRONMENT "VK_ICD_FILENAMES=${manifest};VK_DRIVER_FILES=${manifest};XDG_RUNTIME_DIR=${runtime};${ARGN}")
endfunction()

file(GLOB lavapipe /usr/share/vulkan/icd.d/lvp_icd*.json)
file(GLOB swiftshader /usr/lib/chromium/vk_swiftshader_icd.json)
find_path(VULKAN_INCLUDE_DIR vulkan/vk_layer.h)

if(TARGET unit_run AND lavapipe)
  set(layer)
  if(VULKAN_INCLUDE_DIR)
    enable_language(C)
    add_library(tang_test_layer MODULE ${PROJECT_SOURCE_DIR}/tests/layer/lavapipe_layer.c)
    target_include_directories(tang_test_layer SYSTEM PRIVATE ${VULKAN_INCLUDE_DIR})
    target_compile_options(tang_test_layer PRIVATE -O1 -Wall -Wextra -fvisibility=hidden)
    target_link_options(tang_test_layer PRIVATE -Wl,-Bsymbolic)
    set_target_properties(tang_test_layer PROPERTIES LIBRARY_OUTPUT_DIRECTORY
      ${PROJECT_BINARY_DIR}/layer)
    configure_file(${PROJECT_SOURCE_DIR}/tests/layer/lavapipe_layer.json
      ${PROJECT_BINARY_DIR}/layer/lavapipe_layer.json COPYONLY)
    add_dependencies(unit_run tang_test_layer)
    set(layer "VK_LAYER_PATH=${PROJECT_BINARY_DIR}/layer;VK_INSTANCE_LAYERS=VK_LAYER_TANG_lavapipe")
  endif()
  tang_driver_tests(lavapipe ${lavapipe} ${layer})
endif()
if(TARGET unit_run AND swiftshader)
  tang_driver_tests(swiftshader ${swiftshader})
endif()
