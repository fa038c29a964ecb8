# tang_options carries the flags every target of the project is compiled with.

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")

add_library(tang_options INTERFACE)
target_compile_options(tang_options INTERFACE
  -ffp-contract=off  # a*b + c rounds twice everywhere, so results do not depend on the machine
  -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual -Wunused
  # Aggregates are initialised by naming some fields; the rest have defaults.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tang_options INTERFACE
    -Wshadow=local -Wduplicated-cond -Wlogical-op
    # False alarms of GCC 12 on std::string (bugs 105651, 105329).
    -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(TANG_WERROR)
  target_compile_options(tang_options INTERFACE -Werror)
endif()

if(TANG_SANITIZE)
  # Null pointers fault by themselves; vptr and object-size checks are slow to compile and find
  # little here. The checks' own code confuses the flow analysis behind -Wmaybe-uninitialized.
  target_compile_options(tang_options INTERFACE
    -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined
    -fno-sanitize=null,vptr,object-size -fno-sanitize-recover=all -Wno-maybe-uninitialized)
  target_link_options(tang_options INTERFACE -fsanitize=address,undefined)
endif()

if(TANG_FUZZ)
  # Coverage for libFuzzer beside the sanitizers; assertions stay on.
  target_compile_options(tang_options INTERFACE
    -O1 -g1 -UNDEBUG -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize=vptr,object-size -fno-sanitize-recover=all)
  target_link_options(tang_options INTERFACE -fsanitize=address,undefined)
endif()

if(TANG_PORTABLE)
  target_link_options(tang_options INTERFACE -static-libstdc++ -static-libgcc)
endif()
