#include "probe/bench.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace tang::probe {

namespace {

constexpr size_t memory_bytes = 16 << 20;

}  // namespace

Result<Bench> Bench::open(const Plan& plan, const std::string& folder) {
  auto driver = Driver::open();
  if (!driver) return tl::unexpected(driver.error());
  const auto memory = driver->allocate(memory_bytes);
  if (!memory) return tl::unexpected(memory.error());
  return Bench(plan, folder, std::move(*driver), *memory);
}

Result<std::vector<std::byte>> Bench::run(const Case& c, Memory& m) {
  if (m.before.size() > memory_bytes)
    return error("E0903", "needs too much memory", "", Exit::out_of_memory);
  const auto f = function(c);
  if (!f) return tl::unexpected(f.error());
  m.relocate(memory_);
  if (m.map)
    if (const auto r = driver_.encode(*m.map, m.args.map); !r) return tl::unexpected(r.error());
  const Kernel& k = plan_->kernel(c);
  const Launch l{*f, k.blocks(), k.threads(), k.blocks(), m.shared_bytes, false, &m.args};
  std::vector<std::byte> found(m.before.size());
  Result<void> r = driver_.write(memory_, m.before);
  if (r) r = driver_.launch(l);
  if (r) r = driver_.wait();
  if (r) r = driver_.read(memory_, found);
  if (r) return found;
  alive_ = false;
  return tl::unexpected(r.error());
}

void Bench::show_progress() {
  std::printf("progress\n");
  std::fflush(stdout);
}

Result<void*> Bench::question(const std::string& name) {
  const auto m = module("questions.cubin");
  if (!m) return m;
  return driver_.function(*m, name);
}

Result<void*> Bench::module(const std::string& file) {
  const auto at = modules_.find(file);
  if (at != modules_.end()) return at->second;
  std::ifstream in(folder_ + "/" + file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  if (bytes.empty()) return error("E0902", "no " + file, "", Exit::no_device);
  const auto m = driver_.load(bytes);
  if (m) modules_[file] = *m;
  return m;
}

Result<void*> Bench::function(const Case& c) {
  const auto at = functions_.find(c.kernel);
  if (at != functions_.end()) return at->second;
  const auto m = module(fmt::format("rows_{:02}.cubin", c.kernel / kernels_per_file));
  if (!m) return m;
  const auto f = driver_.function(*m, plan_->kernel(c).name());
  if (f) functions_[c.kernel] = *f;
  return f;
}

}  // namespace tang::probe
