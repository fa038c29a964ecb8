// Vectors in loop programs: their text, the builder and what the verifier says.
#include <gtest/gtest.h>

#include "loop/builder.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace tang::loop {
namespace {

constexpr const char* header =
    "symbol n\nbuffer x : f32[64] input\nbuffer d : f64[64] input\nbuffer k : i32[64] input\n"
    "buffer h : bf16[64] input\nbuffer y : f32[64] output\n\n";

std::string in_kernel(const std::string& body) {
  return header + std::string("kernel y reads x, d, k, h writes y {\n") + body + "}\n";
}

std::string first_error(const std::string& body) {
  auto program = parse_program(in_kernel(body + "\n"), "bad");
  if (!program) return program.error().id + " " + program.error().message;
  const Diagnostics faults = verify(*program);
  return faults.empty() ? "" : faults.front().id + " " + faults.front().message;
}

// Every form of the notation.
std::string sample() {
  return in_kernel(
      "  array a[16] : f32\n"
      "  for i in 0 .. 4 {\n"
      "    let v : f32x8 = x[8 * i : 8]\n"
      "    let w : f32x8 = x[i : 8 by 4]\n"
      "    var s : f32x8 = fma(v, w, spread8(x[i]))\n"
      "    let m : boolx8 = s < x[i : 8 first n - i] and not v == w\n"
      "    s = select(m, -s, x[i : 8 by n first n + 1])\n"
      "    let j : i64x8 = ramp8(i) * spread8(2)\n"
      "    s = s + x[j] * x[k[i : 8]]\n"
      "    let e : f64x4 = f64(low(s)) + d[i : 4] + f64(h[i : 4])\n"
      "    let t : f32x8 = join(f32(e), high(s))\n"
      "    a[0 : 8] = t\n"
      "    a[i : 4 by 2 first n] = low(t)\n"
      "    s = round_bf16(a[i : 8 by 1 + 1]) + join(a[0 : 4 first 3], a[0 : 4])\n"
      "    s = even(s, odd(s, t, 4), 1)\n"
      "    let u : f32 = low(low(low(s))) + lane(s, 7)\n"
      "    prefetch x[8 * i + 64]\n"
      "    store y[8 * i : 8] = s\n"
      "    stream y[8 * i : 8] = s\n"
      "    store y[i : 8 by 2 first 3] = exp(s)\n"
      "    store y[i] = u\n"
      "  }\n");
}

TEST(LoopVectors, TheTextIsKept) {
  const std::string text = sample();
  const auto program = parse_program(text, "v");
  ASSERT_TRUE(program) << program.error().message << " line " << program.error().where.line;
  EXPECT_EQ(print(*program), text);
  const Diagnostics faults = verify(*program);
  EXPECT_TRUE(faults.empty()) << faults.front().message;
}

TEST(LoopVectors, AnyTextGivesAnErrorOrAProgram) {
  const std::string text = sample();
  for (size_t k = 0; k < text.size(); ++k) {
    if (const auto program = parse_program(text.substr(0, k), "prefix")) verify(*program);
    for (const char c : std::string_view("({[:]8f, \n")) {
      std::string changed = text;
      changed[k] = c;
      if (const auto program = parse_program(changed, "changed")) verify(*program);
    }
  }
}

TEST(LoopVectors, WordsOfTheNotationAreNames) {
  const std::string text = in_kernel(
      "  let first : i64 = 1\n"
      "  let by : i64 = n\n"
      "  let low : f32x4 = x[by : 4 by by first first]\n"
      "  let lane : f32 = low(low(low))\n"
      "  store y[first : 4 first by] = spread4(lane)\n");
  const auto program = parse_program(text, "v");
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(print(*program), text);
  EXPECT_TRUE(verify(*program).empty());
}

TEST(LoopVectors, EveryOperationTakesVectors) {
  Builder b;
  const BufferId y = b.buffer("y", Format::f64, 1000, Role::output);
  const BufferId f = b.buffer("f", Format::boolean, 1000, Role::output);
  b.begin_kernel("all");
  int64_t at = 0;
  for (const int lanes : {2, 4, 8, 16}) {
    for (size_t o = static_cast<size_t>(Op::add); o <= static_cast<size_t>(Op::select); ++o) {
      const OpInfo& row = info(static_cast<Op>(o));
      std::vector<Value> args(static_cast<size_t>(row.arity), b.spread(b.f64(-1.5), lanes));
      if (row.rule == OpRule::logic) args.assign(args.size(), b.spread(b.boolean(true), lanes));
      if (row.rule == OpRule::select) args[0] = b.boolean(true);
      const Value v = b.op(static_cast<Op>(o), args);
      EXPECT_EQ(b.lanes(v), lanes) << row.name;
      b.store(b.type(v) == Type::boolean ? f : y, b.integer(at++), v);
    }
  }
  b.end_kernel();
  auto program = b.finish();
  ASSERT_TRUE(program) << program.error().message;
  const std::string text = print(*program);
  const auto parsed = parse_program(text, "v");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(print(*parsed), text);
}

TEST(LoopVectors, TheBuilderSpreadsScalars) {
  Builder b;
  const BufferId x = b.buffer("x", Format::f32, 64, Role::input);
  const BufferId y = b.buffer("y", Format::f32, 64, Role::output);
  b.begin_kernel("y");
  const Value s = b.var("s", b.spread(b.f32(0), 8));
  const Value n = b.let("n", b.integer(5));
  b.assign(s, b.fma(b.load(x, n), b.load(x, n, {.lanes = 8, .stride = b.integer(1)}), s));
  b.assign(s, b.select(b.lt(b.ramp(n, 8), b.integer(3)), s, b.f32(1)));
  b.assign(s, b.join(b.low(s), b.high(s)));
  b.assign(s, b.f32(2));
  b.store(y, n, s, {.first = n});
  b.store(y, n, b.lane(s, 1), {.first = n});
  b.store(y, n, b.load(x, n, {.first = n}));
  b.store(y, n, b.gather(x, b.ramp(n, 4)), {.stride = n});
  b.end_kernel();
  auto program = b.finish();
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(print(*program, program->kernels[0]),
            "kernel y reads x writes y {\n"
            "  var s : f32x8 = spread8(0.0)\n"
            "  let n : i64 = 5\n"
            "  s = fma(spread8(x[n]), x[n : 8], s)\n"
            "  s = select(ramp8(n) < spread8(3), s, spread8(1.0))\n"
            "  s = join(low(s), high(s))\n"
            "  s = spread8(2.0)\n"
            "  store y[n : 8 first n] = s\n"
            "  if 0 < n {\n"
            "    store y[n] = lane(s, 1)\n"
            "  }\n"
            "  store y[n] = select(0 < n, x[n], 0.0)\n"
            "  store y[n : 4 by n] = x[ramp4(n)]\n"
            "}\n");
}

TEST(LoopVectors, TheBuilderReportsMistakes) {
  const auto mistake = [](auto body) {
    Builder b;
    const BufferId x = b.buffer("x", Format::f32, 64, Role::input);
    const BufferId y = b.buffer("y", Format::f32, 64, Role::output);
    b.begin_kernel("y");
    b.store(y, b.integer(0), b.load(x, b.integer(0)));
    body(b, x, y);
    b.end_kernel();
    return !b.finish().has_value();
  };
  EXPECT_FALSE(mistake([](Builder&, BufferId, BufferId) {}));
  EXPECT_TRUE(
      mistake([](Builder& b, BufferId x, BufferId) { b.load(x, b.integer(0), {.lanes = 3}); }));
  EXPECT_TRUE(
      mistake([](Builder& b, BufferId x, BufferId) { b.load(x, b.ramp(b.integer(0), 4)); }));
  EXPECT_TRUE(mistake([](Builder& b, BufferId, BufferId) { b.low(b.f32(1)); }));
  EXPECT_TRUE(mistake([](Builder& b, BufferId, BufferId) { b.ramp(b.f32(1), 4); }));
  EXPECT_TRUE(mistake([](Builder& b, BufferId, BufferId) { b.spread(b.f32(1), 32); }));
  EXPECT_TRUE(mistake(
      [](Builder& b, BufferId, BufferId) { b.add(b.spread(b.f32(1), 4), b.spread(b.f32(1), 8)); }));
  EXPECT_TRUE(mistake([](Builder& b, BufferId, BufferId) { b.lane(b.spread(b.f32(1), 4), 4); }));
  EXPECT_TRUE(mistake([](Builder& b, BufferId, BufferId y) {
    b.store(y, b.ramp(b.integer(0), 4), b.spread(b.f32(1), 4));
  }));
  EXPECT_TRUE(mistake([](Builder& b, BufferId, BufferId) {
    b.begin_if(b.spread(b.boolean(true), 4));
    b.end();
  }));
}

// Past the caches goes what the kernel does not read, by this name or another.
TEST(LoopVectors, StreamsAreNotRead) {
  const auto fault = [](const std::string& text) {
    const auto program = parse_program(text, "s");
    if (!program) return program.error().message;
    const Diagnostics faults = verify(*program);
    return faults.empty() ? std::string() : faults.front().message;
  };
  const std::string other = "buffer x : f32[8] input\nbuffer y : f32[8] output\n\n",
                    same = "buffer x : f32[8] input\nbuffer y : f32[8] output into x\n\n",
                    kernel = "kernel y reads x writes y {\n  stream y[0 : 8] = x[0 : 8]\n}\n";
  EXPECT_EQ(fault(other + kernel), "");
  EXPECT_NE(fault(same + kernel), "");
}

TEST(LoopVectors, FaultsAreRefused) {
  EXPECT_EQ(first_error("let v : f32x8 = x[60 : 8 first 4]"), "");
  const std::pair<const char*, const char*> faults[] = {
      {"stream y[0] = 1.0", "E0410"},
      {"stream y[0 : 8 first n] = x[0 : 8]", "E0410"},
      {"stream y[0 : 8 by 2] = x[0 : 8]", "E0410"},
      {"let v : f32x3 = spread3(1.0)", "E0310"},
      {"let v : f32x8 = 1.0", "E0310"},
      {"let v : f32 = x[0 : 8]", "E0310"},
      {"let v : f32x8 = x[0 : 4]", "E0310"},
      {"let v : f32x8 = x[0 : 7]", "E0410"},
      {"let v : f32 = x[0 : 1]", "E0410"},
      {"let v : f32x8 = x[0 : n]", "E0110"},
      {"let v : f32x8 = x[0 : 8 by 1.0]", "E0310"},
      {"let v : f32x8 = x[0 : 8 first 1'i32]", "E0310"},
      {"let v : f32x8 = x[0 : 8 first n by 2]", "E0110"},
      {"let v : f32x8 = x[57 : 8]", "E0410"},
      {"let v : f32x8 = x[ramp8(0) : 8]", "E0310"},
      {"let v : f32x8 = x[x[0 : 8]]", "E0310"},
      {"array a[8] : f32\nlet v : f32x8 = a[ramp8(0)]", "E0310"},
      {"array a[8] : f32x8", "E0310"},
      {"array a[8] : f32\na[1 : 8] = x[0 : 8]", "E0410"},
      {"array a[8] : f32\na[0 : 8] = x[0 : 4]", "E0310"},
      {"array a[8] : f32\na[0 : 8] = d[0 : 8]", "E0310"},
      {"array a[8] : f32\na[0] = x[0 : 8]", "E0310"},
      {"let v : f32x8 = x[0 : 8] + 1.0", "E0310"},
      {"let v : f32x8 = x[0 : 8] + spread4(1.0)", "E0310"},
      {"let v : f32x8 = x[0 : 8] + spread8(1.0'f64)", "E0310"},
      {"let v : f32x8 = spread8(x[0 : 4])", "E0310"},
      {"let v : f32x8 = ramp8(1.0)", "E0310"},
      {"let v : f32x8 = select(n < 1, x[0 : 8], x[8 : 8])", "E0310"},
      {"let v : f32x16 = join(x[0 : 8], x[0 : 4])", "E0310"},
      {"let w : f32x16 = x[0 : 16]\nlet v : f32x16 = join(w, w)", "E0310"},
      {"let v : f32 = low(x[0])", "E0310"},
      {"let v : f32 = lane(x[0 : 8], 8)", "E0310"},
      {"let v : f32x8 = even(x[0 : 8], x[0 : 8], 3)", "E0310"},
      {"let v : f32x8 = odd(x[0 : 8], x[0 : 4], 1)", "E0310"},
      {"let v : f32x8 = odd(x[0 : 8], x[0 : 8])", "E0310"},
      {"let v : f32 = lane(x[0 : 8], n)", "E0310"},
      {"let v : f32 = lane(x[0 : 8])", "E0310"},
      {"let v : f32x8 = spread(1.0)", "E0210"},
      {"let v : f32x8 = spread1(1.0)", "E0210"},
      {"let v : f32x8 = f32(x[0 : 8])", "E0310"},
      {"for i in ramp4(0) .. 4 {\n}", "E0310"},
      {"if x[0 : 4] < x[0 : 4] {\n}", "E0310"},
      {"store y[0] = x[0 : 4]", "E0310"},
      {"store y[0 : 4] = x[0]", "E0310"},
      {"store y[0 : 4 first true] = x[0 : 4]", "E0310"},
      {"store y[ramp4(0)] = x[0 : 4]", "E0310"},
      {"store y[64 : 4] = x[0 : 4]", "E0410"},
      {"var v : f32x4 = x[0 : 4]\nv = x[0 : 8]", "E0310"},
      {"var v : f32x4 = x[0 : 4]\nv = x[0]", "E0310"},
  };
  for (const auto& [body, id] : faults) {
    const std::string found = first_error(body);
    EXPECT_TRUE(found.starts_with(id)) << body << " gave " << found;
  }
}

}  // namespace
}  // namespace tang::loop
