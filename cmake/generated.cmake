# Files made in the build folder, found by #include as if they lay under src/.

set(TANG_GENERATED ${PROJECT_BINARY_DIR}/generated)

# base/version.h: looked at on every build, rewritten only when the version or the commit changes.
add_custom_target(tang_version
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
          -DOUTPUT=${TANG_GENERATED}/base/version.h -P ${PROJECT_SOURCE_DIR}/cmake/write_version.cmake
  BYPRODUCTS ${TANG_GENERATED}/base/version.h
  VERBATIM)

# tang_embed(STEM FUNCTION PATTERN): STEM.h and STEM.cpp, whose FUNCTION gives the files that PATTERN
# finds under src/ as text, by name.
function(tang_embed stem FUNCTION PATTERN)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${PATTERN})
  set(writer ${PROJECT_SOURCE_DIR}/cmake/write_embedded.cmake)
  set(output ${TANG_GENERATED}/${stem}.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DHEADER=${stem}.h -DFUNCTION=${FUNCTION}
            -DOUTPUT=${output} -P ${writer}
    DEPENDS ${files} ${writer}
    VERBATIM)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/embedded.h.in ${TANG_GENERATED}/${stem}.h @ONLY)
endfunction()

tang_embed(emit/snippets snippet "src/emit/snippets/*")
tang_embed(target/definitions definition "src/target/*.def")
tang_embed(cli/pages page "src/cli/report/*")
