# tang_deps carries the third-party libraries of the core; docs/dependencies.md says why each one.

if(TANG_PORTABLE)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(ZLIB_USE_STATIC_LIBS ON)
endif()

find_package(fmt 9 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(nlohmann_json 3 REQUIRED)
find_package(CLI11 2 REQUIRED)
find_package(ZLIB REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)

add_library(tang_deps INTERFACE)
target_include_directories(tang_deps SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
target_link_libraries(tang_deps INTERFACE
  tl::expected nlohmann_json::nlohmann_json CLI11::CLI11 ZLIB::ZLIB ${XXHASH_LIBRARY}
  ${CMAKE_DL_LIBS})
# Debian ships libfmt as a shared library only; the portable program compiles it in instead.
target_link_libraries(tang_deps INTERFACE
  $<IF:$<BOOL:${TANG_PORTABLE}>,fmt::fmt-header-only,fmt::fmt>)
