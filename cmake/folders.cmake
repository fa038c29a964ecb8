# One static library per folder of src/ that has sources, in flow order: each links those before it.

set(TANG_FOLDERS base expr view ir front eval rewrite target schedule tile loop emit run verify models api cli)

# libtang.so is made of the objects of the folders (package.cmake), and exports the C interface alone.
# Precompiled headers are compiled with the same flags.
function(tang_for_library target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

tang_precompile(tang_precompiled "tang_deps;tang_options" ${TANG_COMMON_HEADERS})
if(TARGET tang_precompiled)
  tang_for_library(tang_precompiled)
endif()

set(TANG_LIBRARIES)
foreach(folder IN LISTS TANG_FOLDERS)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/src/cli/main\\.cpp$")
  if(NOT sources)
    continue()
  endif()
  if(folder STREQUAL "emit")
    list(APPEND sources ${TANG_GENERATED}/emit/snippets.cpp)
  elseif(folder STREQUAL "target")
    list(APPEND sources ${TANG_GENERATED}/target/definitions.cpp)
  elseif(folder STREQUAL "cli")
    list(APPEND sources ${TANG_GENERATED}/cli/pages.cpp)
  endif()
  add_library(tang_${folder} STATIC ${sources})
  add_dependencies(tang_${folder} tang_version)
  target_include_directories(tang_${folder} PUBLIC ${PROJECT_SOURCE_DIR}/src ${TANG_GENERATED})
  tang_for_library(tang_${folder})
  target_link_libraries(tang_${folder} PUBLIC ${TANG_LIBRARIES} tang_deps tang_options)
  if(folder STREQUAL "api")
    target_include_directories(tang_api PUBLIC ${PROJECT_SOURCE_DIR}/include)
  endif()
  tang_use_precompiled(tang_${folder} tang_precompiled)
  if(folder STREQUAL "run" AND TANG_GLSLANG)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/run/spirv.cpp PROPERTIES
      COMPILE_DEFINITIONS TANG_GLSLANG)
    # The compiler's own folders must keep their order.
    if(NOT GLSLANG_INCLUDE_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
      set_source_files_properties(${PROJECT_SOURCE_DIR}/src/run/spirv.cpp PROPERTIES
        INCLUDE_DIRECTORIES ${GLSLANG_INCLUDE_DIR})
    endif()
    target_link_libraries(tang_run PUBLIC -Wl,--start-group ${TANG_GLSLANG} -Wl,--end-group)
  endif()
  list(PREPEND TANG_LIBRARIES tang_${folder})
endforeach()

if(EXISTS ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
  add_executable(tang ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
  add_dependencies(tang tang_version)
  target_include_directories(tang PRIVATE ${PROJECT_SOURCE_DIR}/src ${TANG_GENERATED})
  target_link_libraries(tang PRIVATE ${TANG_LIBRARIES} tang_deps tang_options)
  # man tang says what tang help says.
  install(CODE "execute_process(COMMAND $<TARGET_FILE:tang> help man
    OUTPUT_FILE ${PROJECT_BINARY_DIR}/tang.1 COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${PROJECT_BINARY_DIR}/tang.1 DESTINATION share/man/man1)
endif()
