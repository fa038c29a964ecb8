# The row probe (bench/probe), built when asked for: cmake --build --preset portable --target probe.

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/probe/*.cpp)
list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
add_library(tang_probe STATIC EXCLUDE_FROM_ALL ${sources})
target_include_directories(tang_probe PUBLIC ${PROJECT_SOURCE_DIR}/bench)
target_link_libraries(tang_probe PUBLIC tang_target)
tang_for_library(tang_probe)
tang_use_precompiled(tang_probe tang_precompiled)

add_executable(tang-probe EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/bench/probe/main.cpp)
target_link_libraries(tang-probe PRIVATE tang_probe)
add_custom_target(probe DEPENDS tang-probe)
