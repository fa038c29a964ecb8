#include "cli/environment.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "ir/bind.h"

extern char** environ;

namespace tang::cli {

namespace {

const std::vector<std::string>& known() {
  static const std::vector<std::string> names = {
      "TANG_DEVICE", "TANG_CACHE_DIR", "TANG_CACHE",     "TANG_DEBUG",
      "TANG_LOG",    "TANG_INTERPRET", "TANG_TEST_DATA", "TANG_WEBGPU_LIBRARY"};
  return names;
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

void warn(Environment& e, std::string message, std::string hint) {
  e.warnings.push_back(error("W0801", std::move(message), std::move(hint), Exit::ok).value());
}

void find_unknown(Environment& e) {
  std::vector<std::string> names;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("TANG_")) continue;
    const std::string name(text.substr(0, text.find('=')));
    if (std::find(known().begin(), known().end(), name) == known().end()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names)
    warn(e, fmt::format("the variable {} is unknown and has no effect", name),
         suggestion(name, known()));
}

bool is_switch(Environment& e, const char* name, bool otherwise) {
  const auto value = variable(name);
  if (!value) return otherwise;
  if (*value == "0" || *value == "1") return *value == "1";
  warn(e, fmt::format("{}={} is ignored: it is 0 or 1", name, *value), "");
  return otherwise;
}

void read_debug(Environment& e) {
  if (const auto value = variable("TANG_DEBUG")) {
    if (value->size() == 1 && (*value)[0] >= '0' && (*value)[0] <= '7')
      e.debug = (*value)[0] - '0';
    else
      warn(e, fmt::format("TANG_DEBUG={} is ignored: it is 0 to 7", *value), "");
  }
  const std::string list = variable("TANG_LOG").value_or("");
  std::vector<std::string> names;
  for (const Channel& c : channels()) names.emplace_back(c.name);
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (std::find(names.begin(), names.end(), word) != names.end())
      e.log.insert(word);
    else
      warn(e, fmt::format("TANG_LOG: there is no channel `{}`", word),
           fmt::format("channels are {}", fmt::join(names, ", ")));
  }
}

std::string cache_dir() {
  if (const auto dir = variable("TANG_CACHE_DIR")) return *dir;
  if (const auto dir = variable("XDG_CACHE_HOME")) return *dir + "/tang";
  if (const auto home = variable("HOME")) return *home + "/.cache/tang";
  return "";
}

}  // namespace

const std::vector<Channel>& channels() {
  static const std::vector<Channel> list = {
      {"passes", 1, "passes and times"}, {"rewrites", 2, "rewrites"},
      {"graphs", 3, "graphs"},           {"schedules", 4, "schedules"},
      {"tiles", 5, "tile programs"},     {"loops", 6, "loop programs"},
      {"sources", 7, "kernel sources"}};
  return list;
}

Environment read_environment() {
  Environment e;
  e.device = variable("TANG_DEVICE");
  e.cache_dir = cache_dir();
  e.use_cache = is_switch(e, "TANG_CACHE", true) && !e.cache_dir.empty();
  e.webgpu_library = variable("TANG_WEBGPU_LIBRARY").value_or("");
  e.interpret = is_switch(e, "TANG_INTERPRET", false);
  const bool plain = variable("NO_COLOR").has_value();
  e.color_out = !plain && isatty(STDOUT_FILENO);
  e.color_err = !plain && isatty(STDERR_FILENO);
  e.path = variable("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  e.temp_dir = variable("TMPDIR").value_or("/tmp");
  read_debug(e);
  find_unknown(e);
  return e;
}

}  // namespace tang::cli
