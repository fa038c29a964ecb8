// From arguments to an exit code.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace tang::cli {

namespace {

using Command = Outcome<void> (*)(Session&);

Command find_function(const std::string& name) {
  static const std::map<std::string, Command> table = {
      {"derive", derive_command},     {"run", run_command},         {"check", check_command},
      {"emit", emit_command},         {"bench", bench_command},     {"rules", rules_command},
      {"generate", generate_command}, {"devices", devices_command}, {"cache", cache_command},
      {"help", help_command},         {"reduce", reduce_command},   {"report", report_command}};
  const auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

// Writes stdout whole. A reader that went away is no error; a full disk is.
int flush(const std::string& out, int code) {
  const bool written = std::fwrite(out.data(), 1, out.size(), stdout) == out.size();
  if (std::fflush(stdout) == 0 && written) return code;
  if (errno == EPIPE) return code;
  std::string ignored;
  report(
      {error("E0708", fmt::format("stdout: cannot be written: {}", std::strerror(errno))).value()},
      nullptr, false, false, ignored);
  return code == 0 ? static_cast<int>(Exit::bad_input) : code;
}

int finish(const Diagnostics& errors, const Source* source, const Environment& e, bool json,
           std::string out) {
  report(errors, source, e.color_err, json, out);
  return flush(out, errors.empty() ? 0 : static_cast<int>(errors[0].exit));
}

int run_command_line(const std::vector<std::string>& arguments) {
  Environment environment = read_environment();
  Parsed parsed = parse_arguments(arguments);
  if (!parsed.errors.empty()) return finish(parsed.errors, nullptr, environment, parsed.json, "");
  if (!parsed.options) return flush(parsed.text, 0);
  Session s(std::move(*parsed.options), std::move(environment));
  for (const Diagnostic& w : s.environment.warnings) s.warn(w);
  if (is_planned(s.options.command))
    return finish({error("E0806", fmt::format("`tang {}` is not built yet", s.options.command),
                         "`tang help` lists the commands that work")
                       .value()},
                  nullptr, s.environment, s.options.json, "");
  const auto done = find_function(s.options.command)(s);
  s.print_times();
  if (!done && !done.error().empty())
    return finish(done.error(), s.source ? &*s.source : nullptr, s.environment, s.options.json,
                  s.options.json ? "" : s.out);
  return flush(s.out, static_cast<int>(s.exit));
}

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  try {
    return run_command_line(arguments);
  } catch (const std::bad_alloc&) {
    std::string out;
    report({error("E0903", "memory ran out", "use smaller sizes, or a machine with more memory",
                  Exit::out_of_memory)
                .value()},
           nullptr, false, json, out);
    return flush(out, static_cast<int>(Exit::out_of_memory));
  }
}

}  // namespace tang::cli
