# Fuzz targets of libFuzzer (clang only): each tests/fuzz/inputs/<name>.cpp is a program
# fuzz_<name>; scripts/fuzz gives them seeds and runs them.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "TANG_FUZZ needs clang: cmake --preset fuzz")
endif()

# What the targets share: their entry points, and random programs as seeds.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/random_graphs/*.cpp)
list(FILTER sources EXCLUDE REGEX "/(main|pipeline|histogram)\\.cpp$")
add_library(fuzz_target STATIC ${PROJECT_SOURCE_DIR}/tests/fuzz/inputs/target.cpp ${sources})
target_include_directories(fuzz_target PUBLIC
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests ${TANG_GENERATED})
target_link_libraries(fuzz_target PUBLIC tang_deps tang_options)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/inputs/*.cpp)
list(FILTER sources EXCLUDE REGEX "/target\\.cpp$")
set(targets)
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(fuzz_${name} ${source})
  add_dependencies(fuzz_${name} tang_version)
  target_link_libraries(fuzz_${name} PRIVATE fuzz_target ${TANG_LIBRARIES} tang_deps tang_options)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  list(APPEND targets fuzz_${name})
endforeach()
add_custom_target(fuzz DEPENDS ${targets})
