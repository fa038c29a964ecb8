# tang-bench-cpu (bench/cpu), built when asked for and only where its peers are installed
# (bench/cpu/prepare installs them): cmake --build --preset release --target tang-bench-cpu.

# Not oneDNN's own package file, which fails where OpenCL's headers are missing.
find_path(TANG_DNNL_INCLUDE dnnl.hpp)
find_library(TANG_DNNL_LIBRARY dnnl)
find_package(Eigen3 QUIET)
find_package(OpenMP QUIET COMPONENTS CXX)
mark_as_advanced(TANG_DNNL_INCLUDE TANG_DNNL_LIBRARY)
if(NOT TANG_DNNL_INCLUDE OR NOT TANG_DNNL_LIBRARY OR NOT Eigen3_FOUND OR NOT OpenMP_CXX_FOUND)
  return()
endif()

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/cpu/*.cpp)
add_executable(tang-bench-cpu EXCLUDE_FROM_ALL ${sources})
target_include_directories(tang-bench-cpu PRIVATE ${PROJECT_SOURCE_DIR}/bench)
target_include_directories(tang-bench-cpu SYSTEM PRIVATE ${TANG_DNNL_INCLUDE})
target_compile_definitions(tang-bench-cpu PRIVATE TANG_BENCH_SOURCE="${PROJECT_SOURCE_DIR}")
target_link_libraries(tang-bench-cpu PRIVATE
  ${TANG_LIBRARIES} ${TANG_DNNL_LIBRARY} Eigen3::Eigen OpenMP::OpenMP_CXX)
add_dependencies(tang-bench-cpu tang)
# Peers and yardsticks that are compiled here get what a user of this machine would give them.
set_source_files_properties(
  ${PROJECT_SOURCE_DIR}/bench/cpu/eigen_mlp.cpp ${PROJECT_SOURCE_DIR}/bench/cpu/yardsticks.cpp
  PROPERTIES COMPILE_OPTIONS
    "-O3;-march=native;-ffast-math;-ffp-contract=fast;-Wno-aggressive-loop-optimizations")
