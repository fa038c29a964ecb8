// Schedules from files: a file is refused or pins fields, and what it pins lowers to a program that
// verifies.
#include "cli/schedule_file.h"
#include "front/elaborate.h"
#include "fuzz/inputs/target.h"
#include "loop/verify.h"
#include "rewrite/pipeline.h"
#include "verify/variant.h"

namespace tang::fuzz {

namespace {

const Graph& program() {
  static const Graph derived = derive(*parse(R"(param n
dim i = n, j = n, d = 8, e = 8
input q[i, d], k[j, d], v[j, e] : f32
s[i, j] = sum[d](q[i, d] * k[j, d])
p[i, j] = exp(s[i, j] - max[j](s[i, j]))
o[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])
m[i] = max[d](q[i, d])
l[i] = argmax[d](q[i, d])
output o, m, l
)"))
                                   .derived;
  return derived;
}

}  // namespace

std::vector<std::string> seeds() {
  const auto planned = make_variant(program(), {});
  require(planned.has_value(), "the program lowers");
  return {
      cli::schedule_text(planned->graph, planned->schedule),
      R"({"kernels":{"m":{"tile":[{"dim":"d","elements":8}],"contract":false}}})",
      R"({"kernels":{"o":{"blocks":[{"dim":"i","step":8},{"dim":"j","step":4}],"pivot":false}}})",
      R"({"kernels":{"o":{"stages":[{"tensor":"k","level":1,"axes":[1,0],)"
      R"("panel":{"axis":"j","width":8}},{"tensor":"s_1","level":2}]}}})",
      R"({"schema":1,"kernels":{}})"};
}

void run(std::string_view input) {
  const MemoryFile file(input);
  const auto schedule = cli::read_schedule(file.path());
  if (!schedule) return;
  PlanOptions options;
  options.pins = schedule->pins;
  const auto variant = make_variant(program(), options);
  if (!variant) return;
  const Diagnostics bad = loop::verify(variant->program());
  require(bad.empty(), "a pinned program verifies", bad.empty() ? "" : bad.front().message);
}

}  // namespace tang::fuzz
