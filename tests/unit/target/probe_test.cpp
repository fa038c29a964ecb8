// The C rows, compiled and run: each gives what it says it computes, where it says it holds it.
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expr/apply.h"
#include "support/temp_dir.h"
#include "target/table.h"

namespace tang {
namespace {

// Elements of an operand by their coordinates.
using Elements = std::map<Point, double>;

// What C calls an operand's register: a vector or a scalar.
struct CType {
  std::string element, declared;
};

CType c_type(const Row& row, const Operand& o, int64_t elements) {
  const Format f = o.formats[0];
  const std::string element = f == Format::f64   ? "double"
                              : f == Format::f32 ? "float"
                              : f == Format::i64 ? "int64_t"
                              : f == Format::i32 ? "int32_t"
                                                 : "uint8_t";
  if (elements == 1 || o.spaces[0] != Space::reg) return {element, element + " " + o.name};
  if (row.needs == "avx2") {
    const int64_t bits = elements * info(f).bits;
    const char* kind = f == Format::f64 ? "d" : f == Format::f32 ? "" : "i";
    return {element, fmt::format("__m{}{} {}", bits, kind, o.name)};
  }
  const int64_t bytes = elements * info(f).bits / 8;
  return {element, fmt::format("{} {} __attribute__((vector_size({})))", element, o.name, bytes)};
}

// Of a row with a mask: the first element that it leaves alone.
int64_t masked_from(const Row& row) { return row.axes[0].sizes.runs[0].from / 2 + 1; }

std::string mask(const Row& row) {
  const bool wide = row.operands[0].formats[0] == Format::f64;
  return wide ? "_mm256_setr_epi64x(-1, -1, -1, 0)"
              : "_mm256_setr_epi32(-1, -1, -1, -1, -1, 0, 0, 0)";
}

// A function of one image an operand; images are copied into and out of the registers.
std::string function(const Row& row, int number) {
  std::string before, after;
  Sizes sizes;
  for (const SizedAxis& a : row.axes) sizes.push_back(a.sizes.runs[0].from);
  for (size_t k = 0; k < row.operands.size(); ++k) {
    const Operand& o = row.operands[k];
    if (o.spaces[0] != Space::reg) {
      before +=
          fmt::format("  {0}* {1} = ({0}*)images[{2}];\n", c_type(row, o, 1).element, o.name, k);
      continue;
    }
    const auto p = row.holds(o, sizes);
    before += fmt::format("  {0};\n  memcpy(&{1}, images[{2}], sizeof {1});\n",
                          c_type(row, o, p->count(Level::elem)).declared, o.name, k);
    after += fmt::format("  memcpy(images[{1}], &{0}, sizeof {0});\n", o.name, k);
  }
  const std::string body =
      fill_holes(row.text, [&](std::string_view hole) -> std::optional<std::string> {
        if (hole.ends_with(".mask")) return mask(row);
        const Operand* o = row.find(hole);
        if (!o) return std::nullopt;
        const bool scalar = o->spaces[0] != Space::reg && o->axes.empty() && row.needs.empty();
        return (scalar && !row.name.starts_with("c.") ? "*" : "") + o->name;
      });
  return fmt::format("void probe{}(void** images) {{ // {}\n{}  {}\n{}}}\n", number, row.name,
                     before, body, after);
}

// The compiled probes of all rows that need no GPU; null where there is no compiler or no AVX2.
void* compiled(const TempDir& dir, const std::vector<const Row*>& rows) {
  std::string source = "#include <immintrin.h>\n#include <stdint.h>\n#include <string.h>\n";
  for (size_t k = 0; k < rows.size(); ++k) source += function(*rows[k], static_cast<int>(k));
  const std::string file = dir.write("probe.c", source), library = dir / "probe.so";
  const int rc = std::system(
      fmt::format("cc -std=c11 -O1 -mavx2 -mfma -shared -fPIC -o {} {}", library, file).c_str());
  return rc == 0 ? dlopen(library.c_str(), RTLD_NOW) : nullptr;
}

// ---- what the row says --------------------------------------------------------------------------

double number(const Operand& o, const Row& row, size_t operand, int64_t k) {
  const bool extreme = row.computes.op == Op::max || row.computes.op == Op::min;
  if (o.formats[0] == Format::boolean) return static_cast<double>((k + 1) % 2);
  if (extreme && kind(o.formats[0]) == Kind::real && (k + static_cast<int64_t>(operand)) % 4 == 3)
    return std::nan("");
  const double x = static_cast<double>((k * 7 + static_cast<int64_t>(operand) * 5) % 11) - 3;
  if (row.computes.op == Op::sqrt) return std::abs(x);
  return kind(o.formats[0]) == Kind::real ? x * 0.5 + (x == 1 ? 0.25 : 0) : x;
}

template <class F>
void for_box(const Point& box, F f) {
  int64_t total = 1;
  for (int64_t e : box) total *= e;
  for (int64_t k = 0; k < total; ++k) {
    Point x(box.size());
    int64_t rest = k;
    for (size_t a = box.size(); a-- > 0; rest /= box[a]) x[a] = rest % box[a];
    f(x, k);
  }
}

double applied(const Row& row, const std::vector<double>& in) {
  const auto value = [&](size_t k) {
    const Format f = row.operands[row.computes.arguments[k]].formats[0];
    if (kind(f) == Kind::boolean) return Value::boolean(in[k] != 0);
    return kind(f) == Kind::real ? Value::real(in[k]) : Value::integer(std::llround(in[k]));
  };
  const Format to = row.operands[*row.computes.result].formats[0];
  const Value none = Value::real(0);
  const Value y = apply(row.computes.op, to, value(0), in.size() > 1 ? value(1) : none,
                        in.size() > 2 ? value(2) : none, kind(to));
  return round_to(to, y.as_real());
}

// The result at one point; these rows fold nothing, so all operands are read at it.
double expected(const Row& row, const std::vector<Elements>& values, const Point& x) {
  const Operand& d = row.operands[*row.computes.result];
  std::vector<double> in;
  for (uint32_t a : row.computes.arguments)
    in.push_back(values[a].at(row.operands[a].axes.empty() ? Point{} : x));
  const bool outside = !x.empty() && x[0] >= masked_from(row);
  if (d.masks && outside) return values[*row.computes.result].at(x);
  if (row.operands[row.computes.arguments[0]].masks && outside) return 0;
  if (row.computes.kind == Computes::Kind::move) return in[0];
  if (row.computes.kind == Computes::Kind::map) return applied(row, in);
  double product = 1;
  for (double v : in) product *= v;
  return product + (d.accumulates ? values[*row.computes.result].at(x) : 0);
}

// ---- images -------------------------------------------------------------------------------------

// Memory of an operand, aligned as the strictest row asks (a streaming store of 32 bytes).
struct alignas(64) Image {
  std::array<std::byte, 64 * 8> bytes{};
  std::byte* data() { return bytes.data(); }
};

// Where each element is: by the placement in a register, by its coordinate in memory.
void for_elements(const Row& row, const Operand& o, const Sizes& sizes,
                  const std::function<void(const Point&, int64_t)>& f) {
  if (o.spaces[0] != Space::reg) return for_box(row.box(o, sizes), f);
  const Placement p = *row.holds(o, sizes);
  for (int64_t k = 0; k < p.positions(); ++k) f(p.coordinates(p.position(k)), k);
}

void probe(const Row& row, void (*function)(void**)) {
  Sizes sizes;
  for (const SizedAxis& a : row.axes) sizes.push_back(a.sizes.runs[0].from);
  std::vector<Elements> values(row.operands.size());
  std::vector<Image> images(row.operands.size());
  std::vector<void*> pointers;
  for (size_t k = 0; k < row.operands.size(); ++k) {
    const Operand& o = row.operands[k];
    for_box(row.box(o, sizes),
            [&](const Point& x, int64_t n) { values[k][x] = number(o, row, k, n); });
    for_elements(row, o, sizes, [&](const Point& x, int64_t at) {
      store_element(o.formats[0], images[k].data(), at, values[k].at(x));
    });
    pointers.push_back(images[k].data());
  }
  function(pointers.data());
  if (!row.computes.result) return;
  const Operand& d = row.operands[*row.computes.result];
  for_elements(row, d, sizes, [&](const Point& x, int64_t at) {
    const double got = load_element(d.formats[0], images[*row.computes.result].data(), at);
    const double want = expected(row, values, x);
    EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
        << row.name << " at " << at << ": " << got << ", not " << want;
  });
}

TEST(Probe, CRowsComputeWhatTheySay) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "no AVX2 here";
  const Result<Tables>& tables = shipped_tables();
  ASSERT_TRUE(tables);
  std::vector<const Row*> rows;
  for (const Row& row : tables->rows)
    if (!row.needs.starts_with("sm")) rows.push_back(&row);
  EXPECT_GT(rows.size(), 60u);
  const TempDir dir;
  void* library = compiled(dir, rows);
  ASSERT_NE(library, nullptr);
  for (size_t k = 0; k < rows.size(); ++k) {
    void* symbol = dlsym(library, fmt::format("probe{}", k).c_str());
    ASSERT_NE(symbol, nullptr);
    void (*function)(void**) = nullptr;
    std::memcpy(&function, &symbol, sizeof function);
    probe(*rows[k], function);
  }
  dlclose(library);
#else
  GTEST_SKIP() << "another processor";
#endif
}

}  // namespace
}  // namespace tang
