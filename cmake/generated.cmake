# Files made in the build folder, found by #include as if they lay under src/.

set(TANG_GENERATED ${PROJECT_BINARY_DIR}/generated)

# base/version.h: looked at on every build, rewritten only when the version or the commit changes.
add_custom_target(tang_version
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
          -DOUTPUT=${TANG_GENERATED}/base/version.h -P ${PROJECT_SOURCE_DIR}/cmake/write_version.cmake
  BYPRODUCTS ${TANG_GENERATED}/base/version.h
  VERBATIM)

# emit/snippets.h and snippets.cpp: the files of src/emit/snippets as text, by name.
file(GLOB TANG_SNIPPETS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/emit/snippets/*)
add_custom_command(
  OUTPUT ${TANG_GENERATED}/emit/snippets.cpp
  COMMAND ${CMAKE_COMMAND} "-DFILES=${TANG_SNIPPETS}" -DOUTPUT=${TANG_GENERATED}/emit/snippets.cpp
          -P ${PROJECT_SOURCE_DIR}/cmake/write_snippets.cmake
  DEPENDS ${TANG_SNIPPETS} ${PROJECT_SOURCE_DIR}/cmake/write_snippets.cmake
  VERBATIM)
configure_file(${PROJECT_SOURCE_DIR}/cmake/snippets.h.in ${TANG_GENERATED}/emit/snippets.h COPYONLY)
