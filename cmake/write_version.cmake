# Writes OUTPUT from src/base/version.h.in, with VERSION and the commit of SOURCE ("unknown"
# outside a git checkout).
execute_process(
  COMMAND git describe --always --dirty --abbrev=12 --exclude=*
  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(COMMIT unknown)
endif()
configure_file(${SOURCE}/src/base/version.h.in ${OUTPUT} @ONLY)
