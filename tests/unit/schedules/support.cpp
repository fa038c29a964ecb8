#include "unit/schedules/support.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "eval/random_inputs.h"
#include "front/elaborate.h"
#include "ir/bind.h"
#include "loop/machine.h"
#include "rewrite/pipeline.h"
#include "schedule/text.h"
#include "verify/check.h"

namespace tang::test {

Pinning::Pinning(const std::string& text, PlanOptions options) : options_(std::move(options)) {
  auto parsed = parse(text);
  if (!parsed) {
    ADD_FAILURE() << text << "\n" << parsed.error()[0].message;
    return;
  }
  Graph g = std::move(*parsed);
  bind(g, {});
  for (TensorId t : inputs_of(g))
    if (auto array = random_input(g, t, bound_params(g), 0)) arrays_.push_back(std::move(*array));
  derived_ = derive(g, {.keep_texts = false}).derived;
}

Result<Variant> Pinning::variant(const std::string& kernels) const {
  const auto fields = nlohmann::json::parse(kernels, nullptr, false);
  EXPECT_FALSE(fields.is_discarded()) << kernels;
  PlanOptions options = options_;
  auto pins = read_pins(fields, "s.json");
  if (!pins) return tl::unexpected(pins.error());
  options.pins = std::move(*pins);
  return make_variant(derived_, options);
}

std::string Pinning::message(const std::string& kernels) const {
  const auto v = variant(kernels);
  if (v) return "";
  EXPECT_EQ(v.error().id, "E0805") << v.error().message;
  EXPECT_EQ(v.error().exit, Exit::bad_input);
  EXPECT_NE(v.error().hint, "") << v.error().message;
  return v.error().message;
}

void Pinning::expect_right(const std::string& kernels) const {
  const auto v = variant(kernels);
  ASSERT_TRUE(v) << kernels << "\n" << v.error().message << "\n" << v.error().hint;
  expect_right(*v, kernels);
}

void Pinning::expect_right(const Variant& v, const std::string& what) const {
  const std::vector<int64_t> params = bound_params(v.graph);
  std::vector<Array*> inputs;
  for (Array& a : arrays_) inputs.push_back(&a);
  const auto run = [&](size_t k, std::span<void* const> buffers) {
    return loop::run(v.program(), v.program().kernels[k], buffers, params);
  };
  CheckOptions o;
  o.tolerance = 1e-5;
  const auto prepare = [&](std::span<void* const>, std::span<void* const> buffers) -> Result<void> {
    for (const loop::Kernel& kernel : v.program().prepares)
      if (auto ran = loop::run(v.program(), kernel, buffers, params); !ran) return ran;
    return {};
  };
  const auto checked = check_program(v, inputs, {}, run, o, prepare);
  ASSERT_TRUE(checked) << what << "\n" << checked.error().message;
  if (!checked->ok())
    ADD_FAILURE() << what << "\n"
                  << checked->fault->kernel << " at " << checked->fault->at << ": error "
                  << checked->error;
}

std::string Pinning::planned() const {
  const auto v = make_variant(derived_, options_);
  return v ? kernels_text(*v) : v.error().message;
}

std::string kernels_text(const Variant& v) {
  nlohmann::json all = nlohmann::json::object();
  for (const KernelPlan& k : v.schedule.kernels) all[k.name] = to_json(v.graph, k);
  return all.dump();
}

}  // namespace tang::test
