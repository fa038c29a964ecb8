// Tensor maps: what they do to values, and maps that the device changes.
#include <cstring>

#include <fmt/format.h>

#include "probe/question.h"
#include "probe/questions.h"

namespace tang::probe {

namespace {

struct MapType {
  int number;
  const char* name;
};
constexpr MapType map_types[] = {{7, "f32"}, {10, "f32-ftz"}, {11, "tf32"}, {12, "tf32-ftz"}};

// Subnormals, digits below tf32's, a tie, a NaN and an infinity.
constexpr std::array<uint32_t, 12> words{0x00000001, 0x807fffff, 0x00400000, 0x3f801000,
                                         0x3f801001, 0x3f803000, 0x3f800fff, 0x00802fff,
                                         0x7fc00000, 0x7f800001, 0x7f800000, 0x00001000};

const Case* one_dimensional(const Plan& plan, const std::string& row) {
  for (const Case& c : plan.cases)
    if (plan.kernel(c).row->name == row && c.sizes[0] == 12) return &c;
  return nullptr;
}

std::string changes(const std::byte* found) {
  std::string text;
  for (size_t k = 0; k < words.size(); ++k) {
    uint32_t is = 0;
    std::memcpy(&is, found + 4 * k, 4);
    if (is != words[k])
      text += fmt::format("{}{:08x} becomes {:08x}", text.empty() ? "" : ", ", words[k], is);
  }
  return text.empty() ? "all bits stay" : text;
}

// What a row that copies 12 words does to them, through a map of a type.
Result<Finding> ask_type(Bench& bench, const std::string& row, const MapType& type) {
  const Case* found = one_dimensional(bench.plan(), row);
  if (!found) return error("E0910", "no case of " + row);
  Case c = *found;
  c.extents = {12};
  c.at = {0};
  c.lies = {};
  for (size_t i = 0; i < 2; ++i)
    if (found->lies[i].layout >= 0) c.lies[i] = {found->lies[i].layout, 0, 0};
  c.given.assign(2, std::vector<uint64_t>(words.begin(), words.end()));
  c.given[0].assign(12, 0);
  auto m = make_memory(bench.plan(), c);
  if (!m) return tl::unexpected(m.error());
  m->map->type = type.number;
  const auto after = bench.run(c, *m);
  if (!after) return tl::unexpected(after.error());
  const bool loads = m->result_at.empty();
  const int64_t at = loads ? static_cast<int64_t>(m->args.shared_out - bench.memory() +
                                                  m->args.descriptors[0] % 0x4000 * 16)
                           : m->result_at[0];
  return Finding{row, std::string(type.name) + " map", true, changes(after->data() + at)};
}

}  // namespace

Findings ask_map_values(Bench& bench) {
  std::vector<Finding> result;
  for (const char* row : {"tma.load.1d.b32", "tma.store.1d.b32", "tma.add.1d.b32"})
    for (const MapType& type : map_types) {
      auto f = ask_type(bench, row, type);
      if (!f && !bench.alive()) return tl::unexpected(f.error());
      result.push_back(f ? *f : Finding{row, type.name, true, f.error().message});
    }
  return result;
}

Findings ask_map_changes(Bench& bench) {
  const auto function = bench.question("question_replace");
  if (!function) return tl::unexpected(function.error());
  // Two tensors of 16 × 8 words, the result, and the map in global memory.
  constexpr uint32_t tensor_bytes = 16 * 8 * 4, rows = 11;
  std::vector<std::byte> memory(4 * 1024);
  for (uint32_t k = 0; k < 2 * tensor_bytes / 4; ++k) std::memcpy(&memory[4 * k], &k, 4);
  MapFields map;
  map.base = bench.memory();
  map.extents = {8, 16};
  map.strides = {32};
  map.box = {8, 16};
  QuestionArgs q{};
  q.in = bench.memory() + tensor_bytes;
  q.out = bench.memory() + 2048;
  q.other = bench.memory() + 3072;
  q.count = rows;
  Launch l{*function, 1, 32, 1, 4096, false, &q};
  Result<void> r = bench.driver().encode(map, q.map);
  if (r) r = bench.driver().write(bench.memory(), memory);
  if (r) r = bench.driver().launch(l);
  if (r) r = bench.driver().wait();
  if (r) r = bench.driver().read(bench.memory(), memory);
  if (!r) return tl::unexpected(r.error());
  Finding f{"tensormap.replace", "base and extent 1", true, "the box comes through the new map"};
  for (uint32_t k = 0; k < 128; ++k) {
    uint32_t is = 0;
    std::memcpy(&is, &memory[2048 + 4 * k], 4);
    const uint32_t wanted = k < rows * 8 ? tensor_bytes / 4 + k : 0;
    if (is == wanted || !f.ok) continue;
    f.ok = false;
    f.what = fmt::format("word {} is {}, not {}", k, is, wanted);
  }
  return std::vector<Finding>{f};
}

}  // namespace tang::probe
