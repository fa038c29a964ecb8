// The texts of NVIDIA's rows assemble, for the machine that they say they need. Needs ptxas.
#include <algorithm>
#include <cstdlib>
#include <map>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"
#include "target/table.h"

namespace tang {
namespace {

// A kernel with one row in it; its registers are declared and hold nothing.
class Kernel {
 public:
  Kernel(const Row& row, const Sizes& sizes) : row_(row), sizes_(sizes) {}

  std::string text(int number) {
    const std::vector<std::string_view> known = holes(row_.text);
    const std::string body =
        fill_holes(row_.text, [&](std::string_view hole) -> std::optional<std::string> {
          // `{{d}}` is a hole in the braces of a vector.
          if (std::find(known.begin(), known.end(), hole) == known.end()) return std::nullopt;
          return value(hole);
        });
    std::string declared;
    for (const auto& [kind, count] : used_)
      declared += fmt::format("  .reg .{} %{}_<{}>;\n", kind, kind, count);
    return fmt::format(".visible .entry k{}() {{ // {}\n{}  {}\n  ret;\n}}\n", number,
                       row_.name_at(sizes_), declared, body);
  }

 private:
  std::string fresh(const std::string& kind) { return fmt::format("%{}_{}", kind, used_[kind]++); }

  std::string value(std::string_view hole) {
    const size_t dot = hole.find('.');
    const Operand* o = row_.find(hole.substr(0, dot));
    if (!o) return immediate(hole);
    if (dot == hole.npos) return operand(*o);
    const std::string_view fact = hole.substr(dot + 1);
    if (fact == "keep") return fresh("pred");
    if (fact == "sign") return "-1";
    if (fact == "trans") return "1";
    if (fact == "bytes") return fresh("b32");
    return registers(*o).at(fact == "1" ? 1 : 0);
  }

  std::string immediate(std::string_view hole) {
    if (const auto size = row_.names(sizes_)(hole)) return fmt::format("{}", *size);
    if (hole == "barrier") return fresh("b64");
    if (hole == "blocks") return fresh("b16");
    if (hole == "by") return fresh("b32");
    std::vector<std::string> xs;
    for (size_t k = 0; k < row_.axes.size(); ++k) xs.push_back(fresh("b32"));
    return fmt::format("{}", fmt::join(xs, ", "));
  }

  std::string operand(const Operand& o) {
    if (o.spaces[0] != Space::reg) return fresh("b64");  // an address, descriptor or map
    return fmt::format("{}", fmt::join(registers(o), ", "));
  }

  const std::vector<std::string>& registers(const Operand& o) {
    std::vector<std::string>& list = registers_[o.name];
    if (!list.empty()) return list;
    const auto p = row_.holds(o, sizes_);
    EXPECT_TRUE(p) << row_.name;
    const Format f = o.formats[0];
    const std::string kind = f == Format::f32   ? "f32"
                             : f == Format::f64 ? "f64"
                             : f == Format::i32 ? "s32"
                             : f == Format::i64 ? "s64"
                                                : "b32";
    for (int64_t k = 0; p && k < p->count(Level::reg); ++k) list.push_back(fresh(kind));
    return list;
  }

  const Row& row_;
  const Sizes& sizes_;
  std::map<std::string, int> used_;
  std::map<std::string, std::vector<std::string>> registers_;
};

std::string ptxas() {
  for (const char* path : {"ptxas", "/usr/local/cuda/bin/ptxas"})
    if (std::system(fmt::format("{} --version > /dev/null 2>&1", path).c_str()) == 0) return path;
  return {};
}

TEST(Assembler, TakesEveryRow) {
  const std::string assembler = ptxas();
  if (assembler.empty()) GTEST_SKIP() << "no ptxas";
  const Result<Tables>& tables = shipped_tables();
  ASSERT_TRUE(tables);
  std::map<std::string, std::string> modules;  // by what their rows need
  int count = 0;
  for (const Row& row : tables->rows) {
    if (!row.needs.starts_with("sm")) continue;
    Sizes least, most;
    for (const SizedAxis& a : row.axes) {
      least.push_back(a.sizes.values().front());
      most.push_back(a.sizes.values().back());
    }
    modules[row.needs] += Kernel(row, least).text(count++);
    if (least != most && row.computes.kind == Computes::Kind::contract)
      modules[row.needs] += Kernel(row, most).text(count++);
  }
  EXPECT_EQ(modules.size(), 4u);
  const TempDir dir;
  for (const auto& [needs, kernels] : modules) {
    const std::string arch = "sm_" + needs.substr(2);
    const std::string source =
        dir.write(needs + ".ptx",
                  fmt::format(".version 8.6\n.target {}\n.address_size 64\n{}", arch, kernels));
    const int rc = std::system(fmt::format("{} -arch={} -o {} {} > {} 2>&1", assembler, arch,
                                           dir / "out", source, dir / "log")
                                   .c_str());
    EXPECT_EQ(rc, 0) << dir.read("log").substr(0, 4000);
  }
}

}  // namespace
}  // namespace tang
