// The manual page: the help texts, in the few words of roff that keep them as they are.
#include <sstream>

#include <fmt/format.h>

#include "base/version.h"
#include "cli/options.h"

namespace tang::cli {

namespace {

// Text that roff shows line by line as it is.
std::string verbatim(const std::string& text) {
  std::string out = ".nf\n", line;
  std::istringstream lines(text);
  while (std::getline(lines, line)) {
    std::string safe;
    for (char c : line)
      safe += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
    if (safe.starts_with(".") || safe.starts_with("'")) safe = "\\&" + safe;
    out += safe + "\n";
  }
  return out + ".fi\n";
}

}  // namespace

std::string man_page() {
  std::string page = fmt::format(".TH TANG 1 \"\" \"tang {}\" \"User Commands\"\n", version);
  page += ".SH NAME\ntang \\- derives fast, verified kernels from tensor formulas\n";
  page += ".SH SYNOPSIS\n.B tang\nCOMMAND [FILE] [OPTIONS]\n.SH DESCRIPTION\n" +
          verbatim(general_help());
  for (const std::string& command : command_names())
    if (!is_planned(command))
      page += fmt::format(".SH TANG {}\n", command) + verbatim(*command_help(command));
  return page;
}

}  // namespace tang::cli
