#include "target/machine.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "target/definition_lines.h"
#include "target/definitions.h"
#include "target/row.h"

namespace tang {

namespace {

constexpr std::pair<std::string_view, int64_t Machine::*> numbers[] = {
    {"vector_bytes", &Machine::vector_bytes},
    {"registers", &Machine::registers},
    {"core_registers", &Machine::core_registers},
    {"lanes", &Machine::lanes},
    {"threads", &Machine::threads},
    {"core_threads", &Machine::core_threads},
    {"cores", &Machine::cores},
    {"cluster", &Machine::cluster},
    {"shared_bytes", &Machine::shared_bytes},
    {"core_shared_bytes", &Machine::core_shared_bytes},
    {"banks", &Machine::banks},
    {"bank_bytes", &Machine::bank_bytes},
    {"barriers", &Machine::barriers},
    {"line_bytes", &Machine::line_bytes},
    {"l1_bytes", &Machine::l1_bytes},
    {"l2_bytes", &Machine::l2_bytes},
    {"l3_bytes", &Machine::l3_bytes},
    {"clock_mhz", &Machine::clock_mhz},
    {"l1_rate", &Machine::l1_rate},
    {"l2_rate", &Machine::l2_rate},
    {"memory_rate", &Machine::memory_rate},
};

Result<Format> read_format(Scanner& in) {
  const int start = in.column();
  const std::string_view word = in.word();
  if (const auto format = parse_format(word)) return *format;
  return Scanner::fail_at(start, fmt::format("`{}` is no format", word));
}

Result<void> read_kind(Scanner& in, Machine& m) {
  const bool gpu = in.accept_word("gpu");
  if (!gpu && !in.accept_word("cpu")) return in.fail("cpu or gpu is expected");
  m.kind = gpu ? Machine::Kind::gpu : Machine::Kind::cpu;
  return {};
}

Result<void> read_peaks(Scanner& in, Machine& m) {
  do {
    const auto format = read_format(in);
    if (!format) return tl::unexpected(format.error());
    const auto operations = in.integer();
    if (!operations)
      return in.fail("operations a cycle are expected", "write `f32 256, bf16 4096`");
    m.peaks.push_back({*format, *operations});
  } while (in.accept(","));
  return {};
}

Result<void> read_line(const std::string& text, Machine& m) {
  Scanner in(text);
  const std::string_view key = in.word();
  Result<void> read;
  if (key == "kind") {
    read = read_kind(in, m);
  } else if (key == "peak") {
    read = read_peaks(in, m);
  } else if (key == "features") {
    while (!in.peek_word().empty()) m.features.emplace_back(in.word());
  } else if (key == "formats") {
    while (read && !in.peek_word().empty()) {
      const auto format = read_format(in);
      if (!format) return tl::unexpected(format.error());
      m.formats.push_back(*format);
    }
  } else {
    const auto field = std::find_if(std::begin(numbers), std::end(numbers),
                                    [&](const auto& n) { return n.first == key; });
    if (field == std::end(numbers))
      return Scanner::fail_at(1, fmt::format("`{}` is no fact of a machine", key),
                              "target/machine.h lists them");
    const auto value = in.sum({});
    if (!value) return tl::unexpected(value.error());
    m.*(field->second) = *value;
  }
  return read && !in.at_end() ? in.fail("the line goes on") : read;
}

}  // namespace

bool Machine::has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

bool Machine::computes(Format format) const {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

int64_t Machine::peak(Format format) const {
  for (const Peak& p : peaks)
    if (p.format == format) return p.operations;
  return 0;
}

bool Machine::runs(const Row& row) const { return row.needs.empty() || has(row.needs); }

Result<std::vector<Machine>> read_machines(std::string_view text, const std::string& file) {
  const auto blocks = read_blocks(text);
  if (!blocks) {
    Diagnostic d = blocks.error();
    d.where.file = file;
    return tl::unexpected(d);
  }
  std::vector<Machine> machines;
  for (const DefinitionBlock& block : *blocks) {
    if (!block.head.text.starts_with("machine "))
      return tl::unexpected(
          placed(Scanner::fail_at(1, "a machine is expected", "write `machine cpu.avx2`").value(),
                 file, block.head));
    Machine m;
    m.name = block.head.text.substr(8);
    for (const DefinitionLine& line : block.body)
      if (const auto read = read_line(line.text, m); !read)
        return tl::unexpected(placed(read.error(), file, line));
    machines.push_back(std::move(m));
  }
  return machines;
}

const Result<std::vector<Machine>>& shipped_machines() {
  static const Result<std::vector<Machine>> machines =
      read_machines(definition("machines.def"), "machines.def");
  return machines;
}

std::string limited(const Machine& machine, int64_t threads, int64_t shared_bytes, int64_t lanes,
                    int64_t buffers) {
  const std::string name = machine.name.substr(0, machine.name.find('@'));
  return fmt::format("{}@{},{},{},{}", name, std::min(machine.threads, threads),
                     std::min(machine.shared_bytes, shared_bytes), std::min(machine.lanes, lanes),
                     buffers);
}

namespace {

// The machine with the limits of its name; kept, since schedules refer to it.
Result<const Machine*> find_limited(std::string_view name) {
  static std::mutex lock;
  static std::map<std::string, Machine, std::less<>> made;
  const std::lock_guard guard(lock);
  if (const auto known = made.find(name); known != made.end()) return &known->second;
  const size_t at = name.find('@');
  const auto base = find_machine(name.substr(0, at));
  if (!base) return base;
  Machine m = **base;
  m.name = name;
  std::string_view rest = name.substr(at + 1);
  for (int64_t* field : {&m.threads, &m.shared_bytes, &m.lanes, &m.buffers}) {
    const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), *field);
    if (fault != std::errc())
      return error("E0910",
                   fmt::format("`{}` does not say threads, bytes, lanes and buffers", name), "");
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (rest.starts_with(',')) rest.remove_prefix(1);
  }
  return &made.emplace(m.name, std::move(m)).first->second;
}

}  // namespace

Result<const Machine*> find_machine(std::string_view name) {
  if (name.find('@') != name.npos) return find_limited(name);
  const auto& machines = shipped_machines();
  if (!machines) return tl::unexpected(machines.error());
  std::vector<std::string> names;
  for (const Machine& m : *machines) {
    if (m.name == name) return &m;
    names.push_back(m.name);
  }
  return error("E0910", fmt::format("no machine is called `{}`", name),
               fmt::format("there are {}", fmt::join(names, ", ")));
}

}  // namespace tang
