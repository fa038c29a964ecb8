// The commands that need no program: rules, devices, help.
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/text.h"
#include "run/devices.h"

namespace tang::cli {

namespace {

using nlohmann::json;

struct ErrorRow {
  const char* id;
  const char* title;
  const char* text;
};

constexpr ErrorRow error_rows[] = {
#define TANG_ERROR(id, title, explanation) {id, title, explanation},
#include "base/errors.def"
#undef TANG_ERROR
};

std::string wrapped(const std::string& text, size_t columns) {
  std::string out, line;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line.empty() && width(line) + 1 + width(word) > columns) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return out + line + "\n";
}

Outcome<void> error_help(Session& s, const std::string& id) {
  std::vector<std::string> ids;
  for (const ErrorRow& row : error_rows) {
    ids.emplace_back(row.id);
    if (id != row.id) continue;
    if (s.options.json)
      s.print_json({{"schema", 1}, {"id", id}, {"title", row.title}, {"text", row.text}});
    else
      s.out += fmt::format("{}: {}\n\n{}", id, row.title, wrapped(row.text, 90));
    return {};
  }
  const std::string near = suggestion(id, ids);
  return fail(error("E0802", fmt::format("there is no error `{}`", id),
                    near.empty() ? "ids look like E0402" : near)
                  .value());
}

}  // namespace

Outcome<void> help_command(Session& s) {
  if (s.options.words.empty()) {
    s.out += general_help();
    return {};
  }
  const std::string& topic = s.options.words[0];
  if (topic.size() == 5 && (topic[0] == 'E' || topic[0] == 'W') &&
      std::isdigit(static_cast<unsigned char>(topic[1])))
    return error_help(s, topic);
  if (topic == "man") {
    s.out += man_page();
    return {};
  }
  if (const auto text = command_help(topic)) {
    s.out += *text;
    return {};
  }
  const std::string near = suggestion(topic, command_names());
  return fail(
      error("E0802", fmt::format("there is no command `{}`", topic),
            near.empty() ? "`tang help` lists the commands; errors have ids like E0402" : near)
          .value());
}

Outcome<void> rules_command(Session& s) {
  json list = json::array();
  std::vector<std::vector<std::string>> rows = {{"rule", "law", "theorem", "test", ""}};
  for (const Rule& r : rules()) {
    list.push_back({{"rule", r.name},
                    {"law", r.law},
                    {"theorem", ""},
                    {"test", r.test},
                    {"exact", r.exact},
                    {"summary", r.summary}});
    rows.push_back({std::string(r.name), std::string(r.law), "–", std::string(r.test),
                    std::string(r.summary)});
  }
  if (s.options.json)
    s.print_json({{"schema", 1}, {"rules", list}});
  else
    s.out += table(rows, "lllll");
  return {};
}

Outcome<void> devices_command(Session& s) {
  json list = json::array();
  std::vector<std::vector<std::string>> rows = {{"device", "name", "memory", "threads"}};
  const double memory = static_cast<double>(memory_limit());
  const auto add = [&](const std::string& device, const std::string& name, int threads) {
    list.push_back({{"device", device},
                    {"name", name},
                    {"limits", {{"memory_bytes", memory_limit()}, {"threads", threads}}},
                    {"features", {"f64", "f16", "i64"}}});
    rows.push_back({device, name, with_unit(memory, "B"), fmt::format("{}", threads)});
  };
  if (const auto cc = find_compiler("", s.environment.path, s.environment.temp_dir))
    add("c", cc->version.substr(0, cc->version.find('\n')), 1);
  for (const std::string& name : driver_names()) {
    const auto gpu = s.gpu(name);
    if (!gpu) continue;
    const GpuDriver& driver = (*gpu)->driver();
    const Capability& c = driver.capability();
    json features = json::array();
    for (const auto& [word, has] :
         {std::pair("f64", c.f64), std::pair("f16", c.f16), std::pair("i64", c.i64),
          std::pair("subgroups", c.subgroup > 0)})
      if (has) features.push_back(word);
    list.push_back({{"device", name},
                    {"name", c.device},
                    {"limits",
                     {{"memory_bytes", driver.memory_bytes()},
                      {"threads", c.threads},
                      {"shared_bytes", c.shared_bytes},
                      {"buffers", c.buffers},
                      {"binding_bytes", c.binding_bytes},
                      {"groups", c.groups},
                      {"subgroup", c.subgroup}}},
                    {"features", features}});
    rows.push_back({name, c.device,
                    driver.memory_bytes() > 0
                        ? with_unit(static_cast<double>(driver.memory_bytes()), "B")
                        : "–",
                    fmt::format("{}", c.threads)});
  }
  add("oracle", "the f64 interpreter",
      static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  if (s.options.json)
    s.print_json({{"schema", 1}, {"devices", list}});
  else
    s.out += table(rows, "llrr");
  return {};
}

}  // namespace tang::cli
