// The shipped tables read, and their rows are what they say.
#include "target/table.h"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tang {
namespace {

using testing::HasSubstr;

const Tables& shipped() {
  const Result<Tables>& t = shipped_tables();
  static const Tables none;
  EXPECT_TRUE(t) << t.error().where.file << ":" << t.error().where.line << ": "
                 << t.error().message;
  return t ? *t : none;
}

Tables::Found found(std::string_view name) {
  const auto f = shipped().find(name);
  EXPECT_TRUE(f) << name << ": " << (f ? "" : f.error().message);
  return f ? *f : Tables::Found{};
}

// The least, a middle and the largest value of each axis, together.
std::vector<Sizes> some_sizes(const Row& row) {
  std::vector<Sizes> all(3);
  for (const SizedAxis& axis : row.axes) {
    const std::vector<int64_t> values = axis.sizes.values();
    all[0].push_back(values.front());
    all[1].push_back(values[values.size() / 2]);
    all[2].push_back(values.back());
  }
  return all;
}

Placement holds(std::string_view name, std::string_view operand) {
  const Tables::Found f = found(name);
  if (!f.row) return {};
  const auto p = f.row->holds(*f.row->find(operand), f.sizes);
  EXPECT_TRUE(p) << name << " " << operand << ": " << (p ? "" : p.error().message);
  return p ? *p : Placement{};
}

TEST(Tables, Read) {
  EXPECT_GT(shipped().rows.size(), 200u);
  std::set<std::string> names;
  for (const Row& row : shipped().rows) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST(Tables, RegistersHoldEveryElementOnce) {
  for (const Row& row : shipped().rows)
    for (const Operand& o : row.operands) {
      if (o.spaces[0] != Space::reg) continue;
      for (const Sizes& sizes : some_sizes(row)) {
        const auto p = row.holds(o, sizes);
        ASSERT_TRUE(p) << row.name << ": " << p.error().message;
        EXPECT_TRUE(p->is_bijective()) << row.name_at(sizes) << " " << o.name;
        EXPECT_EQ(p->box(), row.box(o, sizes)) << row.name_at(sizes) << " " << o.name;
      }
    }
}

// Each address is that of different elements, and together they are all.
TEST(Tables, AddressesCoverTheTile) {
  int count = 0;
  for (const Row& row : shipped().rows)
    for (const Operand& o : row.operands) {
      if (!o.addresses) continue;
      for (const Sizes& sizes : some_sizes(row)) {
        const auto p = row.addresses(o, sizes);
        ASSERT_TRUE(p) << row.name << ": " << p.error().message;
        EXPECT_TRUE(p->is_bijective()) << row.name_at(sizes);
        const Point box = row.box(o, sizes);
        int64_t bytes = info(o.formats[0]).bits / 8;
        for (int64_t e : box) bytes *= e;
        EXPECT_EQ(p->positions() * o.bytes_per_address, bytes) << row.name_at(sizes);
        ++count;
      }
    }
  EXPECT_GT(count, 0);
}

// A register is 32 bits of a GPU's thread, and a row's elements fill it.
TEST(Tables, ElementsFillRegisters) {
  for (const Row& row : shipped().rows)
    for (const Operand& o : row.operands) {
      if (o.spaces[0] != Space::reg || !row.needs.starts_with("sm")) continue;
      const auto p = row.holds(o, some_sizes(row)[0]);
      ASSERT_TRUE(p);
      EXPECT_EQ(p->count(Level::elem) * info(o.formats[0]).bits,
                info(o.formats[0]).bits == 64 ? 64 : 32)
          << row.name << " " << o.name;
      EXPECT_EQ(p->count(Level::warp), row.scope == Scope::warpgroup ? 4 : 1) << row.name;
      EXPECT_EQ(p->count(Level::lane), row.scope == Scope::thread ? 1 : 32) << row.name;
    }
}

TEST(Tables, CostsAreNumbers) {
  for (const Row& row : shipped().rows)
    for (const Sizes& sizes : some_sizes(row)) {
      const auto issue = row.issue_cycles(sizes), latency = row.latency_cycles(sizes);
      ASSERT_TRUE(issue && latency) << row.name;
      EXPECT_GT(*issue, 0) << row.name;
      EXPECT_GE(*latency, 0) << row.name;
    }
}

TEST(Tables, NamesAreFoundWithTheirSizes) {
  for (const Row& row : shipped().rows)
    for (const Sizes& sizes : some_sizes(row)) {
      const Tables::Found f = found(row.name_at(sizes));
      EXPECT_EQ(f.row, &row) << row.name_at(sizes);
    }
  const Tables::Found f = found("wgmma.m64n176k16.bf16.ss");
  EXPECT_EQ(f.sizes, (Sizes{64, 176, 16}));
}

TEST(Tables, SizesThatThereAreNot) {
  for (const char* name :
       {"wgmma.m64n40k32.s8.s8.ss", "wgmma.m64n56k32.u8.s8.rs", "wgmma.m64n168k32.s8.u8.ss",
        "wgmma.m64n264k16.bf16.ss", "wgmma.m64n12k16.bf16.ss", "wgmma.m64n0k8.tf32.ss",
        "mma.m16n8k32.bf16", "ldmatrix.x3.b16"}) {
    const auto f = shipped().find(name);
    ASSERT_FALSE(f) << name;
    EXPECT_EQ(f.error().id, "E0910");
    EXPECT_THAT(f.error().message, HasSubstr("has no")) << name;
  }
  EXPECT_THAT(shipped().find("wgmma.m64n40k32.s8.s8.ss").error().hint,
              HasSubstr("n 8 16 24 32 48..256/16"));
  EXPECT_FALSE(shipped().find("wgmma.m64n64k16.bf17.ss"));
  for (int n : {8, 16, 24, 32, 48, 64, 240, 256})
    EXPECT_TRUE(shipped().find(fmt::format("wgmma.m64n{}k32.s8.s8.ss", n))) << n;
}

// ---- the maps of the fragments, digit for digit
// ----------------------------------------------------

struct Fragment {
  const char* row;
  const char* operand;
  // (row, column) of warp w, lane 4g + t, element e and register r.
  Point (*at)(int64_t w, int64_t g, int64_t t, int64_t e, int64_t r);
};

using I = int64_t;

const Fragment fragments[] = {
    {"wgmma.m64n176k16.bf16.ss", "d",
     [](I w, I g, I t, I, I r) {
       return Point{16 * w + g + 8 * (r / 2 % 2), 2 * t + r % 2 + 8 * (r / 4)};
     }},
    {"wgmma.m64n256k32.e4m3.e5m2.rs", "d",
     [](I w, I g, I t, I, I r) {
       return Point{16 * w + g + 8 * (r / 2 % 2), 2 * t + r % 2 + 8 * (r / 4)};
     }},
    {"wgmma.m64n48k32.u8.s8.ss", "d",
     [](I w, I g, I t, I, I r) {
       return Point{16 * w + g + 8 * (r / 2 % 2), 2 * t + r % 2 + 8 * (r / 4)};
     }},
    {"wgmma.m64n64k16.f16.f16.ss", "d",
     [](I w, I g, I t, I e, I r) {
       return Point{16 * w + g + 8 * (r % 2), 2 * t + e + 8 * (r / 2)};
     }},
    {"wgmma.m64n8k16.bf16.rs", "a",
     [](I w, I g, I t, I e, I r) {
       return Point{16 * w + g + 8 * (r % 2), 2 * t + e + 8 * (r / 2)};
     }},
    {"wgmma.m64n8k8.tf32.rs", "a",
     [](I w, I g, I t, I, I r) {
       return Point{16 * w + g + 8 * (r % 2), t + 4 * (r / 2)};
     }},
    {"wgmma.m64n8k32.s8.u8.rs", "a",
     [](I w, I g, I t, I e, I r) {
       return Point{16 * w + g + 8 * (r % 2), 4 * t + e + 16 * (r / 2)};
     }},
    {"mma.m16n8k16.bf16", "a",
     [](I, I g, I t, I e, I r) {
       return Point{g + 8 * (r % 2), 2 * t + e + 8 * (r / 2)};
     }},
    {"mma.m16n8k16.f16", "b",
     [](I, I g, I t, I e, I r) {
       return Point{g, 2 * t + e + 8 * r};
     }},
    {"mma.m16n8k8.bf16", "a",
     [](I, I g, I t, I e, I r) {
       return Point{g + 8 * r, 2 * t + e};
     }},
    {"mma.m16n8k8.bf16", "b",
     [](I, I g, I t, I e, I) {
       return Point{g, 2 * t + e};
     }},
    {"mma.m16n8k16.bf16", "d",
     [](I, I g, I t, I, I r) {
       return Point{g + 8 * (r / 2), 2 * t + r % 2};
     }},
    {"mma.m16n8k16.f16.f16", "d",
     [](I, I g, I t, I e, I r) {
       return Point{g + 8 * r, 2 * t + e};
     }},
    {"mma.m16n8k8.tf32", "a",
     [](I, I g, I t, I, I r) {
       return Point{g + 8 * (r % 2), t + 4 * (r / 2)};
     }},
    {"mma.m16n8k8.tf32", "b",
     [](I, I g, I t, I, I r) {
       return Point{g, t + 4 * r};
     }},
    {"mma.m16n8k4.tf32", "a",
     [](I, I g, I t, I, I r) {
       return Point{g + 8 * r, t};
     }},
    {"mma.m16n8k32.s8.s8", "a",
     [](I, I g, I t, I e, I r) {
       return Point{g + 8 * (r % 2), 4 * t + e + 16 * (r / 2)};
     }},
    {"mma.m16n8k32.e4m3.e5m2", "b",
     [](I, I g, I t, I e, I r) {
       return Point{g, 4 * t + e + 16 * r};
     }},
    {"mma.m16n8k16.u8.s8", "b",
     [](I, I g, I t, I e, I) {
       return Point{g, 4 * t + e};
     }},
    {"ldmatrix.x4.b16", "d",
     [](I, I g, I t, I e, I r) {
       return Point{r, g, 2 * t + e};
     }},
    {"ldmatrix.x4.trans.b16", "d",
     [](I, I g, I t, I e, I r) {
       return Point{r, 2 * t + e, g};
     }},
    {"stmatrix.x2.b16", "a",
     [](I, I g, I t, I e, I r) {
       return Point{r, g, 2 * t + e};
     }},
    {"movmatrix.b16", "d",
     [](I, I g, I t, I e, I) {
       return Point{2 * t + e, g};
     }},
};

TEST(Tables, FragmentMaps) {
  for (const Fragment& f : fragments) {
    const Placement p = holds(f.row, f.operand);
    ASSERT_GT(p.positions(), 1) << f.row;
    for (int64_t k = 0; k < p.positions(); ++k) {
      const Position at = p.position(k);
      const int64_t lane = at[size_t(Level::lane)];
      ASSERT_EQ(p.coordinates(at), f.at(at[size_t(Level::warp)], lane / 4, lane % 4,
                                        at[size_t(Level::elem)], at[size_t(Level::reg)]))
          << f.row << " " << f.operand;
    }
  }
}

TEST(Tables, MatrixAddresses) {
  for (int x : {1, 2, 4}) {
    const Tables::Found f = found(fmt::format("ldmatrix.x{}.b16", x));
    const auto p = f.row->addresses(*f.row->find("a"), f.sizes);
    ASSERT_TRUE(p);
    EXPECT_EQ(p->count(Level::lane), 8 * x);
    for (int64_t k = 0; k < p->positions(); ++k) {
      const Position at = p->position(k);
      const int64_t lane = at[size_t(Level::lane)];
      EXPECT_EQ(p->coordinates(at), (Point{lane / 8, lane % 8, 0}));
    }
  }
}

TEST(Tables, FieldsOfRows) {
  const Row& w = *found("wgmma.m64n256k32.e4m3.e4m3.ss").row;
  EXPECT_EQ(w.scope, Scope::warpgroup);
  EXPECT_EQ(w.done, Done::commit_group);
  EXPECT_EQ(w.proxy, Proxy::async);
  EXPECT_EQ(w.needs, "sm90a");
  EXPECT_EQ(w.accumulator_bits, 13);
  EXPECT_TRUE(w.truncates);
  EXPECT_EQ(w.promote_every, 4);
  EXPECT_EQ(w.issue_cycles({64, 256, 32}).value(), 128);
  EXPECT_EQ(w.computes.kind, Computes::Kind::contract);
  EXPECT_EQ(w.computes.op, Op::add);
  EXPECT_EQ(w.folded(), std::vector<uint32_t>{2});
  EXPECT_TRUE(w.find("d")->accumulates && w.find("d")->overwrites && w.find("a")->negates);
  // Both majors for 16 bits, K alone for the others.
  EXPECT_EQ(w.find("b")->layouts.size(), 2u);
  EXPECT_EQ(found("wgmma.m64n8k16.bf16.rs").row->find("b")->layouts.size(), 4u);
  const Row& t = *found("tma.load.5d.b16").row;
  EXPECT_EQ(t.done, Done::mbarrier_tx);
  EXPECT_TRUE(t.find("a")->fills);
  EXPECT_EQ(t.axes.size(), 5u);
  EXPECT_EQ(t.axes[0].sizes.text(), "8..256/8");
  const Row& f = *found("fma8").row;
  EXPECT_TRUE(f.folded().empty());
  EXPECT_EQ(f.text, "{d} = _mm256_fmadd_ps({a}, {b}, {d});");
}

// ---- texts that are wrong
// ---------------------------------------------------------------------------

struct Wrong {
  const char* text;
  int line;
  const char* message;
};

TEST(Tables, Errors) {
  for (const Wrong& w : {
           Wrong{"  do d[] = a[]\n", 1, "belongs to nothing"},
           Wrong{"rows x\n", 1, "definition is expected"},
           Wrong{"place p (m) = lane 4 -> m\n  more\n", 1, "line of no row"},
           Wrong{"row x\n  size m 4\n", 1, "computes nothing"},
           Wrong{"row x\n  do d[m] = a[m]\n  d reg f32 : reg 4 -> m\n  a global f32\n", 1,
                 "axis `m` has no size"},
           Wrong{"row x\n  do d[] = a[]\n  d reg f32 : single\n", 1, "nothing is said"},
           Wrong{"row x\n  do d[] = frob(a[])\n", 2, "`frob` is no operation"},
           Wrong{"row x\n  do d[] = add(a[])\n", 2, "takes 2 operands"},
           Wrong{"row x\n  do d[] = a[]\n  d register f32\n", 3, "`register` is no memory"},
           Wrong{"row x\n  do d[] = a[]\n  d reg f33 : single\n", 3, "`f33` is no format"},
           Wrong{"row x\n  do d[] = a[]\n  d reg f32 bold : single\n", 3, "`bold` is no fact"},
           Wrong{"row x\n  do d[] = a[]\n  d reg f32\n", 3, "placement is expected"},
           Wrong{"row x\n  do d[] = a[]\n  d shared f32 : odd\n", 3, "no layout"},
           Wrong{"row x\n  do d[m] = a[m]\n  size m 8 4\n", 3, "do not ascend"},
           Wrong{"row x\n  do d[m] = a[m]\n  size m 4\n  d reg f32 : reg 4 -> q\n  a global f32\n",
                 1, "no axis is called `q`"},
           Wrong{"row x\n  run quickly\n", 2, "is no scope"},
           Wrong{"row x\n  do d[] = a[]\n  d global f32\n  a global f32\n  text {z}\n", 1,
                 "hole `{z}`"},
           Wrong{"row x{n}\n  do d[] = a[]\n  d global f32\n  a global f32\n", 1, "name's hole"},
           Wrong{"row x\n  each t u : a b | c\n", 2, "fewer than 2"},
           Wrong{"row x\n  each t : a | b\n  do d[] = a[]\n  d global f32\n  a global f32\n", 1,
                 "two rows `x`"},
           Wrong{"row x\n  do d[] = a[]\n  fnord\n", 3, "`fnord` begins no line"},
       }) {
    Tables t;
    const auto read = read_table(w.text, "x.def", t);
    ASSERT_FALSE(read) << w.text;
    EXPECT_EQ(read.error().id, "E0111");
    EXPECT_EQ(read.error().where.file, "x.def");
    EXPECT_EQ(read.error().where.line, w.line) << w.text;
    EXPECT_THAT(read.error().message, HasSubstr(w.message)) << w.text;
  }
}

}  // namespace
}  // namespace tang
