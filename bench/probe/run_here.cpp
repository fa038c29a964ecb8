#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "probe/question.h"
#include "probe/run.h"

namespace tang::probe {

namespace {

constexpr size_t memory_bytes = 16 << 20;

class Runner {
 public:
  Runner(const Plan& plan, const RunOptions& options, Driver driver, uint64_t memory)
      : plan_(plan), options_(options), d_(std::move(driver)), memory_(memory) {}

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
    j["device"] = d_.device_name();
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

  Result<void*> module(const std::string& file) {
    const auto at = modules_.find(file);
    if (at != modules_.end()) return at->second;
    std::ifstream in(options_.folder + "/" + file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    if (bytes.empty()) return error("E0902", "no " + file, "", Exit::no_device);
    const auto m = d_.load(bytes);
    if (m) modules_[file] = *m;
    return m;
  }

  Result<void*> function(const Case& c) {
    const auto at = functions_.find(c.kernel);
    if (at != functions_.end()) return at->second;
    const auto m = module(fmt::format("rows_{:02}.cubin", c.kernel / kernels_per_file));
    if (!m) return m;
    const auto f = d_.function(*m, plan_.kernel(c).name());
    if (f) functions_[c.kernel] = *f;
    return f;
  }

  // What is wrong; empty if nothing.
  std::string outcome(const Case& c, bool& alive) {
    auto m = make_memory(plan_, c);
    if (!m) return "table: " + m.error().message;
    if (m->before.size() > memory_bytes) return "needs too much memory";
    const auto f = function(c);
    if (!f) return f.error().message;
    m->relocate(memory_);
    if (m->map)
      if (const auto r = d_.encode(*m->map, m->args.map); !r) return r.error().message;
    const Kernel& k = plan_.kernel(c);
    Launch l{*f, k.blocks(), k.threads(), k.blocks(), m->shared_bytes, false, &m->args};
    std::vector<std::byte> found(m->before.size());
    Result<void> r = d_.write(memory_, m->before);
    if (r) r = d_.launch(l);
    if (r) r = d_.wait();
    if (r) r = d_.read(memory_, found);
    if (!r) {
      alive = false;
      return r.error().message;
    }
    const auto status = static_cast<int>(found[m->args.status - memory_]);
    if (status == 1) return "the barrier never completed";
    if (status == 2) return "shared memory is not aligned";
    return m->difference(found);
  }

  bool ask(size_t number) {
    const Question& q = questions()[number - plan_.cases.size()];
    if (!options_.only.empty() && q.name.find(options_.only) == std::string::npos) return true;
    const auto m = module("questions.cubin");
    auto found = m ? q.ask(d_, *m) : tl::unexpected(m.error());
    const bool alive = found.has_value();
    if (!alive) found = std::vector<Finding>{{q.name, "", false, found.error().message}};
    for (const Finding& f : *found) {
      nlohmann::json j;
      j["question"] = q.name;
      j["row"] = f.row;
      j["sizes"] = f.sizes;
      j["ok"] = f.ok;
      j["what"] = f.what;
      write(number, j);
    }
    return alive;
  }

  const Plan& plan_;
  const RunOptions& options_;
  Driver d_;
  uint64_t memory_;
  std::map<std::string, void*> modules_;
  std::map<size_t, void*> functions_;
};

}  // namespace

Result<void> run_here(const Plan& plan, const RunOptions& options) {
  auto driver = Driver::open();
  if (!driver) return tl::unexpected(driver.error());
  const auto memory = driver->allocate(memory_bytes);
  if (!memory) return tl::unexpected(memory.error());
  Runner runner(plan, options, std::move(*driver), *memory);
  for (size_t k = options.from; k < options.to; ++k)
    if (!runner.run(k)) return error("E0902", "the context is lost", "", Exit::no_device);
  return {};
}

}  // namespace tang::probe
