// The row probe's generator, as far as it can be seen without a GPU.
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "probe/memory.h"
#include "probe/sum_model.h"
#include "support/temp_dir.h"

namespace tang::probe {
namespace {

const Plan& plan() {
  static const Plan p = make_plan(*shipped_tables());
  return p;
}

TEST(Probe, HasCasesForEveryRow) {
  std::set<std::string> probed, names;
  for (const Case& c : plan().cases) probed.insert(plan().kernel(c).row->name);
  for (const Row& row : shipped_tables()->rows)
    if (row.needs.starts_with("sm")) EXPECT_TRUE(probed.contains(row.name)) << row.name;
  for (const Kernel& k : plan().kernels) EXPECT_TRUE(names.insert(k.name()).second) << k.name();
}

TEST(Probe, CoversLayoutsAndSizesOfProducts) {
  std::set<std::string> seen;
  for (const Case& c : plan().cases)
    if (plan().kernel(c).row->name == "wgmma.m64n{n}k16.bf16.ss")
      seen.insert(plan().sizes(c) + ": " + plan().majors(c) + ": " + plan().swizzles(c));
  EXPECT_EQ(seen.size(), 4u * 64);  // sizes; two majors and four swizzles of each operand
  EXPECT_TRUE(seen.contains("m 64, n 176, k 16: a m, b k: a 128, b 0"));
}

TEST(Probe, ImagesFollowTheTable) {
  for (size_t k = 0; k < plan().cases.size(); k += 29) {
    const Case& c = plan().cases[k];
    const auto m = make_memory(plan(), c);
    ASSERT_TRUE(m) << plan().kernel(c).name() << ": " << m.error().message;
    EXPECT_EQ(m->before.size(), m->after.size());
    EXPECT_TRUE(m->difference(m->after).empty());
    const Row& row = *plan().kernel(c).row;
    const bool outside = !c.at.empty() && c.at[0] > c.extents[0];
    if (row.computes.result && !outside)
      EXPECT_FALSE(m->difference(m->before).empty()) << plan().kernel(c).name();
  }
}

TEST(Probe, KernelsCompile) {
  const std::string nvcc = "/usr/local/cuda/bin/nvcc";
  if (std::system((nvcc + " --version > /dev/null 2>&1").c_str()) != 0) GTEST_SKIP() << "no nvcc";
  std::vector<Kernel> some;
  std::set<std::string> rows;
  for (const Kernel& k : plan().kernels)
    if (rows.insert(k.row->text.substr(0, 14)).second) some.push_back(k);
  const TempDir dir;
  const std::string source = dir.write("some.cu", file_text(some));
  const int rc = std::system((nvcc + " -arch=sm_90a -std=c++17 -cubin -I bench/probe -o " +
                              (dir / "some.cubin") + " " + source + " > " + (dir / "log") + " 2>&1")
                                 .c_str());
  EXPECT_EQ(rc, 0) << dir.read("log").substr(0, 4000);
}

// What was seen on the hardware: terms cut at 25 bits of the largest, the result cut.
TEST(SumModel, CutsTerms) {
  const SumModel m;
  const auto onto = [&](double d, const std::vector<Factor>& terms) {
    return sum(m, d, terms, 24, -126);
  };
  EXPECT_EQ(onto(1, {{1.5, 0x1p-24}}), 1);
  EXPECT_EQ(onto(1, {{1.5, 0x1p-23}}), 1 + 0x1p-23);
  EXPECT_EQ(onto(1, {{-1, 0x1p-25}}), 1 - 0x1p-24);
  EXPECT_EQ(onto(1, {{-1, 0x1p-26}}), 1);
  EXPECT_EQ(onto(1, {{1, 0x1p-24}, {1, 0x1p-24}}), 1 + 0x1p-23);
  EXPECT_EQ(onto(1, std::vector<Factor>(8, {1, 0x1p-26})), 1);
  EXPECT_EQ(onto(1, {{1, 0x1p24}, {-1, 0x1p24}, {1, 0.25}}), 1);
  SumModel narrow;
  narrow.bits = 13;
  EXPECT_EQ(sum(narrow, 4096.125, {{0, 0}}, 24, -126), 4096);
}

}  // namespace
}  // namespace tang::probe
