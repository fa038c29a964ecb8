# Tests, found by where they lie:
#   tests/unit/<folder>/*.cpp  unit_<folder>, GoogleTest
#   tests/law/<folder>/*.cpp   law_<folder>, GoogleTest and rapidcheck
#   tests/text/*.cpp           tang-test, run once for each folder of tests/text
#   tests/fuzz/<folder>/*.cpp  fuzz_<folder>, a program of its own main; but tests/fuzz/inputs is
#                              libFuzzer's (fuzz.cmake)
# All run in the project's root, so that the default test data folder ../shared/data is found.

set(TANG_TEST_PARAMETERS "seed=2026" CACHE STRING
  "rapidcheck's parameters; empty draws a new seed in each run")

find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)
include(GoogleTest)

# Compiling a law costs more than running it: optimise less than the sources and leave out the
# alignment checks.
add_library(tang_test_flags INTERFACE)
target_compile_options(tang_test_flags INTERFACE
  -Wno-dangling-else  # `if (c) ASSERT_…` is meant
  $<$<CONFIG:Release>:-O1> $<$<BOOL:${TANG_SANITIZE}>:-fno-sanitize=alignment>)
add_library(tang_test_options INTERFACE)
target_link_libraries(tang_test_options INTERFACE
  tang_deps tang_options tang_test_flags  # in this order: the last flag counts
  GTest::gtest GTest::gmock rapidcheck)
tang_precompile(tang_test_precompiled tang_test_options
  <gtest/gtest.h> <rapidcheck/gtest.h> ${TANG_COMMON_HEADERS})

function(tang_test_program name)
  add_executable(${name} ${ARGN})
  add_dependencies(${name} tang_version)
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests ${TANG_GENERATED})
  target_link_libraries(${name} PRIVATE tang_test_options)
  tang_use_precompiled(${name} tang_test_precompiled)
endfunction()

# Tests that need a driver of Vulkan run for each such driver in one process (test_drivers.cmake).
set(TANG_DRIVER_TESTS "*Vulkan*:*WebGpu*:*GpuPrograms*")
# Those of every example with a compiler are called emission.NAME (test_drivers.cmake too).
set(TANG_COMPILER_TESTS "ExamplesCompile.*:ExamplesRun.*")

function(tang_gtest_program kind folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${kind}/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  set(name ${kind}_${folder})
  tang_test_program(${name} ${sources})
  if(TARGET tang_${folder})
    target_link_libraries(${name} PRIVATE tang_${folder})
  else()
    target_link_libraries(${name} PRIVATE ${TANG_LIBRARIES})
  endif()
  target_link_libraries(${name} PRIVATE GTest::gtest_main)
  gtest_discover_tests(${name}
    TEST_PREFIX ${kind}.${folder}. TEST_FILTER "-${TANG_DRIVER_TESTS}:${TANG_COMPILER_TESTS}"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${kind} TIMEOUT 1200
    ENVIRONMENT "RC_PARAMS=${TANG_TEST_PARAMETERS}")
endfunction()

# The tests of a folder of src link its library and those before it; a folder of tests with another
# name (tests/unit/cases) links all.
foreach(kind unit law)
  file(GLOB folders RELATIVE ${PROJECT_SOURCE_DIR}/tests/${kind} CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/tests/${kind}/*)
  foreach(folder IN LISTS folders)
    tang_gtest_program(${kind} ${folder})
  endforeach()
endforeach()

include(test_drivers)  # unit.run.vulkan and the like

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/text/*.cpp)
if(sources AND TARGET tang)
  tang_test_program(tang-test ${sources})
  target_link_libraries(tang-test PRIVATE ${TANG_LIBRARIES})
  add_dependencies(tang-test tang)
  file(GLOB folders RELATIVE ${PROJECT_SOURCE_DIR}/tests/text CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/tests/text/*)
  foreach(folder IN LISTS folders)
    file(GLOB programs ${PROJECT_SOURCE_DIR}/tests/text/${folder}/*.tang)
    if(programs)  # others are read by unit tests
      add_test(NAME text.${folder}
        COMMAND tang-test --tang $<TARGET_FILE:tang> tests/text/${folder}
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(text.${folder} PROPERTIES LABELS text TIMEOUT 600)
    endif()
  endforeach()
endif()

file(GLOB folders RELATIVE ${PROJECT_SOURCE_DIR}/tests/fuzz CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/tests/fuzz/*)
list(REMOVE_ITEM folders inputs)
foreach(folder IN LISTS folders)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/${folder}/*.cpp)
  tang_test_program(fuzz_${folder} ${sources})
  target_link_libraries(fuzz_${folder} PRIVATE ${TANG_LIBRARIES})
  add_test(NAME fuzz.${folder} COMMAND fuzz_${folder} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(fuzz.${folder} PROPERTIES LABELS fuzz TIMEOUT 1200)
endforeach()

# tests/cli/*.sh: the program as users meet it, with its exit codes, messages and JSON.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cli/*.sh)
if(TARGET tang)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    add_test(NAME cli.${name} COMMAND bash ${source} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(cli.${name} PROPERTIES LABELS cli TIMEOUT 600
      ENVIRONMENT "TANG=$<TARGET_FILE:tang>")
  endforeach()
endif()
