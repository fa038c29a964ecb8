#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "probe/question.h"
#include "probe/run.h"

namespace tang::probe {

namespace {

class Runner {
 public:
  Runner(const Plan& plan, const RunOptions& options, Bench bench)
      : plan_(plan), options_(options), bench_(std::move(bench)) {}

  // False where the context is lost.
  bool run(size_t number) {
    std::printf("begin %zu\n", number);
    std::fflush(stdout);
    if (number >= plan_.cases.size()) return ask(number);
    const Case& c = plan_.cases[number];
    if (!options_.only.empty() && row_name(c).find(options_.only) == std::string::npos) return true;
    nlohmann::json j;
    j["row"] = row_name(c);
    j["sizes"] = plan_.sizes(c);
    j["major"] = plan_.majors(c);
    j["swizzle"] = plan_.swizzles(c);
    j["format"] = name(plan_.format(c, plan_.kernel(c).row->operands[0]));
    j["operands"] = operands(c);
    bool alive = true;
    const std::string wrong = outcome(c, alive);
    j["ok"] = wrong.empty();
    j["what"] = wrong;
    write(number, j);
    return alive;
  }

 private:
  std::string row_name(const Case& c) const { return plan_.kernel(c).row->name_at(c.sizes); }

  void write(size_t number, nlohmann::json& j) {
    j["schema"] = 1;
    j["device"] = bench_.driver().device_name();
    std::printf("result %zu %s\n", number, j.dump().c_str());
    std::fflush(stdout);
  }

  std::string operands(const Case& c) const {
    std::string text(name(c.pattern));
    const Kernel& k = plan_.kernel(c);
    for (size_t i = 0; i < k.row->operands.size(); ++i)
      if (k.sign[i] < 0) text += fmt::format(", -{}", k.row->operands[i].name);
    if (c.by != 0) text += fmt::format(", by {}", c.by);
    if (c.bytes != 0) text += fmt::format(", {} bytes", c.bytes);
    const auto list = [](const Point& p) {
      std::string s;
      for (int64_t x : p) s += fmt::format("{}{}", s.empty() ? "" : " ", x);
      return s;
    };
    if (!c.extents.empty())
      text += fmt::format(", box at ({}) of ({})", list(c.at), list(c.extents));
    if (c.nan_fill) text += ", fill NaN";
    return text;
  }

  // What is wrong; empty if nothing.
  std::string outcome(const Case& c, bool& alive) {
    auto m = make_memory(plan_, c);
    if (!m) return "table: " + m.error().message;
    const auto found = bench_.run(c, *m);
    if (!found) {
      alive = bench_.alive();
      return found.error().message;
    }
    const auto status = static_cast<int>((*found)[m->args.status - bench_.memory()]);
    if (status == 1) return "the barrier never completed";
    if (status == 2) return "shared memory is not aligned";
    return m->difference(*found);
  }

  bool ask(size_t number) {
    const Question& q = questions()[number - plan_.cases.size()];
    if (!options_.only.empty() && q.name.find(options_.only) == std::string::npos) return true;
    auto found = q.ask(bench_);
    bool alive = found.has_value();
    if (!alive) found = std::vector<Finding>{{q.name, "", false, found.error().message}};
    for (const Finding& f : *found) {
      nlohmann::json j;
      j["question"] = q.name;
      j["row"] = f.row;
      j["sizes"] = f.sizes;
      j["ok"] = f.ok;
      j["what"] = f.what;
      if (!f.data.empty()) j["data"] = f.data;
      write(number, j);
      alive &= !f.lost;
    }
    return alive;
  }

  const Plan& plan_;
  const RunOptions& options_;
  Bench bench_;
};

}  // namespace

Result<void> run_here(const Plan& plan, const RunOptions& options) {
  auto bench = Bench::open(plan, options.folder);
  if (!bench) return tl::unexpected(bench.error());
  Runner runner(plan, options, std::move(*bench));
  for (size_t k = options.from; k < options.to; ++k)
    if (!runner.run(k)) return error("E0902", "the context is lost", "", Exit::no_device);
  return {};
}

}  // namespace tang::probe
