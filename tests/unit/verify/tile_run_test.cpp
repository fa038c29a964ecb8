// Tile programs of the examples, as written and as derived: their text, what the verifier says, and
// what they compute on the virtual machine.
#include "verify/tile_run.h"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "eval/random_inputs.h"
#include "front/elaborate.h"
#include "ir/bind.h"
#include "ir/reading.h"
#include "loop/machine.h"
#include "rewrite/pipeline.h"
#include "tile/text.h"
#include "tile/verify.h"
#include "verify/check.h"

namespace tang {
namespace {

constexpr double most_work = 1e7;  // terms of a kernel that is run

void expect_text(const tile::Program& tiles) {
  const std::string once = tile::print(tiles);
  const auto again = tile::parse_program(once, "printed");
  ASSERT_TRUE(again) << again.error().where.line << ": " << again.error().message << "\n" << once;
  EXPECT_EQ(tile::print(*again), once);
  for (const tile::Program* p : {&tiles, &*again})
    for (const Diagnostic& fault : tile::verify(*p)) ADD_FAILURE() << fault.message << "\n" << once;
}

void expect_right(const Variant& v, const std::vector<Array*>& inputs) {
  const std::vector<int64_t> params = bound_params(v.graph);
  const auto run = [&](size_t k, std::span<void* const> buffers) -> Result<void> {
    const bool tiled = v.lowered.tiled[k] && tile_work(v, k) <= most_work;
    auto ran = tiled ? run_tile(v, k, buffers)
                     : loop::run(v.program(), v.program().kernels[k], buffers, params);
    if (!ran) ADD_FAILURE() << ran.error().message;
    return {};
  };
  CheckOptions o;
  if (tolerance_of(v.graph) <= default_tolerance(Format::f32)) o.tolerance = 1e-5;
  const auto checked = check_program(v, inputs, {}, run, o);
  ASSERT_TRUE(checked) << checked.error().message;
  if (!checked->ok())
    ADD_FAILURE() << checked->fault->kernel << " at " << checked->fault->at << ": error "
                  << checked->error;
}

void expect_example(const std::string& text) {
  auto parsed = parse(text);
  ASSERT_TRUE(parsed);
  Graph g = std::move(*parsed);
  bind(g, {});
  std::vector<Array> arrays;
  for (TensorId t : inputs_of(g)) arrays.push_back(*random_input(g, t, bound_params(g), 0));
  std::vector<Array*> inputs;
  for (Array& a : arrays) inputs.push_back(&a);
  for (const bool derived : {false, true}) {
    SCOPED_TRACE(derived ? "derived" : "naive");
    const auto v =
        make_variant(derived ? derive(g).derived : g, derived ? PlanOptions{} : naive_plan({}));
    ASSERT_TRUE(v) << v.error().message;
    expect_text(v->lowered.tiles);
    expect_right(*v, inputs);
  }
}

TEST(TileRun, EveryExample) {
  for (const auto& entry : std::filesystem::directory_iterator("examples")) {
    if (entry.path().extension() != ".tang") continue;
    SCOPED_TRACE(entry.path());
    expect_example(*read_file(entry.path(), 1 << 20));
  }
}

}  // namespace
}  // namespace tang
