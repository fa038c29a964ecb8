#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "loop/builder.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace tang::loop {
namespace {

// A row maximum, as in the essay of program.h, with most kinds of statement beside it.
Program sample() {
  Builder b;
  const ParamId n = b.symbol("n");
  const BufferId x = b.buffer("x", Format::f16, Poly(8) * Poly::param(n), Role::input);
  const BufferId t = b.buffer("t", Format::f32, Poly::param(n) + Poly(3), Role::workspace);
  const BufferId m = b.buffer("m", Format::f32, Poly(8), Role::output);
  b.begin_kernel("m");
  b.comment("row maxima");
  const Array acc = b.array("acc", Type::f32, 4);
  b.for_("i", b.integer(0), b.integer(4), [&](Value i) { b.set(acc, i, b.f32(-INFINITY)); },
         {.hint = Hint::unroll});
  b.for_("i", b.integer(0), b.integer(8), [&](Value i) {
    const Value a = b.var("a", b.at(acc, b.integer(2)));
    b.for_("j", b.integer(0), b.symbol(n),
           [&](Value j) {
             const Value v = b.let("v", b.load(x, b.add(b.mul(b.symbol(n), i), j)));
             b.if_(b.logical_and(b.le(b.integer(0), j), b.logical_not(b.lt(i, j))),
                   [&] { b.assign(a, b.max(a, b.neg(b.sub(v, b.sub(v, b.quot(v, b.f32(3))))))); });
           },
           {.step = 2, .hint = Hint::vector});
    b.store(t, i, b.select(b.eq(i, b.integer(3)), b.round(Format::bf16, a), b.f32(0.1)));
  });
  b.end_kernel();
  b.begin_kernel("m");
  b.for_("i", b.integer(0), b.integer(8), [&](Value i) {
    b.store(m, i, b.cast(Type::f32, b.exp(b.cast(Type::f64, b.load(t, i)))));
  });
  b.end_kernel();
  auto program = b.finish();
  EXPECT_TRUE(program.has_value()) << (program ? "" : program.error().message);
  return program.value_or(Program{});
}

void expect_round_trip(const Program& program) {
  const std::string text = print(program);
  const auto parsed = parse_program(text, "loop.txt");
  ASSERT_TRUE(parsed) << parsed.error().message << " line " << parsed.error().where.line << "\n"
                      << text;
  EXPECT_EQ(print(*parsed), text);
  EXPECT_TRUE(verify(*parsed).empty());
}

TEST(LoopText, PrintsAndParsesBack) {
  const Program program = sample();
  expect_round_trip(program);
  EXPECT_EQ(print(program, program.kernels[1]),
            "kernel m_1 reads t writes m {\n"
            "  for i in 0 .. 8 {\n"
            "    store m[i] = f32(exp(f64(t[i])))\n"
            "  }\n"
            "}\n");
}

TEST(LoopText, EveryOperationRoundTrips) {
  Builder b;
  const BufferId y = b.buffer("y", Format::f64, 100, Role::output);
  const BufferId f = b.buffer("f", Format::boolean, 100, Role::output);
  const BufferId k = b.buffer("k", Format::i64, 100, Role::output);
  b.begin_kernel("all");
  int64_t at = 0;
  for (size_t o = static_cast<size_t>(Op::add); o <= static_cast<size_t>(Op::select); ++o) {
    const OpInfo& row = info(static_cast<Op>(o));
    std::vector<Value> args(static_cast<size_t>(row.arity), b.f64(-1.5));
    if (row.rule == OpRule::logic || row.rule == OpRule::select) args[0] = b.boolean(true);
    if (row.rule == OpRule::logic && row.arity == 2) args[1] = b.boolean(false);
    const Value v = b.op(static_cast<Op>(o), args);
    b.store(b.type(v) == Type::boolean ? f : y, b.integer(at++), v);
    if (row.rule == OpRule::number) {
      std::vector<Value> ints(args.size(), b.let("w", b.integer(-7)));
      b.store(k, b.integer(at++), b.op(static_cast<Op>(o), ints));
    }
  }
  b.end_kernel();
  auto program = b.finish();
  ASSERT_TRUE(program) << program.error().message;
  expect_round_trip(*program);
}

TEST(LoopText, ConstantsKeepTheirBits) {
  Builder b;
  const BufferId y = b.buffer("y", Format::f64, 100, Role::output);
  b.begin_kernel("c");
  const double inf = INFINITY;
  int64_t at = 0;
  for (double v : {0.0, -0.0, 0.1, -inf, inf, double(NAN), 5e-324, 1e300, -2.5, 3.0, 16777217.0}) {
    b.store(y, b.integer(at++), b.f64(v));
    b.store(y, b.integer(at++), b.f32(v));
    b.store(y, b.integer(at++), b.neg(b.f32(v)));
  }
  b.store(y, b.integer(at++), b.f32(1e-45));
  b.store(y, b.integer(at++), b.f32(3.4028234663852886e38));
  b.end_kernel();
  auto program = b.finish();
  ASSERT_TRUE(program) << program.error().message;
  const auto parsed = parse_program(print(*program), "c");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Kernel& before = program->kernels[0];
  const Kernel& after = parsed->kernels[0];
  ASSERT_EQ(before.body.size(), after.body.size());
  for (size_t s = 0; s < before.body.size(); ++s) {
    const Node& p = before[before.body[s].b];
    const Node& q = after[after.body[s].b];
    EXPECT_EQ(p.op, q.op);
    EXPECT_EQ(p.type, q.type);
    EXPECT_EQ(p.bits, q.bits) << s;
  }
}

TEST(LoopText, NamesThatLookLikeKeywords) {
  Builder b;
  const ParamId step = b.symbol("step");
  const BufferId in = b.buffer("store", Format::f32, Poly::param(step), Role::input);
  const BufferId out = b.buffer("for", Format::f32, Poly::param(step), Role::output);
  b.begin_kernel("kernel");
  b.for_("if", b.integer(0), b.symbol(step),
         [&](Value i) {
           const Value v = b.var("let", b.load(in, i));
           b.assign(v, b.add(v, v));
           const Array a = b.array("array", Type::f32, 2);
           b.set(a, b.integer(0), v);
           b.store(out, i, b.at(a, b.integer(0)));
         },
         {.step = 3, .hint = Hint::vector});
  b.end_kernel();
  auto program = b.finish();
  ASSERT_TRUE(program) << program.error().message;
  expect_round_trip(*program);
}

std::string header() {
  return "symbol n\nbuffer x : f32[8] input\nbuffer y : f32[n] output\nbuffer w : i8[n] "
         "workspace\n";
}

// The first error of parsing or verifying a kernel with this body.
std::string first_error(const std::string& body, const std::string& lists = "reads x writes y") {
  auto program = parse_program(header() + "kernel bad " + lists + " {\n" + body + "\n}\n", "bad");
  if (!program) return program.error().id + " " + program.error().message;
  const Diagnostics faults = verify(*program);
  return faults.empty() ? "" : faults.front().id + " " + faults.front().message;
}

TEST(LoopVerifier, AcceptsWhatIsRight) {
  EXPECT_EQ(first_error("for i in 0 .. n {\n store y[i] = x[0]\n}"), "");
  EXPECT_EQ(first_error("for i in 0 .. 0 {\n store y[0] = x[9 + i]\n}"), "");
  EXPECT_EQ(first_error("for i in 0 .. 0 {\n store y[0] = x[9]\n}"), "");
  EXPECT_EQ(first_error("if n < 3 {\n store y[0] = x[9]\n}"), "");
  EXPECT_EQ(first_error("store y[0] = select(n < 3, x[9], 0.0)"), "");
}

TEST(LoopVerifier, RefusesFaults) {
  const std::pair<const char*, const char*> faults[] = {
      {"store y[0] = z", "E0210"},
      {"store y[0] = z[0]", "E0210"},
      {"store y[0] = foo(1.0)", "E0210"},
      {"let a : f32 = 1.0\nlet a : f32 = 2.0", "E0210"},
      {"let n : i64 = 1", "E0210"},
      {"let a : f32 = 1.0\na = 2.0", "E0210"},
      {"for i in 0 .. n {\n i = 3\n}", "E0210"},
      {"for i in 0 .. n {\n let a : f32 = 1.0\n}\nstore y[0] = a", "E0210"},
      {"let a : f32 = 1", "E0310"},
      {"let a : f32 = 1.0'f64", "E0310"},
      {"let a : f32 = 1.0 + 2.0'f64", "E0310"},
      {"let a : i64 = n + 3'i32", "E0310"},
      {"let a : f32 = exp(n)", "E0310"},
      {"let a : i64 = n / 3", "E0310"},
      {"let a : bool = not n", "E0310"},
      {"let a : f32 = max(1.0)", "E0310"},
      {"let a : f32 = f32(1.0)", "E0310"},
      {"let a : f32 = round_i8(1.0)", "E0310"},
      {"if n {\n}", "E0310"},
      {"store y[0] = n", "E0310"},
      {"store y[0.0] = 1.0", "E0310"},
      {"store x[0] = 1.0", "E0410"},
      {"store w[0] = 1", "E0410"},
      {"store y[0] = x[8]", "E0410"},
      {"for i in 8 .. 10 {\n store y[0] = x[i]\n}", "E0410"},
      {"store y[0] = x[0 - 1]", "E0410"},
      {"array a[4] : f32\na[4] = 1.0", "E0410"},
      {"array a[0] : f32", "E0410"},
      {"array a[1000000] : f32", "E0410"},
      {"for i in 0 .. n step 0 {\n}", "E0410"},
      {"store y[0] = y[0 - 1]", "E0410"},
      {"let a : f32 = ", "E0110"},
      {"let a : f32 = (1.0", "E0110"},
      {"let a : f32 = 1.0 $", "E0110"},
      {"let a : bool = 1 < 2 < 3", "E0110"},
      {"let a : i32 = 2147483648'i32", "E0110"},
      {"let a : i64 = 9223372036854775808", "E0110"},
      {"for i in 0 .. n {", "E0110"},
  };
  for (const auto& [body, id] : faults) {
    const std::string found = first_error(body);
    EXPECT_TRUE(found.starts_with(id)) << body << " gave " << found;
    EXPECT_NE(found.find("bad"), std::string::npos) << found;
  }
}

TEST(LoopVerifier, NamesKernelAndStatement) {
  const std::string found = first_error("store y[n] = x[8]");
  EXPECT_NE(found.find("kernel `bad`"), std::string::npos) << found;
  EXPECT_NE(found.find("`store y[n] = x[8]`"), std::string::npos) << found;
}

TEST(LoopVerifier, LaunchOrder) {
  const std::string head =
      "buffer x : f32[4] input\nbuffer t : f32[4] workspace\n"
      "buffer y : f32[4] output\nbuffer z : f32[4] output into x\n";
  const auto faults = [&](const std::string& kernels) {
    auto program = parse_program(head + kernels, "order");
    EXPECT_TRUE(program) << program.error().message;
    const Diagnostics found = verify(*program);
    return found.empty() ? std::string() : found.front().message;
  };
  const std::string fill = "kernel a writes t, z {\n store t[0] = 1.0\n store z[0] = 2.0\n}\n";
  EXPECT_EQ(faults(fill + "kernel b reads t writes y {\n store y[0] = t[0]\n}\n"), "");
  EXPECT_NE(faults("kernel b reads t writes y {\n store y[0] = t[0]\n}\n"), "");
  EXPECT_NE(faults(fill), "");  // nobody writes y
  EXPECT_NE(faults(fill + "kernel b reads x writes y {\n store y[0] = x[0]\n}\n"), "");
}

TEST(LoopBuilder, ReportsTheFirstMistake) {
  Builder b;
  const BufferId y = b.buffer("y", Format::f32, 4, Role::output);
  b.begin_kernel("k");
  b.store(y, b.integer(0), b.add(b.f32(1), b.f64(1)));
  b.assign(b.f32(1), b.f32(2));
  b.end_kernel();
  const auto program = b.finish();
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().message.find("`+`"), std::string::npos) << program.error().message;
}

TEST(LoopBuilder, RefusesDeepTrees) {
  Builder b;
  const BufferId y = b.buffer("y", Format::f32, 4, Role::output);
  b.begin_kernel("k");
  Value v = b.f32(1);
  for (int k = 0; k < 200; ++k) v = b.add(v, v);
  b.store(y, b.integer(0), v);
  b.end_kernel();
  EXPECT_FALSE(b.finish());
}

TEST(LoopParser, LongAndDeepTextIsRefusedWithoutRecursion) {
  const std::string deep(100000, '(');
  EXPECT_TRUE(first_error("let a : f32 = " + deep + "1.0").starts_with("E0110"));
  std::string blocks;
  for (int k = 0; k < 10000; ++k) blocks += "if true {\n";
  EXPECT_TRUE(first_error(blocks).starts_with("E0110"));
  std::string sum = "1.0", nots = "true";
  for (int k = 0; k < 5000; ++k) sum += " + 1.0";
  for (int k = 0; k < 5000; ++k) nots = "not " + nots;
  EXPECT_TRUE(first_error("let a : f32 = " + sum).starts_with("E0110"));
  EXPECT_TRUE(first_error("let a : bool = " + nots).starts_with("E0110"));
}

TEST(LoopParser, OneKernelOverAProgram) {
  const Program program = sample();
  const std::string text = print(program, program.kernels[0]);
  const auto kernel = parse_kernel(text, program, "k");
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(print(program, *kernel), text);
  EXPECT_TRUE(verify(program, *kernel).empty());
  EXPECT_FALSE(parse_kernel(text + text, program, "k"));
}

TEST(LoopParser, AnyPrefixOfATextGivesAnErrorOrAProgram) {
  const std::string text = print(sample());
  for (size_t k = 0; k < text.size(); ++k) {
    const auto program = parse_program(text.substr(0, k), "prefix");
    if (program) verify(*program);
  }
  for (size_t k = 0; k < text.size(); ++k) {
    std::string changed = text;
    changed[k] = "({=0x\n"[k % 6];
    const auto program = parse_program(changed, "changed");
    if (program) verify(*program);
  }
}

}  // namespace
}  // namespace tang::loop
