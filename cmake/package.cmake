# The library for other programs: libtang.a (tang::tang, the C++ API), libtang.so (tang::c, the C
# interface and nothing else), their headers, and what find_package(tang) reads.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
find_package(Threads REQUIRED)

set(objects)
foreach(folder IN LISTS TANG_FOLDERS)
  if(TARGET tang_${folder} AND NOT folder MATCHES "^(models|cli)$")
    list(APPEND objects $<TARGET_OBJECTS:tang_${folder}>)
  endif()
endforeach()

# By the names of their files, so that the package can be moved to another machine.
set(glslang)
foreach(library IN LISTS TANG_GLSLANG)
  get_filename_component(name ${library} NAME)
  list(APPEND glslang -l:${name})
endforeach()

add_library(tang_static STATIC ${objects})
set_target_properties(tang_static PROPERTIES
  EXPORT_NAME tang OUTPUT_NAME tang LINKER_LANGUAGE CXX)
target_compile_features(tang_static PUBLIC cxx_std_20)
target_link_libraries(tang_static PUBLIC tl::expected
  PRIVATE ZLIB::ZLIB Threads::Threads xxhash ${CMAKE_DL_LIBS})
if(NOT TANG_PORTABLE)
  target_link_libraries(tang_static PRIVATE fmt::fmt)
endif()
if(glslang)
  target_link_libraries(tang_static PRIVATE -Wl,--start-group ${glslang} -Wl,--end-group)
endif()

set(exports ${PROJECT_SOURCE_DIR}/cmake/libtang.map)
add_library(tang_c SHARED ${objects})
set_target_properties(tang_c PROPERTIES
  EXPORT_NAME c OUTPUT_NAME tang LINKER_LANGUAGE CXX LINK_DEPENDS ${exports}
  VERSION ${PROJECT_VERSION} SOVERSION 0)
target_link_options(tang_c PRIVATE -Wl,--version-script=${exports})
target_link_libraries(tang_c PRIVATE tang_deps tang_options Threads::Threads)
if(TANG_GLSLANG)
  target_link_libraries(tang_c PRIVATE -Wl,--start-group ${TANG_GLSLANG} -Wl,--end-group)
endif()

install(TARGETS tang_static tang_c EXPORT tangTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# tang/tang.hpp and the headers that it includes, which name each other from tang/.
set(public ${PROJECT_BINARY_DIR}/public)
install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}/src
  -DOUTPUT=${public} -P ${PROJECT_SOURCE_DIR}/cmake/write_headers.cmake
  COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY ${public}/tang ${PROJECT_SOURCE_DIR}/include/tang
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(place ${CMAKE_INSTALL_LIBDIR}/cmake/tang)
install(EXPORT tangTargets NAMESPACE tang:: DESTINATION ${place})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tangConfig.cmake.in
  ${PROJECT_BINARY_DIR}/tangConfig.cmake INSTALL_DESTINATION ${place})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tangConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tangConfig.cmake ${PROJECT_BINARY_DIR}/tangConfigVersion.cmake
  DESTINATION ${place})
