#include "examples.h"

#include <set>

#include <gtest/gtest.h>

#include "base/files.h"
#include "front/elaborate.h"
#include "ir/bind.h"
#include "rewrite/pipeline.h"
#include "target/machine.h"

namespace tang {

namespace {

void add(std::vector<ExampleKernels>& all, std::string name, const Graph& g, PlanOptions options,
         const Capability& device) {
  const auto v = make_variant(g, options);
  if (!v) {
    ADD_FAILURE() << name << ": " << v.error().message;
    return;
  }
  auto source = gpu_source(v->program(), {device, false});
  if (source)
    all.push_back({std::move(name), v->program(), std::move(*source)});
  else
    ADD_FAILURE() << name << ": " << source.error().message;
}

}  // namespace

std::vector<std::filesystem::path> example_files() {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("examples"))
    if (entry.path().extension() == ".tang") files.insert(entry.path());
  return {files.begin(), files.end()};
}

PlanOptions plan_options(const Capability& device) {
  PlanOptions options;
  options.machine = limited(**find_machine(device.machine), device.threads, device.shared_bytes,
                            std::max<int64_t>(device.subgroup, 1), device.buffers);
  return options;
}

std::vector<ExampleKernels> example_kernels(const Capability& device, bool naive) {
  const PlanOptions options = plan_options(device);
  std::vector<ExampleKernels> all;
  for (const auto& file : example_files()) {
    auto g = parse(*read_file(file.string(), 1 << 20));
    if (!g || !bind(*g, {.require_all = false}).empty()) {
      ADD_FAILURE() << file << " is not read";
      continue;
    }
    const std::string name = file.stem().string();
    add(all, name + " derived", derive(*g).derived, options, device);
    if (naive) add(all, name + " naive", *g, naive_plan(options), device);
  }
  EXPECT_GE(all.size(), 60U);
  return all;
}

}  // namespace tang
