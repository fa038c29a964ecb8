// The tang cache: what is kept between runs.
#include "run/cache.h"

#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/text.h"

namespace tang::cli {

namespace {

struct Action {
  const char* name;
  const char* done;  // the key under --json and the word before the numbers; "" for info
  bool file;
  Result<CacheInfo> (*run)(const std::string& dir, const std::string& file);
};

constexpr Action actions[] = {
    {"info", "", false,
     [](const std::string& dir, const std::string&) -> Result<CacheInfo> {
       return cache_info(dir);
     }},
    {"clear", "removed", false,
     [](const std::string& dir, const std::string&) -> Result<CacheInfo> {
       return cache_clear(dir);
     }},
    {"prune", "removed", false,
     [](const std::string& dir, const std::string&) -> Result<CacheInfo> {
       return cache_prune(dir, std::time(nullptr));
     }},
    {"export", "exported", true, cache_export},
    {"import", "imported", true, cache_import},
};

Outcome<const Action*> find_action(const std::vector<std::string>& words) {
  const std::string name = words.empty() ? "info" : words[0];
  for (const Action& a : actions) {
    if (name != a.name) continue;
    if (words.size() > (a.file ? 2u : 1u))
      return fail(error("E0801", fmt::format("cache {}: there is a word too many", name)).value());
    if (a.file && words.size() < 2)
      return fail(error("E0801", fmt::format("cache {} needs a file", name),
                        fmt::format("write `tang cache {} FILE`", name))
                      .value());
    return &a;
  }
  return fail(error("E0801", fmt::format("cache {}: there is no such action", name),
                    "actions are info, clear, prune, export FILE and import FILE")
                  .value());
}

}  // namespace

Outcome<void> cache_command(Session& s) {
  const auto action = find_action(s.options.words);
  if (!action) return fail(action.error());
  const Action& a = **action;
  const std::string& dir = s.environment.cache_dir;
  if (dir.empty() && a.file)
    return fail(error("E0801", "there is no cache directory", "set TANG_CACHE_DIR").value());
  CacheInfo done;
  if (!dir.empty()) {
    auto ran = a.run(dir, a.file ? s.options.words[1] : "");
    if (!ran) return fail(ran.error());
    done = *ran;
  }
  if (s.options.json) {
    const CacheInfo info = dir.empty() ? CacheInfo{} : cache_info(dir);
    nlohmann::json value = {
        {"schema", 1}, {"dir", dir}, {"entries", info.entries}, {"bytes", info.bytes}};
    if (*a.done) value[a.done] = done.entries;
    s.print_json(value);
    return {};
  }
  s.out += fmt::format("{}  {}{}{} {}, {}\n", dir.empty() ? "no cache directory" : dir, a.done,
                       *a.done ? " " : "", done.entries, done.entries == 1 ? "entry" : "entries",
                       with_unit(static_cast<double>(done.bytes), "B"));
  return {};
}

}  // namespace tang::cli
