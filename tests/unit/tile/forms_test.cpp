// What lowered programs have beside the hand-written ones: gathers, branches with results, states
// of several formats, tiles without axes.
#include <gtest/gtest.h>

#include "tile/machine.h"
#include "tile/text.h"
#include "tile/verify.h"

namespace tang::tile {
namespace {

Array filled(Format format, std::vector<int64_t> shape, const std::vector<double>& values) {
  Array a = *make_array(format, std::move(shape));
  for (size_t k = 0; k < values.size(); ++k) a.set(static_cast<int64_t>(k), values[k]);
  return a;
}

std::vector<double> values_of(const Array& a) {
  std::vector<double> all;
  for (int64_t k = 0; k < a.elements(); ++k) all.push_back(a.at(k));
  return all;
}

Program read(const std::string& text) {
  auto p = parse_program(text, "test");
  if (!p) {
    ADD_FAILURE() << p.error().where.line << ": " << p.error().message;
    return {};
  }
  EXPECT_EQ(print(*p), text);
  return std::move(*p);
}

std::string faults(const Program& p) {
  std::string all;
  for (const Diagnostic& d : verify(p)) all += d.message + "\n";
  return all;
}

// What went wrong when the program's first kernel ran, or "".
std::string ran(const std::string& text, std::vector<Array*> arguments) {
  const Program p = read(text);
  if (p.kernels.empty()) return "no kernel";
  EXPECT_EQ(faults(p), "");
  const auto done = run(p, p.kernels[0], {}, arguments);
  return done ? "" : done.error().message;
}

const std::string gather =
    "kernel pick on cpu.avx2 {\n"
    "  axis n, r, d\n"
    "  arg idx[n : 4] : i32\n"
    "  arg x[r : 6, d : 8] : f32\n"
    "  out y[n : 4, d : 8] : f32\n"
    "  role all warps 0..0\n"
    "  place rows (n) = reg 4 -> n\n"
    "  place both (n, d) = reg 4 -> n, elem 8 -> d\n"
    "  i = load idx[n] -> rows : i64\n"
    "  v = load x[2*i + 1, d] -> both : f32 valid i >= 0, 2 - i >= 0 fill -1.0\n"
    "  store v -> y[n, d]\n"
    "}\n";

TEST(TileForms, GathersWithinATile) {
  Array idx = filled(Format::i32, {4}, {2, -3, 0, 9}), x = *make_array(Format::f32, {6, 8}),
        y = *make_array(Format::f32, {4, 8});
  for (int64_t k = 0; k < 48; ++k) x.set(k, static_cast<double>(k));
  EXPECT_EQ(ran(gather, {&idx, &x, &y}), "");
  EXPECT_EQ(y.at(0), 40);
  EXPECT_EQ(y.at(8), -1);
  EXPECT_EQ(y.at(23), 15);
  EXPECT_EQ(y.at(24), -1);
}

TEST(TileForms, AGatherPastTheEndIsReported) {
  std::string text = gather;
  const size_t at = text.find(", 2 - i >= 0");
  text.erase(at, 12);
  Array idx = filled(Format::i32, {4}, {0, 0, 0, 3}), x = *make_array(Format::f32, {6, 8}),
        y = *make_array(Format::f32, {4, 8});
  EXPECT_NE(ran(text, {&idx, &x, &y}).find("out of bounds"), std::string::npos);
}

TEST(TileForms, StatesOfTwoFormats) {
  const std::string text =
      "kernel largest on cpu.avx2 {\n"
      "  axis n\n"
      "  arg x[n : 8] : f32\n"
      "  out v[] : f32\n"
      "  out at[] : i32\n"
      "  role all warps 0..0\n"
      "  monoid best (v, i : integer) identity (-inf, 9223372036854775807) combine "
      "(select(a.v < b.v, b.v, a.v), select(a.v < b.v, b.i, a.i))\n"
      "  place row (n) = elem 8 -> n\n"
      "  place one () = single\n"
      "  s = load x[n] -> row : f32\n"
      "  k = map n -> row : i64\n"
      "  low = map -9223372036854775808 -> one : i64\n"
      "  top, where = reduce best n : s, k -> one : f32, i64\n"
      "  last = map select(low < 0, where, low) -> one : i64\n"
      "  store top -> v[]\n"
      "  store last -> at[]\n"
      "}\n";
  Array x = filled(Format::f32, {8}, {1, 5, -2, 7, 7, 0, 3, 2}), v = *make_array(Format::f32, {}),
        at = *make_array(Format::i32, {});
  EXPECT_EQ(ran(text, {&x, &v, &at}), "");
  EXPECT_EQ(v.at(0), 7);
  EXPECT_EQ(at.at(0), 3);
}

TEST(TileForms, StoresPastTheCaches) {
  const auto text = [](const std::string& lanes, const std::string& from) {
    return "kernel copy on cpu.avx2 {\n"
           "  axis n\n"
           "  arg x[n : 8] : f32\n"
           "  out y[n : 8] : f32\n"
           "  role all warps 0..0\n"
           "  place row (n) = " +
           lanes + " -> n\n  s = load " + from +
           "[n] -> row : f32\n"
           "  store s -> y[n] row stream32.f32\n"
           "}\n";
  };
  const auto fault = [&](const std::string& lanes, const std::string& from) {
    const auto p = parse_program(text(lanes, from), "stream.tile");
    return p ? faults(*p) : p.error().message;
  };
  Array x = filled(Format::f32, {8}, {1, 2, 3, 4, 5, 6, 7, 8}), y = *make_array(Format::f32, {8});
  EXPECT_EQ(ran(text("elem 8", "x"), {&x, &y}), "");
  EXPECT_EQ(y.at(7), 8);
  EXPECT_NE(fault("elem 4", "x").find("whole vectors"), std::string::npos);
  EXPECT_NE(fault("elem 8", "y").find("reads what it stores"), std::string::npos);
}

const std::string chosen =
    "param P\n\n"
    "kernel choose on cpu.avx2 {\n"
    "  axis n\n"
    "  arg x[n : 8] : f32\n"
    "  out y[n : 8] : f32\n"
    "  role all warps 0..0\n"
    "  place one () = single\n"
    "  loop n0 from max(0, 1 - 1) to min(8, 9) {\n"
    "    a = load x[n0] -> one : f32\n"
    "    c, d = branch n0 - 3 >= 0 {\n"
    "      b = map a * 2.0 -> one : f32\n"
    "      next b, a\n"
    "    } else {\n"
    "      next a, a\n"
    "    }\n"
    "    e = map c + d -> one : f32\n"
    "    store e -> y[n0]\n"
    "  }\n"
    "}\n";

TEST(TileForms, BranchesYield) {
  std::string text = chosen;
  text.replace(text.find("1 - 1"), 5, "0");
  text.erase(0, 9);
  Array x = filled(Format::f32, {8}, {1, 1, 1, 1, 2, 2, 2, 2}), y = *make_array(Format::f32, {8});
  EXPECT_EQ(ran(text, {&x, &y}), "");
  EXPECT_EQ(values_of(y), (std::vector<double>{2, 2, 2, 3, 6, 6, 6, 6}));
}

// Terms kept apart in registers stay apart.
TEST(TileForms, PartialDigitsAgree) {
  const std::string text =
      "kernel apart on cpu.avx2 {\n"
      "  axis n, k\n"
      "  arg x[k : 4] : f32\n"
      "  out y[] : f32\n"
      "  role all warps 0..0\n"
      "  place row (k) = reg 4 -> k\n"
      "  place kept () = reg 4 partial\n"
      "  place one () = single\n"
      "  a = load x[k] -> row : f32\n"
      "  p = reduce sum k : a -> kept : f32 partial sum\n"
      "  q = map p * p -> kept : f32 partial sum\n"
      "  r = fold sum : q -> one : f32\n"
      "  store r -> y[]\n"
      "}\n";
  Array x = filled(Format::f32, {4}, {1, 2, 3, 4}), y = *make_array(Format::f32, {});
  EXPECT_EQ(ran(text, {&x, &y}), "");
  EXPECT_EQ(y.at(0), 30);
}

// Each change of a right program is a fault of its own.
TEST(TileForms, WhatIsWrong) {
  const auto fault = [](std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto p = parse_program(text, "test");
    return p ? faults(*p) : p.error().message;
  };
  const auto has = [](const std::string& text, const std::string& what) {
    return text.find(what) != std::string::npos;
  };
  EXPECT_TRUE(has(fault(chosen, "next b, a\n", "next b\n"), "yields 1 values of 2"));
  EXPECT_TRUE(has(fault(chosen, "e = map c", "e = map b"), "no value `b`"));
  EXPECT_TRUE(has(fault(chosen, " else {\n      next a, a\n    }", ""), "yields 0 values of 2"));
  EXPECT_TRUE(has(fault(gather, "rows : i64\n  v = load x[2*i + 1, d] -> both",
                        "both : i64\n  v = load x[2*i + 1, 0] -> rows"),
                  "`i` has an axis that `v` has not"));
  EXPECT_TRUE(has(fault(gather, "idx[n : 4] : i32", "idx[n : 4] : f32"), "is integer"));
  EXPECT_TRUE(has(fault(gather, "-> rows : i64", "-> rows : f32"), "is no integer tile"));
}

// A value of an inner block is gone after it, whatever the text says.
TEST(TileForms, DefinitionsComeFirst) {
  Program p = *parse_program(chosen, "test");
  Kernel& k = p.kernels[0];
  for (Op& op : k.ops)
    if (op.kind == OpKind::map && k[op.results[0]].name == "e")
      for (size_t v = 0; v < k.values.size(); ++v)
        if (k.values[v].name == "b") op.args[0] = static_cast<ValueId>(v);
  EXPECT_NE(faults(p).find("`b` is not defined before"), std::string::npos);
}

// Matrices that a row moves are held as the row holds them: two elements of a pair in one register.
TEST(TileForms, RowsMoveWhatIsHeldAsTheyHoldIt) {
  const auto wrong = [](const std::string& place) {
    const auto p = parse_program(
        "kernel move on nvidia.h200 {\n  axis i, j\n  arg x[i : 16, j : 16] : bf16\n"
        "  out y[i : 16, j : 16] : bf16\n"
        "  memory s[i : 16, j : 16] : shared bf16 = [i : 32, j : 2] align 128\n"
        "  role all warps 0..0\n  place A (i, j) = " +
            place +
            "\n  a = load x[i, j] -> A : bf16\n"
            "  store a -> s[i, j] row stmatrix.x4.b16\n  store a -> y[i, j]\n}\n",
        "test");
    EXPECT_TRUE(p) << (p ? "" : p.error().message);
    const Diagnostics faults = p ? verify(*p) : Diagnostics{};
    return faults.empty() ? std::string() : faults[0].message;
  };
  const std::string lanes = "lane 8*4 -> i, lane 4 -> 2j, ";
  EXPECT_EQ(wrong(lanes + "elem 2 -> j, reg 2 -> 8i, reg 2 -> 8j"), "");
  EXPECT_NE(
      wrong(lanes + "reg 2 -> j, reg 2 -> 8i, reg 2 -> 8j").find("`A` is not held as operand a"),
      std::string::npos);
  EXPECT_NE(
      wrong("lane 8*4 -> j, lane 4 -> 2i, elem 2 -> i, reg 2 -> 8i, reg 2 -> 8j").find("held as"),
      std::string::npos);
}

}  // namespace
}  // namespace tang::tile
