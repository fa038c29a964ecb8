// What schedules may not say: each refusal names the kernel, the field, and the rule or law.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/schedules/support.h"

namespace tang::test {
namespace {

using ::testing::HasSubstr;

const char* attention = R"(dim h = 2, i = 70, j = 90, d = 8, e = 8
input q[h, i, d], k[h, j, d], v[h, j, e] : f32
s[h, i, j] = sum[d](q[h, i, d] * k[h, j, d])
p[h, i, j] = exp(s[h, i, j] - max[j](s[h, i, j]))
o[h, i, e] = sum[j](p[h, i, j] * v[h, j, e]) / sum[j](p[h, i, j])
output o
)";
const char* product = R"(dim i = 33, j = 40, k = 50
input a[i, k], b[k, j] : f32
c[i, j] = sum[k](a[i, k] * b[k, j])
output c
)";
const char* convolution = R"(dim n = 2, y = 9, x = 12, u = 3, w = 3
input a[n, y, x], f[u, w] : f32
c[n, y, x] = sum[u, w | 0 <= y + u - 1 and y + u - 1 < 9 and 0 <= x + w - 1 and x + w - 1 < 12](a[n, y + u - 1, x + w - 1] * f[u, w])
output c
)";
const char* affine = R"(dim i = 8, t = 64, u = 3
input a[i, t, u], b[i, t, u], c[i, t] : f32
h[i] = affine[t, u](a[i, t, u], b[i, t, u]).b
s[i] = sum[t](c[i, t])
output h, s
)";

void expect_refused(const Pinning& p, const std::string& kernels,
                    const std::vector<std::string>& parts) {
  const std::string message = p.message(kernels);
  EXPECT_NE(message, "") << kernels;
  EXPECT_THAT(message, HasSubstr("s.json"));
  for (const std::string& part : parts) EXPECT_THAT(message, HasSubstr(part)) << kernels;
}

TEST(RefusedSchedules, FieldsThatThereAreNone) {
  const Pinning p(product);
  for (const char* field : {"lanes", "vector", "outer", "inner", "mapping", "block", "tiles"})
    expect_refused(p, fmt::format(R"({{"c": {{"{}": 8}}}})", field),
                   {"kernels.c", fmt::format("no field `{}`", field)});
  expect_refused(p, R"({"c": {"blocks": [{"dim": "i", "step": 8, "size": 8}]}})",
                 {"kernels.c.blocks[0]", "no field `size`"});
  expect_refused(p, R"({"c": {"tile": [{"dim": "i", "reg": 8}]}})", {"no field `reg`"});
  expect_refused(p, R"({"c": {"rows": {"m": {"threads": 2}}}})",
                 {"kernels.c.rows.m", "no field `threads`"});
}

TEST(RefusedSchedules, PreparedWindows) {
  const Pinning p(product, {.constants = {"b"}});
  expect_refused(p, R"({"c": {"stages": [{"tensor": "a", "level": 0, "prepared": true}]}})",
                 {"constant alone", "purity"});
  expect_refused(p,
                 R"({"c": {"blocks": [{"dim": "k", "step": 10}],
                           "stages": [{"tensor": "b", "level": 1, "prepared": true}]}})",
                 {"`b` at level 1", "outside of all block loops", "purity"});
  expect_refused(p, R"({"c": {"stages": [{"tensor": "b", "level": 0, "prepared": 1}]}})",
                 {"stages[0].prepared: 1 is not true or false"});
  const Pinning c(convolution, {.constants = {"a"}});
  expect_refused(
      c, R"({"c": {"stages": [{"tensor": "a", "level": 0, "prepared": true, "padded": true}]}})",
      {"zeros around", "purity"});
  const Pinning s(
      "param n\ndim i = 4, k = n\ninput a[i, k], b[k] : f32\n"
      "c[i] = sum[k](a[i, k] * b[k])\noutput c\n",
      {.constants = {"b"}});
  expect_refused(s, R"({"c": {"stages": [{"tensor": "b", "level": 0, "prepared": true}]}})",
                 {"known size", "purity"});
}

TEST(RefusedSchedules, ValuesOfOtherTypes) {
  const Pinning p(product);
  const std::pair<const char*, const char*> cases[] = {
      {R"({"c": 3})", "kernels.c: 3 is not an object"},
      {R"([])", "kernels: [] is not an object"},
      {R"({"c": {"blocks": {}}})", "kernels.c.blocks: {} is not a list"},
      {R"({"c": {"blocks": [[[1]]]}})", "kernels.c.blocks[0]: […] is not an object"},
      {R"({"c": {"pivot": {"a": 1}}})", "kernels.c.pivot: {…} is not true or false"},
      {R"({"c": {"blocks": [1]}})", "kernels.c.blocks[0]: 1 is not an object"},
      {R"({"c": {"blocks": [{"dim": 1, "step": 1}]}})", "blocks[0].dim: 1 is not a name"},
      {R"({"c": {"blocks": [{"dim": "i"}]}})", "blocks[0]: there is no `step`"},
      {R"({"c": {"blocks": [{"dim": "i", "step": 1.5}]}})", "step: 1.5 is not an integer"},
      {R"({"c": {"blocks": [{"dim": "i", "step": 99999999999999999999}]}})", "not an integer"},
      {R"({"c": {"blocks": [{"dim": "i", "step": 18446744073709551615}]}})", "not an integer"},
      {R"({"c": {"pivot": 1}})", "kernels.c.pivot: 1 is not true or false"},
      {R"({"c": {"contract": "no"}})", "kernels.c.contract"},
      {R"({"c": {"threads": true}})", "kernels.c.threads"},
      {R"({"c": {"machine": 2}})", "kernels.c.machine"},
      {R"({"c": {"inlined": "s"}})", "kernels.c.inlined"},
      {R"({"c": {"rows": []}})", "kernels.c.rows: [] is not an object"},
      {R"({"c": {"stages": [{"tensor": "a"}]}})", "stages[0]: there is no `level`"},
      {R"({"c": {"stages": [{"tensor": "a", "level": 0, "panel": 8}]}})", "stages[0].panel"},
      {R"({"c": {"stages": [{"tensor": "a", "level": 0, "axes": [1.5]}]}})", "axes[0]"},
  };
  for (const auto& [kernels, part] : cases) expect_refused(p, kernels, {part});
}

TEST(RefusedSchedules, NamesThatThereAreNone) {
  const Pinning p(product), o(attention), y(rows);
  expect_refused(p, R"({"cc": {}})", {"no kernel `cc`"});
  expect_refused(o, R"({"s": {}})", {"no kernel `s`"});
  EXPECT_THAT(o.variant(R"({"s": {}})").error().hint, HasSubstr("`o` recomputes it"));
  EXPECT_THAT(p.variant(R"({"cc": {}})").error().hint, HasSubstr("`c`"));
  for (const char* field : {"points", "reduce"})
    expect_refused(p, fmt::format(R"({{"c": {{"{}": ["z"]}}}})", field),
                   {"kernel `c`", field, "no dim `z`"});
  expect_refused(p, R"({"c": {"blocks": [{"dim": "z", "step": 1}]}})", {"`blocks`", "no dim `z`"});
  expect_refused(p, R"({"c": {"tile": [{"dim": "z"}]}})", {"`tile`", "no dim `z`"});
  expect_refused(p, R"({"c": {"stages": [{"tensor": "z", "level": 0}]}})",
                 {"`stages`", "reads no `z`"});
  expect_refused(p, R"({"c": {"stages": [{"tensor": "a", "level": 0, "axes": ["z", "k"]}]}})",
                 {"`a` has no axis `z`"});
  expect_refused(
      p, R"({"c": {"stages": [{"tensor": "a", "level": 0, "panel": {"axis": 2, "width": 8}}]}})",
      {"`a` has no axis `2`", "reshape_bij"});
  expect_refused(p, R"({"c": {"machine": "cpu.avx"}})", {"`machine` `cpu.avx`"});
  expect_refused(p, R"({"c": {"machine": "nvidia.sm80"}})", {"another kind of machine"});
  expect_refused(p, R"({"c": {"inlined": ["x"]}})", {"`inlined` `x`", "no such definition"});
  expect_refused(y, R"({"y": {"rows": {"x": {}}}})", {"`rows` `x`", "no such definition"});
}

TEST(RefusedSchedules, Orders) {
  const Pinning p(product), a(affine);
  expect_refused(p, R"({"c": {"points": ["i"]}})", {"`points` i", "each of i j once"});
  expect_refused(p, R"({"c": {"points": ["i", "i", "j"]}})", {"each of i j once"});
  expect_refused(p, R"({"c": {"reduce": []}})", {"`reduce`", "each of k once"});
  expect_refused(p, R"({"c": {"reduce": ["i"]}})", {"each of k once"});
  expect_refused(a, R"({"h": {"reduce": ["u", "t"]}})",
                 {"kernel `h`", "`reduce` u t", "fold_perm", "commutative"});
}

TEST(RefusedSchedules, Blocks) {
  const Pinning p(product), a(affine);
  const auto blocks = [](const std::string& kernel, const std::string& list) {
    return fmt::format(R"({{"{}": {{"blocks": [{}]}}}})", kernel, list);
  };
  for (const char* step : {"0", "-8"})
    expect_refused(p, blocks("c", fmt::format(R"({{"dim": "i", "step": {}}})", step)),
                   {"`blocks` i", step, "1 or more"});
  std::string many;
  for (int k = 0; k < 1000; ++k) many += std::string(k ? "," : "") + R"({"dim": "i", "step": 1})";
  expect_refused(p, blocks("c", many), {"`blocks`", "32 block loops"});
  expect_refused(p, blocks("c", R"({"dim": "i", "step": 12}, {"dim": "i", "step": 8})"),
                 {"`blocks` i 8", "12", "no multiple"});
  expect_refused(a, blocks("h", R"({"dim": "u", "step": 1})"), {"`blocks` u 1", "fold_perm"});
  expect_refused(a, blocks("h", R"({"dim": "t", "step": 8}, {"dim": "u", "step": 1})"),
                 {"`blocks` u 1", "fold_perm"});
  const Pinning partial(
      "param n = 5\ndim i = 4, j = 30, e = n\ninput x[i, j], v[j, e] : f32\n"
      "(m[i], s[i, e]) = (max[j](x[i, j]), sum[j](x[i, j] * v[j, e]))\noutput m, s\n");
  expect_refused(partial, blocks("m", R"({"dim": "e", "step": 4})"),
                 {"`m` has no e", "independent_points"});
  const Pinning o(attention);
  expect_refused(o, blocks("o", R"({"dim": "j", "step": 16}, {"dim": "e", "step": 4})"),
                 {"`blocks` e 4", "more than once", "fold_split"});
  const Pinning placed(
      "dim i = 40, j = 8\ninput x[i], a[i, j] : f32\n"
      "y[i] = x[i] + sum[j](a[i, j] * x[i])\noutput y into x\n");
  expect_refused(placed, blocks("y", R"({"dim": "j", "step": 4})"), {"`x`", "purity"});
}

TEST(RefusedSchedules, Pivots) {
  const Pinning p(product), o(attention), a(affine);
  expect_refused(p, R"({"c": {"pivot": true}})", {"`pivot` true", "pivot_form"});
  expect_refused(a, R"({"h": {"pivot": true}})", {"`pivot` true", "pivot_form"});
  expect_refused(o, R"({"o": {"tile": []}})", {"`tile`", "pivot"});
  expect_refused(o, R"({"o": {"points": ["i", "h", "e"]}})", {"`points`", "pivot"});
  const Pinning ordered(R"(dim i = 4, j = 90
input x[i, j], v[i, j] : f32
monoid soft(m, l)
  identity (-inf, 0.0)
  lift(x, v) = (x, v)
  combine(a, b) = (max(a.m, b.m), a.l * exp(a.m - max(a.m, b.m)) + b.l * exp(b.m - max(a.m, b.m)))
y[i] = soft[j](x[i, j], v[i, j]).l
output y
)");
  EXPECT_THAT(ordered.message(R"({"y": {"pivot": true}})"), HasSubstr("law"));
}

TEST(RefusedSchedules, Tiles) {
  const Pinning p(product), a(affine);
  const auto tile = [](const std::string& kernel, const std::string& list) {
    return fmt::format(R"({{"{}": {{"tile": [{}]}}}})", kernel, list);
  };
  expect_refused(p, tile("c", R"({"dim": "i", "registers": 0})"), {"`tile` i 0", "1 or more"});
  expect_refused(p, tile("c", R"({"dim": "j", "elements": -8})"), {"1 or more"});
  expect_refused(p, tile("c", R"({"dim": "j", "elements": 3})"), {"2, 4, 8 or 16"});
  expect_refused(p, tile("c", R"({"dim": "j", "elements": 32})"), {"2, 4, 8 or 16"});
  expect_refused(p, tile("c", R"({"dim": "j", "elements": 8}, {"dim": "i", "elements": 8})"),
                 {"along one dim"});
  expect_refused(p, tile("c", R"({"dim": "j", "elements": 8}, {"dim": "j", "registers": 8})"),
                 {"one tile"});
  expect_refused(p, tile("c", R"({"dim": "i", "registers": 9}, {"dim": "j", "registers": 9})"),
                 {"64 registers"});
  expect_refused(p, tile("c", R"({"dim": "i", "registers": 1099511627776})"), {"64 registers"});
  expect_refused(a, tile("h", R"({"dim": "t", "elements": 8})"),
                 {"kernel `h`", "fold_perm", "commutative"});
  expect_refused(a, tile("h", R"({"dim": "u", "registers": 2})"), {"fold_perm"});
}

std::string stages(const std::string& kernel, const std::string& list,
                   const std::string& more = "") {
  return fmt::format(R"({{"{}": {{{}"stages": [{}]}}}})", kernel, more, list);
}

TEST(RefusedSchedules, Windows) {
  const Pinning p(product), o(attention), c(convolution);
  for (const char* level : {"1", "-1", "1000000000000"})
    expect_refused(p, stages("c", fmt::format(R"({{"tensor": "a", "level": {}}})", level)),
                   {"`stages`", level, "purity"});
  expect_refused(p, stages("c", R"({"tensor": "a", "level": 0}, {"tensor": "a", "level": 0})"),
                 {"one window"});
  expect_refused(p, stages("c", R"({"tensor": "a", "level": 0, "axes": ["i"]})"),
                 {"each axis", "reshape_bij"});
  expect_refused(p, stages("c", R"({"tensor": "a", "level": 0, "axes": ["i", "i"]})"),
                 {"each axis"});
  for (const char* width : {"0", "1", "-4"})
    expect_refused(
        p,
        stages("c", fmt::format(R"({{"tensor": "a", "level": 0, "panel": {{"axis": "i", )"
                                R"("width": {}}}}})",
                                width)),
        {"panel of width", width});
  expect_refused(p,
                 stages("c", R"({"tensor": "b", "level": 0, "panel": {"axis": "j", "width": 6}})",
                        R"("tile": [{"dim": "j", "elements": 8}], )"),
                 {"panels of 6", "reshape_bij"});
  for (const char* phases : {"0", "2"})
    expect_refused(
        p, stages("c", fmt::format(R"({{"tensor": "a", "level": 0, "phases": {}}})", phases)),
        {"phases", "reshape_bij"});
  expect_refused(p, stages("c", R"({"tensor": "a", "level": 0, "padded": true})"),
                 {"zeros", "guard_promote"});
  expect_refused(c, stages("c", R"({"tensor": "f", "level": 0, "padded": true})"),
                 {"zeros", "guard_promote"});
  expect_refused(o, stages("o", R"({"tensor": "k", "level": 3})", R"("inlined": ["s"], )"),
                 {"`s` is recomputed and has no window", "purity"});
  expect_refused(o, stages("o", R"({"tensor": "s", "level": 3}, {"tensor": "k", "level": 3})"),
                 {"`k` at level 3", "nothing reads it any more"});
  expect_refused(o, stages("o", R"({"tensor": "s", "level": 3, "padded": true})"), {"zeros"});
  const Pinning gather(
      "dim i = 4, j = 6, n = 9\ninput x[n, j] : f32, at[i] : i32\n"
      "y[i] = sum[j](x[at[i], j])\noutput y\n");
  expect_refused(gather, stages("y", R"({"tensor": "x", "level": 0})"), {"not known"});
  const Pinning placed("dim i = 40\ninput x[i], a[i] : f32\ny[i] = x[i] * a[i]\noutput y into x\n");
  expect_refused(placed, stages("y", R"({"tensor": "x", "level": 0})"), {"overwritten"});
  const Pinning fills(
      "dim i = 40, j = 3\ninput x[i] : f32\n"
      "y[i] = max[j](x?[i + j - 1]) + sum[j](x?[i + j - 2])\noutput y\n");
  expect_refused(fills, stages("y", R"({"tensor": "x", "level": 0})"),
                 {"different values outside", "fuse_guarded"});
}

TEST(RefusedSchedules, WindowsThatDoNotFit) {
  const Pinning large(
      "dim i = 600, k = 600, j = 8\ninput a[i, k], b[k, j] : f32\n"
      "c[i, j] = sum[k](a[i, k] * b[k, j])\noutput c\n");
  expect_refused(large, stages("c", R"({"tensor": "a", "level": 0})", R"("blocks": [], )"),
                 {"1440000 bytes", "1048576"});
  const Pinning states(
      "dim i = 700, j = 400, k = 9\ninput a[i, k], b[k, j] : f32\n"
      "c[i, j] = sum[k](a[i, k] * b[k, j]) + 1\nd[i, j] = exp(c[i, j])\noutput c, d\n");
  EXPECT_EQ(states.message(R"({"c": {"blocks": [{"dim": "k", "step": 3}], "stages": []}})"), "");
  const Pinning open(
      "param n\ndim i = n, k = 9\ninput a[i, k] : f32\n"
      "c[i] = sum[k](a[i, k])\noutput c\n");
  expect_refused(open, stages("c", R"({"tensor": "a", "level": 0})"), {"not known"});
}

TEST(RefusedSchedules, DefinitionsInside) {
  const Pinning o(attention), y(rows);
  const Pinning chain(
      "dim i = 6, j = 7\ninput x[i, j] : f32\n"
      "a[i] = sum[j](x[i, j])\nb[i, j] = exp(x[i, j] * a[i])\noutput a, b\n");
  expect_refused(chain, R"({"b": {"rows": {"a": {}}}})", {"`rows` `a`", "output", "purity"});
  expect_refused(chain, R"({"b": {"inlined": ["a"]}})", {"`inlined` `a`", "output", "purity"});
  const Pinning two(
      "dim i = 6, j = 7, d = 5\ninput x[i, d], z[j, d] : f32\n"
      "s[i, j] = sum[d](x[i, d] * z[j, d])\n"
      "a[i] = max[j](s[i, j])\nb[j] = max[i](s[i, j])\noutput a, b\n");
  expect_refused(two, R"({"a": {"inlined": ["s"]}, "b": {"inlined": []}})",
                 {"kernel `a`", "`b` reads it stored", "purity"});
}

TEST(RefusedSchedules, Rows) {
  const Pinning y(rows);
  const std::string plan = y.planned();
  ASSERT_THAT(plan, HasSubstr("\"rows\":{\"")) << plan;
  const size_t at = plan.find("\"rows\":{\"") + 9;
  const std::string row = plan.substr(at, plan.find('"', at) - at);
  const std::string asked = fmt::format(R"("rows": {{"{}": {{}}}})", row);
  expect_refused(y, fmt::format(R"({{"y": {{"blocks": [], {}}}}})", asked),
                 {"need blocks of their points first", "independent_points"});
  expect_refused(y, fmt::format(R"({{"y": {{"stages": [], {}}}}})", asked), {"no window"});
  expect_refused(
      y, fmt::format(R"({{"y": {{"stages": [{{"tensor": "{}", "level": 0}}], {}}}}})", row, asked),
      {"inside the loops over their points"});
  expect_refused(
      y,
      fmt::format(R"({{"y": {{"rows": {{"{}": {{"blocks": [{{"dim": "i", "step": 1}}]}}}}}}}})",
                  row),
      {"rows", "blocks"});
}

TEST(RefusedSchedules, WeightsOfRows) {
  const Pinning y(rows);
  expect_refused(y, R"({"y": {"rows": {"y_1": {"kept": true, "pivot": false}}}})",
                 {"rows.y_1.kept", "only a pivot form"});
  expect_refused(
      y, R"({"y": {"rows": {"y_1": {"kept": true, "blocks": [{"dim": "j", "step": 16}]}}}})",
      {"rows.y_1.kept", "block of terms"});
  const Pinning other(
      "dim i = 5, j = 70\ninput x[i, j] : f32\n"
      "y[i, j] = x[i, j] - logsumexp[j](x[i, j])\noutput y\n");
  expect_refused(other, R"({"y": {"rows": {"y_1": {"kept": true}}}})", {"nothing reads them"});
}

TEST(RefusedSchedules, StoresPastTheCaches) {
  const Pinning y(rows), c(product), o(attention);
  expect_refused(y, R"({"y": {"streamed": ["x"]}})", {"`streamed` `x`", "stores no such tensor"});
  expect_refused(y, R"({"y": {"streamed": ["y", "y"]}})", {"named twice"});
  expect_refused(o, R"({"o": {"streamed": ["o"]}})", {"while terms are left"});
  expect_refused(c, R"({"c": {"streamed": ["c"], "blocks": [{"dim": "k", "step": 8}]}})",
                 {"while terms are left"});
  expect_refused(c, R"({"c": {"streamed": ["c"], "points": ["j", "i"]}})", {"innermost loop"});
  expect_refused(c, R"({"c": {"streamed": ["c"], "points": ["i", "j"], "tile": []}})",
                 {"past the caches"});
}

TEST(RefusedSchedules, Threads) {
  const Pinning alone(product);
  expect_refused(alone, R"({"c": {"threads": 2}})", {"`threads` 2", "--threads"});
  expect_refused(alone, R"({"c": {"threads": 0}})", {"`threads` 0"});
  const Pinning four(product, {.threads = 4});
  EXPECT_EQ(four.message(R"({"c": {"threads": 4}})"), "");
  expect_refused(four, R"({"c": {"threads": 3}})", {"`threads` 3", "4"});
  expect_refused(four, R"({"c": {"threads": 4, "blocks": [{"dim": "k", "step": 10}]}})",
                 {"`threads` 4", "independent_points"});
  const Pinning number("dim i = 1000\ninput x[i] : f32\ny = sum[i](x[i])\noutput y\n",
                       {.threads = 4});
  expect_refused(number, R"({"y": {"threads": 4}})", {"independent_points"});
}

TEST(RefusedSchedules, FusedOperationsUnderIeee) {
  const Pinning p(product, {.contract = false});
  expect_refused(p, R"({"c": {"contract": true}})", {"`contract` true", "contract_fma"});
  EXPECT_EQ(p.message(R"({"c": {"contract": false}})"), "");
}

TEST(RefusedSchedules, Scans) {
  const Pinning p(
      "dim b = 4, t = 20\ninput a[b, t] : f32\nh[b, t] = scan[t; sum](a[b, t])\noutput h\n");
  for (const char* fields :
       {R"("stages": [])", R"("reduce": [])", R"("pivot": false)", R"("rows": {})",
        R"("blocks": [{"dim": "t", "step": 5}])", R"("tile": [{"dim": "t", "registers": 2}])"})
    expect_refused(p, fmt::format(R"({{"h": {{{}}}}})", fields), {"kernel `h`", "scan_prefix"});
  expect_refused(p, R"({"h": {"points": ["b", "t"]}})", {"an order has each of b once"});
  EXPECT_EQ(p.message(p.planned()), "");
}

TEST(RefusedSchedules, ScansOfMatrices) {
  const Pinning p(
      "dim t = 9, x = 4, y = 4\ninput A[t, x, y], B[t, x], h0[x] : f32\n"
      "h[t, x] = matscan[t; x, y](A[t, x, y], B[t, x], h0[x])\noutput h\n");
  for (const char* fields : {R"("blocks": [])", R"("tile": [])", R"("points": ["x"])"})
    expect_refused(p, fmt::format(R"({{"h": {{{}}}}})", fields), {"kernel `h`", "scan_prefix"});
  EXPECT_EQ(p.message(p.planned()), "");
}

}  // namespace
}  // namespace tang::test
