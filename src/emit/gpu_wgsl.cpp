// WGSL.
#include <fmt/format.h>

#include "emit/gpu_dialect.h"
#include "emit/gpu_packed.h"
#include "emit/snippets.h"

namespace tang {

namespace {

using loop::Type;

bool is_word(std::string_view text) {
  return text == "float" || text == "int" || text == "uint" || text == "bool" || text == "tang_i64";
}

// "float a" becomes "a: float".
std::string parameter(std::string_view text) {
  const size_t space = text.find(' ');
  return fmt::format("{}: {}", text.substr(space + 1), text.substr(0, space));
}

// TANG_FN float f(float a, int b) {  becomes  fn f(a: float, b: int) -> float {
std::string header(std::string_view line) {
  line.remove_prefix(std::string_view("TANG_FN ").size());
  const size_t space = line.find(' '), open = line.find('('), close = line.find(')');
  std::string list;
  std::string_view all = line.substr(open + 1, close - open - 1);
  while (!all.empty()) {
    const size_t comma = std::min(all.find(", "), all.size());
    list += (list.empty() ? "" : ", ") + parameter(all.substr(0, comma));
    all.remove_prefix(std::min(comma + 2, all.size()));
  }
  return fmt::format("fn {}({}) -> {}{}", line.substr(space + 1, open - space - 1), list,
                     line.substr(0, space), line.substr(close + 1));
}

// "const float x = …" becomes "let x: float = …"; one that begins with a type is a variable.
std::string declaration(std::string_view line) {
  const bool fixed = line.starts_with("const ");
  if (fixed) line.remove_prefix(6);
  const size_t space = std::min(line.find(' '), line.size());
  if (!is_word(line.substr(0, space))) return std::string(line);
  const size_t end = line.find(' ', space + 1);
  return fmt::format("{} {}: {}{}", fixed ? "let" : "var", line.substr(space + 1, end - space - 1),
                     line.substr(0, space), line.substr(end));
}

// The text of snippets in the syntax of WGSL; words are replaced later.
std::string reordered(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    result += line.substr(0, indent);
    line.remove_prefix(indent);
    if (line.starts_with("TANG_FN "))
      result += header(line);
    else if (line.starts_with("for ("))
      result += "for (" + declaration(line.substr(5));
    else
      result += declaration(line);
    result += "\n";
  }
  return result;
}

class Wgsl : public GpuDialect {
 public:
  std::string_view reserved() const override { return snippet("wgsl.words"); }

  const GpuSpelling& spelling() const override {
    static const GpuSpelling words = {{"float", "f32"},
                                      {"int", "i32"},
                                      {"uint", "u32"},
                                      {"tang_i64", "vec2<u32>"},
                                      {"tang_pair", "vec2<u32>"},
                                      {"F32", "f32"},
                                      {"I32", "i32"},
                                      {"U32", "u32"},
                                      {"tang_bits", "bitcast<u32>"},
                                      {"tang_rint", "round"},
                                      {"tang_fma_f32", "fma"},
                                      {"tang_sqrt_f32", "sqrt"}};
    return words;
  }
  bool pairs() const override { return true; }
  bool ordered() const override { return true; }
  bool wraps() const override { return true; }
  bool packed() const override { return true; }
  bool must_agree() const override { return true; }

  std::vector<std::string> library() const override {
    std::vector<std::string> texts;
    for (const char* file :
         {"gpu_integer.h", "gpu_nan.h", "gpu_casts.h", "gpu_words.h", "gpu_pair.h", "gpu_math.h",
          "gpu_quot.h", "gpu_real.h", "gpu_formats.h", "gpu_blocks.h"})
      texts.push_back(respell(reordered(snippet(file)), spelling()));
    texts.insert(texts.begin(), std::string(snippet("wgsl.wgsl")));
    return texts;
  }

  std::string type(Type type) const override {
    constexpr std::string_view names[] = {"f64", "f32", "vec2<u32>", "i32", "bool"};
    return std::string(names[static_cast<size_t>(type)]);
  }
  std::string thread() const override { return "i32(tang_thread)"; }
  std::string group() const override { return "i32(tang_group.x)"; }
  std::string groups() const override { return "i32(tang_groups.x)"; }

  std::string preamble(const GpuFrame& f) const override {
    std::string text;
    if (f.exchanges) text += "enable subgroups;\ndiagnostic(off, subgroup_uniformity);\n";
    for (size_t k = 0; k < f.buffers.size(); ++k)
      text += fmt::format("@group(0) @binding({}) var<storage, read_write> {}: array<{}>;\n", k,
                          f.buffers[k].name, element(f.buffers[k]));
    text += fmt::format("@group(0) @binding({}) var<uniform> tang_sizes: array<vec4<i32>, {}>;\n",
                        f.buffers.size(), std::max<size_t>(1, (f.symbols.size() + 3) / 4));
    for (const std::string& line : f.shared) text += line + "\n";
    return text + "\n";
  }

  // All bindings are mentioned, so that the layout a browser makes of the function has them.
  std::string open(const GpuFrame& f) const override {
    std::string text = fmt::format(
        "@compute @workgroup_size({})\n"
        "fn {}(@builtin(workgroup_id) tang_group: vec3<u32>,\n"
        "      @builtin(num_workgroups) tang_groups: vec3<u32>,\n"
        "      @builtin(local_invocation_index) tang_thread: u32) {{\n",
        f.threads, f.entry);
    for (size_t k = 0; k < f.symbols.size(); ++k)
      text += fmt::format("  let {}: i32 = tang_sizes[{}].{};\n", f.symbols[k].second, k / 4,
                          "xyzw"[k % 4]);
    if (f.symbols.empty()) text += "  _ = tang_sizes[0];\n";
    for (const GpuArgument& x : f.buffers) text += fmt::format("  _ = &{};\n", x.name);
    return text;
  }

  std::string declare(bool fixed, const std::string& type, const std::string& name,
                      const std::string& value) const override {
    return fmt::format("{} {}: {} = {};", fixed ? "let" : "var", name, type, value);
  }
  std::string array(const std::string& type, const std::string& name,
                    int64_t count) const override {
    return fmt::format("var {}: array<{}, {}>;", name, type, count);
  }
  std::string shared(const std::string& type, const std::string& name,
                     int64_t count) const override {
    return fmt::format("var<workgroup> {}: array<{}, {}>;", name, type, count);
  }
  bool shares_outside() const override { return true; }
  std::string loop(const std::string& type, const std::string& name, const std::string& begin,
                   const std::string& end, const std::string& step) const override {
    return fmt::format("for (var {1}: {0} = {2}; {1} < {3}; {1} += {4})", type, name, begin, end,
                       step);
  }
  std::string barrier(bool buffers) const override {
    return buffers ? "workgroupBarrier(); storageBarrier();" : "workgroupBarrier();";
  }

  GpuText select(const GpuText& c, const GpuText& a, const GpuText& b) const override {
    return {fmt::format("select({}, {}, {})", b.text, a.text, c.text), gpu_atom};
  }
  GpuText cast(const std::string& type, const std::string& text) const override {
    return {fmt::format("{}({})", type, text), gpu_atom};
  }
  GpuText exchange(Type type, const std::string& value, int64_t mask) const override {
    if (type != Type::boolean)
      return {fmt::format("subgroupShuffleXor({}, {}u)", value, mask), gpu_atom};
    return {fmt::format("subgroupShuffleXor(select(0u, 1u, {}), {}u) != 0u", value, mask),
            gpu_compare};
  }
  GpuText real(Type, double value) const override { return real_by_bits(value); }
  GpuText i64(int64_t value) const override { return pair(value, "vec2<u32>"); }
  std::string vector_type(const std::string& word, int words) const override {
    return fmt::format("vec{}<{}>", words, respell(word, spelling()));
  }
  std::string word(const GpuArgument& x, const std::string& at) const override {
    return x.atomic ? fmt::format("atomicLoad(&{}[{}])", x.name, at)
                    : fmt::format("{}[{}]", x.name, at);
  }
  std::vector<std::string> store_part(const GpuArgument& x, const std::string& at, int bits,
                                      const std::string& value) const override {
    const Part p = part(at, bits, [](const std::string& t) { return "u32(" + t + ")"; });
    return {fmt::format("atomicAnd(&{}[{}], ~({} << {}));", x.name, p.word, p.mask, p.shift),
            fmt::format("atomicOr(&{}[{}], ({}) << {});", x.name, p.word, value, p.shift)};
  }

 private:
  std::string element(const GpuArgument& x) const {
    const std::string one = word_of(x);
    return x.words > 1 ? vector_type(one, x.words) : one;
  }
  static std::string word_of(const GpuArgument& x) {
    switch (x.format) {
      case Format::f32:
      case Format::tf32:
        return "f32";
      case Format::i64:
        return "vec2<u32>";
      case Format::i32:
        return "i32";
      default:
        return x.atomic ? "atomic<u32>" : "u32";
    }
  }
};

}  // namespace

std::unique_ptr<GpuDialect> wgsl_dialect() { return std::make_unique<Wgsl>(); }

}  // namespace tang
