#include "unit/run/gpu_cases.h"

#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tang::gpu_cases {

namespace {

using testing::Each;
using testing::HasSubstr;

constexpr int32_t poison = 0x5a5a5a5a;

std::vector<int32_t> counting(size_t n) {
  std::vector<int32_t> values(n);
  std::iota(values.begin(), values.end(), 7);
  return values;
}

// Two buffers of n integers in one memory, what is not x holding poison.
struct Pair {
  GpuDriver& driver;
  int64_t n, place;  // place: of y
  std::unique_ptr<GpuMemory> memory;

  Pair(GpuDriver& d, int64_t count) : driver(d), n(count), place((4 * n + 255) / 256 * 256 + 256) {
    auto made = driver.allocate(place + 4 * n + 64);
    if (!made) {
      ADD_FAILURE() << made.error().message;
      return;
    }
    memory = std::move(*made);
    const std::vector<int32_t> fill(static_cast<size_t>(place / 4 + n + 16), poison);
    write(0, fill);
  }
  void write(int64_t offset, std::span<const int32_t> values) {
    const auto ok = driver.write(*memory, offset, std::as_bytes(values));
    EXPECT_TRUE(ok) << ok.error().message;
  }
  std::vector<int32_t> read(int64_t offset, int64_t count) {
    std::vector<int32_t> values(static_cast<size_t>(count));
    const auto ok = driver.read(*memory, offset, std::as_writable_bytes(std::span(values)));
    EXPECT_TRUE(ok) << ok.error().message;
    return values;
  }
  std::vector<int32_t> y() { return read(place, n); }
  GpuLaunch launch(int64_t groups, std::vector<int64_t> symbols, size_t function = 0) {
    GpuLaunch made;
    made.function = function;
    made.kernel = "example";
    made.bindings = {{memory.get(), 0, 4 * n}, {memory.get(), place, 4 * n}};
    made.symbols = std::move(symbols);
    made.groups = groups;
    return made;
  }
};

std::unique_ptr<GpuModule> build(GpuDriver& driver, std::vector<Example> examples) {
  auto made = driver.build(source(driver.capability().dialect, std::move(examples)));
  if (made) return std::move(*made);
  ADD_FAILURE() << made.error().message;
  return nullptr;
}

double run(GpuDriver& driver, const GpuModule& module, std::vector<GpuLaunch> launches,
           int64_t rounds = 1) {
  auto sequence = driver.record(module, launches);
  EXPECT_TRUE(sequence) << sequence.error().message;
  if (!sequence) return 0;
  const auto time = (*sequence)->run(rounds);
  EXPECT_TRUE(time) << time.error().message;
  return time.value_or(0);
}

template <class T>
std::string id_of(const Result<T>& result) {
  return result ? "none" : result.error().id;
}

}  // namespace

void known_answer(GpuDriver& driver) {
  const auto module = build(driver, {Example::affine});
  ASSERT_TRUE(module);
  for (const int64_t groups : {1, 3, 20}) {
    Pair p(driver, 1000);
    p.write(0, counting(1000));
    run(driver, *module, {p.launch(groups, {990, -3})});
    const std::vector<int32_t> y = p.y();
    for (int32_t i = 0; i < 990; ++i) ASSERT_EQ(y[static_cast<size_t>(i)], -3 * (i + 7) + i);
    EXPECT_THAT(std::vector(y.begin() + 990, y.end()), Each(poison));
    EXPECT_THAT(p.read(4000, (p.place - 4000) / 4), Each(poison));
    EXPECT_THAT(p.read(p.place + 4000, 16), Each(poison));
    EXPECT_EQ(p.read(0, 1000), counting(1000));
  }
}

// Back and forth between two buffers, many times: each launch needs all of the one before.
void launches_in_order(GpuDriver& driver) {
  const auto module = build(driver, {Example::affine, Example::affine});
  ASSERT_TRUE(module);
  Pair p(driver, 300);
  p.write(0, std::vector<int32_t>(300, 0));
  std::vector<GpuLaunch> launches;
  for (size_t k = 0; k < 10; ++k) {
    launches.push_back(p.launch(5, {300, 1}, k % 2));
    if (k % 2) std::swap(launches.back().bindings[0], launches.back().bindings[1]);
  }
  run(driver, *module, launches, 100);
  const std::vector<int32_t> x = p.read(0, 300);
  for (int32_t i = 0; i < 300; ++i) ASSERT_EQ(x[static_cast<size_t>(i)], 1000 * i);
}

void groups_work_together(GpuDriver& driver) {
  const auto module = build(driver, {Example::affine, Example::sums});
  ASSERT_TRUE(module);
  Pair p(driver, 6400);
  p.write(0, counting(6400));
  run(driver, *module, {p.launch(9, {100, 0}, 1)});
  const std::vector<int32_t> y = p.y();
  for (int32_t g = 0; g < 100; ++g)
    ASSERT_EQ(y[static_cast<size_t>(g)], 64 * (64 * g + 7) + 63 * 32) << g;
}

void subgroups_exchange(GpuDriver& driver) {
  if (driver.capability().subgroup < 2) GTEST_SKIP() << "no subgroups";
  const auto module = build(driver, {Example::exchange});
  ASSERT_TRUE(module);
  Pair p(driver, 64);
  p.write(0, counting(64));
  run(driver, *module, {p.launch(1, {64, 0})});
  for (int32_t i = 0; i < 64; ++i) ASSERT_EQ(p.y()[static_cast<size_t>(i)], (i ^ 1) + 7);
}

void halves(GpuDriver& driver) {
  if (!driver.capability().f16) GTEST_SKIP() << "no f16";
  const auto module = build(driver, {Example::halves});
  ASSERT_TRUE(module);
  Pair p(driver, 32);
  p.write(0, std::vector<int32_t>(32, 0x3c004500));  // 5, 1
  run(driver, *module, {p.launch(1, {63, 0})});
  std::vector<int32_t> expected(32, 0x40004900);  // 10, 2
  expected.back() = 0x5a5a4900;
  EXPECT_EQ(p.y(), expected);
}

// A buffer without elements may lie at the end of its memory, and a launch may have no groups.
void no_elements(GpuDriver& driver) {
  const auto module = build(driver, {Example::affine});
  ASSERT_TRUE(module);
  auto memory = driver.allocate(512);
  ASSERT_TRUE(memory) << memory.error().message;
  GpuLaunch empty;
  empty.kernel = "empty";
  empty.bindings = {{memory->get(), 256, 0}, {memory->get(), 512, 0}};
  empty.symbols = {0, 5};
  empty.groups = 1;
  GpuLaunch none = empty;
  none.groups = 0;
  run(driver, *module, {empty, none, empty});
  EXPECT_EQ(run(driver, *module, {}), 0);
}

void bytes_at_odd_places(GpuDriver& driver) {
  auto memory = driver.allocate(103);
  ASSERT_TRUE(memory) << memory.error().message;
  std::vector<std::byte> all(103), part(9), got(103);
  for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<std::byte>(k + 1);
  for (size_t k = 0; k < part.size(); ++k) part[k] = static_cast<std::byte>(200 + k);
  ASSERT_TRUE(driver.write(**memory, 0, all));
  for (const size_t place : {5, 30, 94}) {
    ASSERT_TRUE(driver.write(**memory, static_cast<int64_t>(place), part));
    std::copy(part.begin(), part.end(), all.begin() + static_cast<int64_t>(place));
    ASSERT_TRUE(driver.read(**memory, 0, got));
    EXPECT_EQ(got, all) << place;
  }
  std::vector<std::byte> few(3);
  ASSERT_TRUE(driver.read(**memory, 7, few));
  EXPECT_EQ(few, std::vector(all.begin() + 7, all.begin() + 10));
  ASSERT_TRUE(driver.write(**memory, 103, {}));
  EXPECT_EQ(id_of(driver.write(**memory, 100, few)), "none");
  EXPECT_EQ(id_of(driver.write(**memory, 101, few)), "E0998");
  EXPECT_EQ(id_of(driver.read(**memory, -1, few)), "E0998");
}

void much_memory(GpuDriver& driver) {
  std::vector<std::byte> values(size_t{40} << 20), got(values.size());
  for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<std::byte>(k * 31 >> 7);
  auto memory = driver.allocate(static_cast<int64_t>(values.size()));
  ASSERT_TRUE(memory) << memory.error().message;
  ASSERT_TRUE(driver.write(**memory, 0, values));
  ASSERT_TRUE(driver.read(**memory, 0, got));
  EXPECT_TRUE(got == values);

  const auto refused = driver.allocate(int64_t{1} << 60);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "E0913");
  EXPECT_EQ(refused.error().exit, Exit::out_of_memory);
  EXPECT_THAT(refused.error().message, HasSubstr(fmt::format("{}", int64_t{1} << 60)));
  EXPECT_EQ(id_of(driver.allocate(0)), "E0998");
}

void refused_source(GpuDriver& driver) {
  const auto refused =
      driver.build(source(driver.capability().dialect, {Example::affine, Example::broken}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "E0999");
  EXPECT_THAT(refused.error().message, HasSubstr("nowhere"));
  // The driver still works.
  known_answer(driver);
}

void limits(GpuDriver& driver) {
  const Capability& has = driver.capability();
  const auto refused = [](const auto& result, std::vector<std::string> words) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().id, "E0921");
    EXPECT_EQ(result.error().exit, Exit::target_limit);
    for (const std::string& word : words) EXPECT_THAT(result.error().message, HasSubstr(word));
  };
  GpuSource wide = source(has.dialect, {Example::affine});
  wide.functions[0].threads = has.threads + 1;
  refused(driver.build(wide), {"main", fmt::format("{}", has.threads)});
  GpuSource large = source(has.dialect, {Example::affine});
  large.functions[0].shared_bytes = has.shared_bytes + 4;
  refused(driver.build(large), {"main", fmt::format("{}", has.shared_bytes + 4)});

  const auto module = build(driver, {Example::affine});
  ASSERT_TRUE(module);
  Pair p(driver, 64);
  const auto record = [&](const GpuLaunch& launch) {
    return driver.record(*module, std::span(&launch, 1));
  };
  refused(record(p.launch(has.groups + 1, {64, 1})),
          {"example", "64 threads", fmt::format("{}", has.groups + 1)});
  refused(record(p.launch(1, {int64_t{1} << 31, 1})), {"example", "2147483648"});
  GpuLaunch big = p.launch(1, {64, 1});
  big.bindings[1].bytes = has.binding_bytes + 1;
  refused(record(big), {"example", fmt::format("{}", has.binding_bytes)});
}

void defects(GpuDriver& driver) {
  const auto module = build(driver, {Example::affine});
  ASSERT_TRUE(module);
  Pair p(driver, 64);
  std::vector<GpuLaunch> wrong(5, p.launch(1, {64, 1}));
  wrong[0].symbols.pop_back();
  wrong[1].bindings[1].offset = 128;
  wrong[2].bindings.pop_back();
  wrong[3].function = 1;
  wrong[4].groups = -1;
  for (const GpuLaunch& launch : wrong)
    EXPECT_EQ(id_of(driver.record(*module, std::span(&launch, 1))), "E0998");
}

void time_passes(GpuDriver& driver) {
  const auto module = build(driver, {Example::affine});
  ASSERT_TRUE(module);
  Pair p(driver, 100000);
  p.write(0, counting(100000));
  const GpuLaunch launch = p.launch(4, {100000, 3});
  auto sequence = driver.record(*module, std::span(&launch, 1));
  ASSERT_TRUE(sequence) << sequence.error().message;
  const auto once = (*sequence)->run();
  const auto often = (*sequence)->run(200);
  ASSERT_TRUE(once && often);
  EXPECT_GT(*once, 0);
  EXPECT_LT(*once, 10000);
  EXPECT_GT(*often, *once);
}

}  // namespace tang::gpu_cases
