// The derivation, a step at a time, and what nearly applied.
#include <fmt/format.h>

#include "cli/report.h"
#include "cli/report_text.h"

namespace tang::cli {

namespace {

constexpr size_t most_open = 12;  // steps that are unfolded at first

const Rule* find_rule(const std::string& name) {
  for (const Rule& r : rules())
    if (r.name == name) return &r;
  return nullptr;
}

std::string definitions(const std::vector<std::string>& texts, const char* kind) {
  std::string out;
  for (const std::string& t : texts)
    out += fmt::format("<pre class=\"{}\"><code>{}</code></pre>\n", kind, highlighted(t, "#"));
  return out;
}

std::string step(const LogEntry& e, bool open) {
  const Rule* rule = find_rule(e.rule);
  return filled("step.html", {{"open", open ? " open" : ""},
                              {"rule", escape(e.rule)},
                              {"summary", escape(e.summary)},
                              {"meaning", rule ? escape(rule->summary) : ""},
                              {"law", escape(e.law)},
                              {"before", definitions(e.before, "before")},
                              {"after", definitions(e.after, "after")}});
}

std::string near_misses(const std::vector<NearMiss>& near) {
  if (near.empty()) return "<p class=\"note\">No other rule nearly applied.</p>\n";
  std::vector<std::vector<std::string>> rows = {{"rule", "definition", "what stood in its way"}};
  for (const NearMiss& m : near)
    rows.push_back({"<code>" + escape(m.rule) + "</code>", "<code>" + escape(m.node) + "</code>",
                    escape(m.condition)});
  return folded(counted(near.size(), "rewrite") + " that nearly applied", html_table(rows, "lll"));
}

}  // namespace

std::string derivation_section(const Report& r) {
  const std::vector<LogEntry>& log = r.derivation.log;
  if (log.empty())
    return "<p>No rule applies: the program is as good as derived.</p>\n" +
           near_misses(r.derivation.near);
  std::string out = "<ol class=\"steps\">\n";
  for (const LogEntry& e : log) out += step(e, log.size() <= most_open);
  return out + "</ol>\n" + near_misses(r.derivation.near);
}

}  // namespace tang::cli
