// Kernels that differ in names only are emitted once, and each call has its own buffers.
#include "loop/same.h"

#include "emit/c_source.h"
#include "harness.h"

namespace tang {
namespace {

using loop::BufferId;
using loop::Builder;
using loop::Role;
using loop::Value;

// to = from + add, under names of its own.
void plus(Builder& p, const std::string& name, BufferId to, BufferId from, float add) {
  p.begin_kernel(name);
  p.for_("i_" + name, p.integer(0), p.integer(4),
         [&](Value i) { p.store(to, i, p.let("t_" + name, p.add(p.load(from, i), p.f32(add)))); });
  p.end_kernel();
}

TEST(SameKernels, AreOneFunction) {
  Builder p;
  const auto input = [&](const char* name) { return p.buffer(name, Format::f32, 4, Role::input); };
  const auto output = [&](const char* name, Format f) {
    return p.buffer(name, f, 4, Role::output);
  };
  const BufferId x = input("x"), z = input("z");
  const BufferId a = output("a", Format::f32), b = output("b", Format::f32);
  const BufferId c = output("c", Format::f32), d = output("d", Format::f64);
  plus(p, "first", a, x, 1);
  plus(p, "again", b, z, 1);
  plus(p, "other", c, x, 2);  // another constant
  p.begin_kernel("wide");     // another format
  p.for_("i", p.integer(0), p.integer(4),
         [&](Value i) { p.store(d, i, p.cast(loop::Type::f64, p.load(a, i))); });
  p.end_kernel();
  const LoopProgram program = *p.finish();
  EXPECT_EQ(loop::first_of_each(program), (std::vector<size_t>{0, 0, 2, 3}));
  EXPECT_EQ(loop::buffers_in_order(program.kernels[1]), (std::vector<BufferId>{z, b}));
  const std::string source = c_source(program);
  EXPECT_NE(source.find("static void first("), std::string::npos);
  EXPECT_EQ(source.find("static void again("), std::string::npos);
  for (const CompileOptions& options : variants()) {
    const auto executable = compile(program, options);
    float xs[] = {1, 2, 3, 4}, zs[] = {10, 20, 30, 40}, as[4], bs[4], cs[4];
    double ds[4];
    ASSERT_TRUE(run(*executable, {xs, zs, as, bs, cs, ds}));
    for (size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(as[k], xs[k] + 1);
      EXPECT_EQ(bs[k], zs[k] + 1);
      EXPECT_EQ(cs[k], xs[k] + 2);
      EXPECT_EQ(ds[k], xs[k] + 1);
    }
  }
}

// Whether buffers share memory decides what a compiler may assume.
TEST(SameKernels, SharedMemoryIsADifference) {
  Builder p;
  const BufferId x = p.buffer("x", Format::f32, 4, Role::input);
  const BufferId y = p.buffer("y", Format::f32, 4, Role::input);
  const BufferId a = p.output_into("a", x);
  const BufferId b = p.buffer("b", Format::f32, 4, Role::output);
  plus(p, "apart", b, y, 1);
  plus(p, "in_place", a, x, 1);
  EXPECT_EQ(loop::first_of_each(*p.finish()), (std::vector<size_t>{0, 1}));
}

}  // namespace
}  // namespace tang
