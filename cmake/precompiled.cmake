# Headers that nearly every source reads, parsed once. Left out where a compiler launcher is set:
# ccache does not get on with precompiled headers (and such a build shows a missing include).

# tang_precompile(NAME FLAGS HEADER...): target NAME, for targets compiled with the flags of FLAGS.
function(tang_precompile name flags)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    file(CONFIGURE OUTPUT ${TANG_GENERATED}/precompiled/${name}.cpp CONTENT "")
    add_library(${name} OBJECT ${TANG_GENERATED}/precompiled/${name}.cpp)
    target_link_libraries(${name} PRIVATE ${flags})
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()

function(tang_use_precompiled target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

set(TANG_COMMON_HEADERS
  <fmt/format.h> <tl/expected.hpp>
  <algorithm> <cstdint> <functional> <map> <optional> <string> <string_view> <variant> <vector>)
