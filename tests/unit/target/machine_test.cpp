#include "target/machine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "target/table.h"

namespace tang {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Machine& machine(std::string_view name) {
  static const Machine none;
  const auto m = find_machine(name);
  EXPECT_TRUE(m) << (m ? "" : m.error().message);
  return m ? **m : none;
}

TEST(Machines, Shipped) {
  ASSERT_TRUE(shipped_machines()) << shipped_machines().error().where.line << ": "
                                  << shipped_machines().error().message;
  std::vector<std::string> names;
  for (const Machine& m : *shipped_machines()) {
    names.push_back(m.name);
    EXPECT_GT(m.vector_bytes, 0) << m.name;
    EXPECT_GT(m.registers, 0) << m.name;
    EXPECT_GT(m.l1_bytes, 0) << m.name;
    EXPECT_GT(m.memory_rate, 0) << m.name;
    EXPECT_LE(m.shared_bytes, m.core_shared_bytes) << m.name;
    for (const Machine::Peak& p : m.peaks) EXPECT_TRUE(m.computes(p.format)) << m.name;
  }
  EXPECT_THAT(names, ElementsAre("cpu.avx2", "cpu.portable", "gpu.portable", "nvidia.sm80",
                                 "nvidia.sm90a", "nvidia.sm100"));
}

TEST(Machines, Hopper) {
  const Machine& m = machine("nvidia.sm90a");
  EXPECT_EQ(m.shared_bytes, 232448);
  EXPECT_EQ(m.kind, Machine::Kind::gpu);
  EXPECT_EQ(m.peak(Format::bf16), 4096);
  EXPECT_EQ(m.peak(Format::i4), 0);
  EXPECT_FALSE(machine("cpu.avx2").computes(Format::bf16));
}

// The matrix unit's rows are charged what the peak says: 64 × n × k multiply-adds.
TEST(Machines, IssueFollowsThePeak) {
  const Tables& t = *shipped_tables();
  for (const char* name : {"wgmma.m64n256k16.bf16.ss", "wgmma.m64n64k8.tf32.rs",
                           "wgmma.m64n128k32.e4m3.e5m2.ss", "wgmma.m64n48k32.s8.u8.ss"}) {
    const auto f = t.find(name);
    ASSERT_TRUE(f);
    const int64_t operations = 2 * f->sizes[0] * f->sizes[1] * f->sizes[2];
    EXPECT_EQ(f->row->issue_cycles(f->sizes).value() *
                  machine("nvidia.sm90a").peak(f->row->find("a")->formats[0]),
              operations)
        << name;
  }
  for (const char* name :
       {"mma.m16n8k16.bf16", "mma.m16n8k8.f16", "mma.m16n8k8.tf32", "mma.m16n8k32.s8.s8"}) {
    const auto f = t.find(name);
    ASSERT_TRUE(f);
    const int64_t operations = 2 * f->sizes[0] * f->sizes[1] * f->sizes[2];
    EXPECT_EQ(f->row->issue_cycles(f->sizes).value() *
                  machine("nvidia.sm80").peak(f->row->find("a")->formats[0]) / 4,
              operations)
        << name;
  }
}

TEST(Machines, RunWhatTheyHave) {
  const Tables& t = *shipped_tables();
  const Row& wgmma = *t.find("wgmma.m64n8k16.bf16.ss")->row;
  const Row& mma = *t.find("mma.m16n8k16.bf16")->row;
  EXPECT_TRUE(machine("nvidia.sm90a").runs(wgmma));
  EXPECT_FALSE(machine("nvidia.sm100").runs(wgmma));
  EXPECT_FALSE(machine("nvidia.sm80").runs(wgmma));
  EXPECT_TRUE(machine("nvidia.sm80").runs(mma));
  EXPECT_FALSE(machine("cpu.portable").runs(*t.find("fma8")->row));
  EXPECT_TRUE(machine("cpu.portable").runs(*t.find("c.multiply_add8")->row));
}

TEST(Machines, Errors) {
  const auto message = [](const char* text) {
    const auto read = read_machines(text, "m.def");
    return read ? std::string()
                : fmt::format("{}: {}", read.error().where.line, read.error().message);
  };
  EXPECT_THAT(message("row x\n"), HasSubstr("1: a machine is expected"));
  EXPECT_THAT(message("machine x\n  kind tpu\n"), HasSubstr("2: cpu or gpu"));
  EXPECT_THAT(message("machine x\n  wheels 4\n"), HasSubstr("`wheels` is no fact"));
  EXPECT_THAT(message("machine x\n  peak f31 2\n"), HasSubstr("`f31` is no format"));
  EXPECT_THAT(message("machine x\n  peak f32\n"), HasSubstr("operations a cycle"));
  EXPECT_THAT(message("machine x\n  lanes 4 5\n"), HasSubstr("goes on"));
  const auto none = find_machine("nvidia.sm70");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().hint, HasSubstr("cpu.avx2, cpu.portable"));
}

}  // namespace
}  // namespace tang
