// The tang program. A full disk and a closed pipe are errors to report, not signals to die of.
#include <csignal>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/commands.h"

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, [](int) { _exit(130); });
  return tang::cli::run_program(std::vector<std::string>(argv + 1, argv + argc));
}
