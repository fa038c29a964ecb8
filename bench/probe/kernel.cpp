#include "probe/kernel.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tang::probe {

namespace {

Space space(const Operand& o) { return o.spaces[0]; }

// The row's text as an asm statement: its operands get numbers, results first.
class Statement {
 public:
  explicit Statement(const Kernel& kernel) : k_(kernel), row_(*kernel.row) {
    for (size_t i = 0; i < row_.operands.size(); ++i)
      if (is_result(i) && space(row_.operands[i]) == Space::reg)
        for (int64_t r = 0; r < register_count(row_, row_.operands[i], k_.sizes); ++r)
          outputs_.push_back(
              fmt::format("\"+{}\"(r{}[{}])", word(row_.operands[i].formats[0]).constraint, i, r));
  }

  std::string text() {
    const std::vector<std::string_view> known = holes(row_.text);
    std::string body =
        fill_holes(row_.text, [&](std::string_view hole) -> std::optional<std::string> {
          if (std::find(known.begin(), known.end(), hole) == known.end()) return std::nullopt;
          return value(hole);
        });
    std::replace(body.begin(), body.end(), '\n', ' ');
    if (row_.text.find(".keep}") != row_.text.npos)
      body = fmt::format("{{ .reg .pred keep; setp.ne.b32 keep, {}, 0; {} }}", input('r', "a.keep"),
                         body);
    return fmt::format("asm volatile(\"{}\"\n      : {}\n      : {}\n      : \"memory\");", body,
                       fmt::join(outputs_, ", "), fmt::join(inputs_, ", "));
  }

 private:
  bool is_result(size_t i) const { return row_.computes.result && *row_.computes.result == i; }

  std::string input(char constraint, const std::string& expression) {
    const std::string text = fmt::format("\"{}\"({})", constraint, expression);
    const auto at = std::find(inputs_.begin(), inputs_.end(), text);
    const auto number = outputs_.size() + static_cast<size_t>(at - inputs_.begin());
    if (at == inputs_.end()) inputs_.push_back(text);
    return fmt::format("%{}", number);
  }

  std::string value(std::string_view hole) {
    const size_t dot = hole.find('.');
    const Operand* o = row_.find(hole.substr(0, dot));
    if (!o) return immediate(hole);
    const size_t i = static_cast<size_t>(o - row_.operands.data());
    if (dot == hole.npos) return operand(i);
    const std::string_view fact = hole.substr(dot + 1);
    if (fact == "keep") return "keep";
    if (fact == "sign") return fmt::format("{}", k_.sign[i]);
    if (fact == "trans") return fmt::format("{}", k_.trans[i]);
    if (fact == "bytes") return input('r', "a.bytes");
    return one(i, std::atoi(std::string(fact).c_str()));
  }

  std::string immediate(std::string_view hole) {
    if (const auto size = row_.names(k_.sizes)(hole)) return fmt::format("{}", *size);
    if (hole == "barrier") return input('r', "barrier");
    if (hole == "blocks") return input('h', "static_cast<uint16_t>(3)");
    if (hole == "by") return input('r', "a.by");
    std::vector<std::string> xs;
    for (size_t k = 0; k < row_.axes.size(); ++k)
      xs.push_back(input('r', fmt::format("a.coordinates[{}]", k)));
    return fmt::format("{}", fmt::join(xs, ", "));
  }

  std::string one(size_t i, int64_t r) {
    if (is_result(i)) return fmt::format("%{}", r);
    return input(word(row_.operands[i].formats[0]).constraint, fmt::format("r{}[{}]", i, r));
  }

  std::string operand(size_t i) {
    const Operand& o = row_.operands[i];
    if (space(o) == Space::reg) {
      std::vector<std::string> list;
      for (int64_t r = 0; r < register_count(row_, o, k_.sizes); ++r) list.push_back(one(i, r));
      return fmt::format("{}", fmt::join(list, ", "));
    }
    if (space(o) == Space::global)
      return input('l', has_map(row_) ? "probe.map()" : fmt::format("probe.global({})", i));
    if (row_.scope == Scope::warpgroup) return input('l', fmt::format("probe.descriptor({})", i));
    if (space(o) == Space::cluster_shared && !o.multicast)
      return input('r', fmt::format("in_block(probe.shared({}), 1)", i));
    return input('r', fmt::format("probe.shared({})", i));
  }

  const Kernel& k_;
  const Row& row_;
  std::vector<std::string> outputs_, inputs_;
};

// What completes a row, by the same threads.
std::string completion(const Row& row) {
  if (row.done == Done::commit_group && row.scope == Scope::warpgroup)
    return "asm volatile(\"wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\" ::: "
           "\"memory\");";
  if (row.done == Done::commit_group)
    return "asm volatile(\"cp.async.commit_group; cp.async.wait_group 0;\" ::: \"memory\");";
  if (row.done == Done::bulk_group)
    return "asm volatile(\"cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\" ::: "
           "\"memory\");";
  return {};
}

std::string body(const Kernel& k) {
  const Row& row = *k.row;
  const std::string run = Statement(k).text() + " " + completion(row);
  if (row.scope == Scope::warpgroup)
    return "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n  " + run + "\n";
  if (row.scope != Scope::one_thread) return "  " + run + "\n";
  if (row.done != Done::mbarrier_tx) return "  if (threadIdx.x == 0) { " + run + " }\n";
  if (k.blocks() == 1)
    return "  const uint32_t barrier = probe.barrier();\n"
           "  if (threadIdx.x == 0) { probe.expect(); " +
           run + " }\n  probe.wait();\n";
  bool everywhere = false;
  for (const Operand& o : row.operands) everywhere |= o.multicast;
  const std::string receives = everywhere ? "true" : "rank == 1";
  return fmt::format(
      "  const uint32_t barrier = {};\n"
      "  if (threadIdx.x == 0 && ({})) probe.expect();\n"
      "  cluster_sync();\n"
      "  if (threadIdx.x == 0 && rank == 0) {{ {} }}\n"
      "  if ({}) probe.wait();\n"
      "  cluster_sync();\n",
      everywhere ? "probe.barrier()" : "in_block(probe.barrier(), 1)", receives, run, receives);
}

}  // namespace

std::string Kernel::name() const {
  std::string result = "row_" + row->name_at(sizes);
  for (size_t i = 0; i < row->operands.size(); ++i) {
    if (trans[i]) result += "_t" + row->operands[i].name;
    if (sign[i] < 0) result += "_n" + row->operands[i].name;
  }
  for (char& c : result)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return result;
}

uint32_t Kernel::threads() const { return row->scope == Scope::warpgroup ? 128 : 32; }

uint32_t Kernel::blocks() const {
  for (const Operand& o : row->operands)
    if (space(o) == Space::cluster_shared) return 2;
  return 1;
}

Word word(Format format) {
  if (format == Format::f32) return {"float", 'f', 4};
  if (format == Format::f64) return {"double", 'd', 8};
  if (format == Format::i64) return {"uint64_t", 'l', 8};
  return {"uint32_t", 'r', 4};
}

bool has_map(const Row& row) { return row.text.find("{coordinates}") != row.text.npos; }

int64_t register_count(const Row& row, const Operand& operand, const Sizes& sizes) {
  if (space(operand) != Space::reg) return 0;
  const auto p = row.holds(operand, sizes);
  return p ? p->count(Level::reg) : 0;
}

std::string kernel_text(const Kernel& k) {
  const Row& row = *k.row;
  std::string text = fmt::format(
      "// {}\nextern \"C\" __global__ void __launch_bounds__({}, 1) {}(const __grid_constant__ "
      "Args a) {{\n  const Probe probe(a);\n",
      row.name_at(k.sizes), k.threads(), k.name());
  if (k.blocks() > 1) text += "  const uint32_t rank = cluster_rank();\n";
  std::string stored;
  for (size_t i = 0; i < row.operands.size(); ++i) {
    const int64_t count = register_count(row, row.operands[i], k.sizes);
    if (count == 0) continue;
    text += fmt::format("  {0} r{1}[{2}];\n  probe.load(r{1}, {1});\n",
                        word(row.operands[i].formats[0]).type, i, count);
    if (row.computes.result && *row.computes.result == i)
      stored = fmt::format("  probe.store(r{});\n", i);
  }
  return text + body(k) + stored +
         (k.blocks() > 1 ? "  probe.end(rank);\n}\n\n" : "  probe.end();\n}\n\n");
}

std::string file_text(const std::vector<Kernel>& kernels) {
  std::string text = "#include \"prelude.cuh\"\n\n";
  for (const Kernel& k : kernels) text += kernel_text(k);
  return text;
}

}  // namespace tang::probe
