// Graphs parted so that each kernel binds few buffers mean what they meant.
#include "schedule/partition.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "eval/compare.h"
#include "eval/oracle.h"
#include "eval/random_inputs.h"
#include "front/elaborate.h"
#include "front/render.h"
#include "ir/bind.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "rewrite/pipeline.h"
#include "verify/variant.h"

namespace tang {
namespace {

Graph graph_of(const std::string& text) {
  auto g = parse(text);
  EXPECT_TRUE(g) << (g ? "" : render(g.error(), nullptr)) << text;
  if (!g) return {};
  const Diagnostics bad = bind(*g, {});
  EXPECT_TRUE(bad.empty()) << render(bad, nullptr);
  return std::move(*g);
}

size_t most_bound(const Graph& g) {
  size_t most = 0;
  for (NodeId id : g.order()) {
    std::set<TensorId> bound;
    for (TensorId t : tensors_read(g, g[id])) bound.insert(t);
    for (const Target& t : g[id].targets) bound.insert(t.tensor);
    most = std::max(most, bound.size());
  }
  return most;
}

Evaluation values_of(const Graph& g, const Graph& inputs) {
  static std::vector<Array> arrays;
  arrays.clear();
  for (TensorId t : inputs_of(inputs)) arrays.push_back(*random_input(inputs, t, {}, 0));
  Given given;
  const std::vector<TensorId> ids = inputs_of(g);
  for (size_t k = 0; k < ids.size(); ++k) given[ids[k]] = &arrays[k];
  auto values = evaluate(g, {}, given);
  EXPECT_TRUE(values) << (values ? "" : values.error().message);
  return values ? std::move(*values) : Evaluation{};
}

// As written and as derived, each with every number of buffers from `least` on.
void expect_parts(const std::string& text, int64_t least) {
  SCOPED_TRACE(text);
  const Graph written = graph_of(text);
  const Evaluation want = values_of(written, written);
  for (const Graph& whole : {written, derive(written).derived})
    for (const int64_t most : {least, least + 1, int64_t{8}, int64_t{31}}) {
      Graph g = whole;
      fit_buffers(g, most);
      EXPECT_LE(most_bound(g), static_cast<size_t>(most)) << print(g);
      const Diagnostics bad = verify(g);
      EXPECT_TRUE(bad.empty()) << render(bad, nullptr) << print(g);
      const Evaluation got = values_of(g, written);
      for (size_t k = 0; k < written.outputs.size(); ++k) {
        const Comparison c =
            compare(want.at(written.outputs[k].tensor), got.at(g.outputs[k].tensor));
        EXPECT_TRUE(c.passes(1e-12)) << comparison_text(c) << print(g);
      }
    }
}

// "a0[i], a1[i], …"
std::string list(int count, const char* index, const char* between) {
  std::string text;
  for (int k = 0; k < count; ++k) text += fmt::format("{}a{}[{}]", k ? between : "", k, index);
  return text;
}

TEST(Partition, SumsOfManyInputs) {
  for (const int n : {2, 9, 12, 40})
    expect_parts(fmt::format("dim i = 64\ninput {} : f32\ny[i] = {}\noutput y\n",
                             list(n, "i", ", "), list(n, "i", " + ")),
                 3);
}

TEST(Partition, WhatAFoldReadsAndWhatFollowsIt) {
  expect_parts(fmt::format("dim i = 6, k = 7, j = 5\ninput {}, x[i, k], w[k, j] : f32\n"
                           "y[i, j] = sum[k](x[i, k] * w[k, j]) + {}\noutput y\n",
                           list(12, "j", ", "), list(12, "j", " + ")),
               3);
  expect_parts(fmt::format("dim i = 6, k = 7, j = 5\ninput {}, x[i, k], w[k, j] : f32\n"
                           "y[i, j] = sum[k](x[i, k] * w[k, j] * ({}))\noutput y\n",
                           list(12, "k", ", "), list(12, "k", " + ")),
               3);
}

TEST(Partition, TargetsOfOneFold) {
  std::string text = "dim i = 5, j = 9\ninput x[i, j], w[j] : f32\n", names;
  for (int k = 0; k < 12; ++k) {
    text += fmt::format("y{0}[i] = sum[j](x[i, j] * w[j] * {0}) + {0}\n", k);
    names += fmt::format("{}y{}", k ? ", " : "", k);
  }
  expect_parts(text + "output " + names + "\n", 4);
}

TEST(Partition, ReadsThatConditionsKeepInside) {
  expect_parts(fmt::format("dim i = 9, j = 9\ninput {} : f32\n"
                           "y[i] = sum[j | 1 <= j and j <= i]({})\noutput y\n",
                           list(10, "j", ", "), list(10, "j - 1", " * ")),
               3);
}

TEST(Partition, GathersAndSelections) {
  expect_parts(
      "dim i = 9, n = 20\ninput a[n], b[n], c[n], d[n] : f32, at[i], to[i] : i32, keep[i] : bool\n"
      "y[i] = select(keep[i], a?[at[i]] + b?[to[i]], c?[at[i]] * d?[to[i]])\noutput y\n",
      4);
}

TEST(Partition, LeavesWhatHasNoParts) {
  Graph g = graph_of(
      "dim i = 4, k = 4, j = 4\ninput x[i, k], w[k, j] : f32\n"
      "y[i, j] = sum[k](x[i, k] * w[k, j])\noutput y\n");
  const std::string before = print(g);
  fit_buffers(g, 2);
  EXPECT_EQ(print(g), before);
}

}  // namespace
}  // namespace tang
