#include "corpus.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loop/builder.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace tang {

namespace {

using loop::Builder;
using loop::Hint;
using loop::Op;
using loop::OpRule;
using loop::Role;
using loop::Type;
using loop::Value;

constexpr loop::ForOptions shared_loop{.step = 1, .hint = Hint::parallel};

Format storage_of(Type type) {
  constexpr Format formats[] = {Format::f64, Format::f32, Format::i64, Format::i32,
                                Format::boolean};
  return formats[static_cast<size_t>(type)];
}

LoopProgram finish(Builder& b, const std::string& name) {
  auto program = b.finish();
  EXPECT_TRUE(program) << name << ": " << (program ? "" : program.error().message);
  return program ? std::move(*program) : LoopProgram{};
}

bool takes(OpRule rule, Type type) {
  switch (rule) {
    case OpRule::leaf:
      return false;
    case OpRule::real:
      return is_real(type);
    case OpRule::number:
    case OpRule::compare:
      return type != Type::boolean;
    case OpRule::logic:
      return type == Type::boolean;
    case OpRule::select:
      return true;
  }
  return false;
}

// y[k n + i] = op_k(a[i], b[i], c[i]): all operations on a type of which `wanted` says so.
template <class Wanted>
CorpusEntry operations(const std::string& name, Type type, Type result, Wanted wanted) {
  Builder b;
  const ParamId n = b.symbol("n");
  const auto c = b.buffer("c", Format::boolean, Poly::param(n), Role::input);
  std::vector<loop::BufferId> from;
  for (const char* x : {"a", "b", "d"})
    from.push_back(b.buffer(x, storage_of(type), Poly::param(n), Role::input));
  CorpusEntry entry;
  for (size_t k = 0; k <= static_cast<size_t>(Op::select); ++k)
    if (wanted(static_cast<Op>(k))) entry.rows.emplace_back(loop::info(static_cast<Op>(k)).name);
  const auto rows = static_cast<int64_t>(entry.rows.size());
  const auto y = b.buffer("y", storage_of(result), Poly(rows) * Poly::param(n), Role::output);
  b.begin_kernel("k");
  b.for_(
      "i", b.integer(0), b.symbol(n),
      [&](Value i) {
        int64_t row = 0;
        for (size_t k = 0; k <= static_cast<size_t>(Op::select); ++k) {
          const Op op = static_cast<Op>(k);
          if (!wanted(op)) continue;
          std::vector<Value> args;
          const bool selects = loop::info(op).rule == OpRule::select;
          if (selects) args.push_back(b.load(c, i));
          while (static_cast<int>(args.size()) < loop::info(op).arity)
            args.push_back(b.load(from[args.size() - (selects ? 1 : 0)], i));
          const Value at = b.add(b.mul(b.integer(row++), b.symbol(n)), i);
          b.store(y, at, b.op(op, std::span<const Value>(args)));
        }
      },
      shared_loop);
  b.end_kernel();
  entry.name = name;
  entry.program = finish(b, name);
  return entry;
}

// Casts from all types to one.
CorpusEntry casts(Type to) {
  Builder b;
  const ParamId n = b.symbol("n");
  CorpusEntry entry;
  std::vector<loop::BufferId> from;
  for (const Type type : {Type::f32, Type::i64, Type::i32, Type::boolean, Type::f64}) {
    if (type == to) continue;
    entry.rows.emplace_back(name(type));
    from.push_back(b.buffer("x", storage_of(type), Poly::param(n), Role::input));
  }
  const auto y = b.buffer("y", storage_of(to),
                          Poly(static_cast<int64_t>(from.size())) * Poly::param(n), Role::output);
  b.begin_kernel("k");
  b.for_(
      "i", b.integer(0), b.symbol(n),
      [&](Value i) {
        for (size_t k = 0; k < from.size(); ++k)
          b.store(y, b.add(b.mul(b.integer(static_cast<int64_t>(k)), b.symbol(n)), i),
                  b.cast(to, b.load(from[k], i)));
      },
      shared_loop);
  b.end_kernel();
  entry.name = fmt::format("cast_{}", name(to));
  entry.program = finish(b, entry.name);
  return entry;
}

// y[i] = x[i] from a format, and back from what it is read as.
LoopProgram copy(Format from, Format to) {
  Builder b;
  const ParamId n = b.symbol("n");
  const Poly count = Poly(info(from).block) * Poly::param(n);
  const auto x = b.buffer("x", from, count, Role::input);
  const auto y = b.buffer("y", to, count, Role::output);
  b.begin_kernel("k");
  b.for_(
      "i", b.integer(0), b.poly(count),
      [&](Value i) {
        Value v = b.load(x, i);
        const Type type = loop::compute_type(to);
        if (b.type(v) != type) v = b.cast(type, v);
        b.store(y, i, v);
      },
      shared_loop);
  b.end_kernel();
  return finish(b, fmt::format("{} to {}", name(from), name(to)));
}

// Roundings of a type to all its formats.
CorpusEntry roundings(Type type) {
  Builder b;
  const ParamId n = b.symbol("n");
  CorpusEntry entry;
  std::vector<Format> formats;
  for (int k = 0; k < format_count; ++k) {
    const Format f = static_cast<Format>(k);
    if (is_block(f) || kind(f) == Kind::boolean || (kind(f) == Kind::real) != is_real(type))
      continue;
    formats.push_back(f);
    entry.rows.emplace_back(name(f));
  }
  const auto x = b.buffer("x", storage_of(type), Poly::param(n), Role::input);
  const auto y =
      b.buffer("y", storage_of(type), Poly(static_cast<int64_t>(formats.size())) * Poly::param(n),
               Role::output);
  b.begin_kernel("k");
  b.for_(
      "i", b.integer(0), b.symbol(n),
      [&](Value i) {
        for (size_t k = 0; k < formats.size(); ++k)
          b.store(y, b.add(b.mul(b.integer(static_cast<int64_t>(k)), b.symbol(n)), i),
                  b.round(formats[k], b.load(x, i)));
      },
      shared_loop);
  b.end_kernel();
  entry.name = fmt::format("round_{}", name(type));
  entry.program = finish(b, entry.name);
  return entry;
}

LoopProgram parsed(const std::string& text, const std::string& name) {
  auto program = loop::parse_program(text, name);
  EXPECT_TRUE(program) << name << ": " << (program ? "" : program.error().message);
  if (!program) return {};
  for (const Diagnostic& d : loop::verify(*program)) ADD_FAILURE() << name << ": " << d.message;
  return std::move(*program);
}

void add_operations(std::vector<CorpusEntry>& all) {
  for (const Type type : {Type::f32, Type::i64, Type::i32, Type::boolean, Type::f64}) {
    all.push_back(operations(fmt::format("values_{}", name(type)), type, type, [&](Op op) {
      return loop::info(op).rule != OpRule::compare && takes(loop::info(op).rule, type);
    }));
    all.push_back(
        operations(fmt::format("compare_{}", name(type)), type, Type::boolean, [&](Op op) {
          const bool same = type == Type::boolean && (op == Op::eq || op == Op::ne);
          return loop::info(op).rule == OpRule::compare && (same || type != Type::boolean);
        }));
    all.push_back(casts(type));
    if (type != Type::boolean) all.push_back(roundings(type));
  }
}

void add_formats(std::vector<CorpusEntry>& all) {
  for (int k = 0; k < format_count; ++k) {
    const Format f = static_cast<Format>(k);
    const Type type = loop::compute_type(f);
    all.push_back({fmt::format("load_{}", name(f)), {}, copy(f, storage_of(type))});
    if (type == Type::f64 && f != Format::f64)
      all.push_back({fmt::format("load_{}_f32", name(f)), {}, copy(f, Format::f32)});
    if (!is_block(f))
      all.push_back({fmt::format("store_{}", name(f)), {}, copy(storage_of(type), f)});
  }
}

// Texts under names.
struct Text {
  const char *name, *text;
};

constexpr Text scalar_texts[] = {{"sums", R"(symbol n
symbol m
buffer x : f32[n*m] input
buffer y : f32[n] output
kernel sums reads x writes y {
  for i in 0 .. n parallel {
    var s : f32 = 0.0
    for j in 0 .. m {
      s = s + x[m * i + j]
    }
    store y[i] = s
  }
}
)"},
                                 {"transposed", R"(symbol n
symbol m
buffer x : f32[n*m] input
buffer y : f32[n*m] output
kernel transposed threads 2 reads x writes y {
  for i in 0 .. n parallel {
    for j in 0 .. m parallel {
      if thread == 0 {
        store y[n * j + i] = x[m * i + j] * 2.0
      }
    }
  }
}
)"},
                                 {"triangle", R"(symbol n
buffer y : i64[n*n] output
kernel triangle threads 2 writes y {
  for i in 0 .. n parallel {
    for j in 0 .. n parallel {
      if thread == 0 {
        store y[n * i + j] = 0
      }
    }
  }
  for k in 0 .. 0 parallel {
    if thread == 1 {
      store y[0] = 1
    }
  }
}
)"},
                                 {"gathered", R"(symbol n
symbol m
buffer r : i64[n] input
buffer x : f32[m] input
buffer y : f32[n] output
kernel gathered reads r, x writes y {
  for i in 0 .. n parallel {
    let at : i64 = r[i]
    store y[i] = select(0 <= at and at < m, x[at], -inf)
  }
}
)"},
                                 {"clamped", R"(symbol n
symbol m
buffer r : i64[n] input
buffer x : f32[m] input
buffer y : f32[n] output
kernel clamped reads r, x writes y {
  for i in 0 .. n parallel {
    store y[i] = x[min(max(r[i] - 1, 0), m - 1)]
  }
}
)"},
                                 {"large", R"(symbol n
buffer y : i64[n] output
kernel large writes y {
  for i in 0 .. n parallel {
    let k : i64 = i * 3000000000
    store y[i] = k + mod(k * k, 1000) - div(k, -7)
  }
}
)"},
                                 {"constants", R"(symbol n
buffer y : f32[8*n] output
kernel constants writes y {
  for i in 0 .. n parallel {
    store y[8 * i] = inf
    store y[8 * i + 1] = -inf
    store y[8 * i + 2] = nan
    store y[8 * i + 3] = 3.4028235e38
    store y[8 * i + 4] = 1e-45
    store y[8 * i + 5] = -0.0
    store y[8 * i + 6] = 0.1
    store y[8 * i + 7] = 16777217.0
  }
}
)"},
                                 {"floors", R"(symbol n
buffer y : i64[2*n] output
kernel floors writes y {
  for i in 0 .. n parallel {
    store y[2 * i] = mod(i - 3, 8)
    store y[2 * i + 1] = div(i - 5, 4)
  }
}
)"},
                                 {"vectors", R"(symbol n
buffer x : f32[8*n] input
buffer y : f32[8*n] output
buffer z : f32[8*n] output
kernel vectors reads x writes y, z {
  for i in 0 .. n parallel {
    let a : f32x8 = x[8 * i : 8]
    var s : f32x8 = spread8(1.0)
    for k in 0 .. 3 {
      s = fma(a, spread8(0.5), s)
    }
    s = even(s, a, 2)
    s = join(high(s), low(s))
    let b : f32x4 = x[8 * i + 1 : 4 by 2 first n - i]
    store y[8 * i : 8] = s
    store z[8 * i : 8] = join(b, odd(b, low(s), 1))
    store z[8 * i + 7 : 2 by -2 first n - 1] = spread2(lane(s, 5))
  }
}
)"},
                                 {"wide", R"(symbol n
buffer x : f32[8*n] input
buffer h : f16[8*n] input
buffer k : u8[8*n] input
buffer r : i32[8*n] input
buffer y : f32[8*n] output
buffer z : bf16[8*n] output
buffer w : i8[8*n] output
buffer v : i32[8*n] output
kernel wide reads x, h, k, r writes y, z, w, v {
  for i in 0 .. n parallel {
    store y[8 * i : 8] = x[8 * i : 8] + h[8 * i : 8]
    store z[8 * i : 8] = x[8 * i : 8]
    store w[8 * i + 4 : 4] = k[8 * i : 4]
    store w[8 * i : 4] = r[8 * i + 4 : 4]
    store v[8 * i + 2 : 2] = r[8 * i : 2]
    store v[8 * i : 2] = r[8 * i + 6 : 2]
    store v[8 * i + 4 : 4] = r[8 * i + 3 : 4]
  }
}
)"},
                                 {"ramps", R"(symbol n
buffer r : i32[4*n] input
buffer x : f32[64] input
buffer y : f32[4*n] output
kernel ramps reads r, x writes y {
  for i in 0 .. n parallel {
    let at : i64x4 = i64(r[4 * i : 4]) * spread4(2) + ramp4(1)
    store y[4 * i : 4] = x[at]
  }
}
)"},
                                 {"arrays", R"(symbol n
buffer x : f32[4*n] input
buffer y : f32[4*n] output
kernel arrays reads x writes y {
  for i in 0 .. n parallel {
    array a[4] : f32
    array c[4] : i64
    array f[4] : bool
    for k in 0 .. 4 unroll {
      a[k] = x[4 * i + k]
      c[3 - k] = i + k
      f[k] = x[4 * i + k] < 0.0
    }
    for m in 0 .. 4 {
      if f[m] {
        a[m] = -a[m] + f32(c[m])
      }
    }
    store y[4 * i : 4] = a[0 : 4]
  }
}
)"},
                                 {"bounds", R"(symbol n
buffer o : i64[n + 1] input
buffer x : f32[64] input
buffer y : f32[n] output
kernel bounds reads o, x writes y {
  for i in 0 .. n parallel {
    var s : f32 = 0.0
    for k in o[i] .. o[i + 1] {
      s = s + x[k]
    }
    store y[i] = s
  }
}
)"},
                                 {"counted", R"(symbol n
buffer o : i64[n + 1] input
buffer y : f32[41] output
kernel counted reads o writes y {
  for i in 0 .. o[n] parallel {
    store y[i] = f32(i)
  }
}
)"},
                                 {"twice", R"(symbol n
buffer x : f32[n] input
buffer t : f32[n] workspace
buffer y : f32[n] output
kernel first reads x writes t {
  for i in 0 .. n parallel {
    store t[i] = x[i] * 2.0
  }
}
kernel y reads t writes y {
  for i in 0 .. n parallel {
    store y[i] = t[i] * 2.0
  }
}
)"},
                                 {"in_place", R"(symbol n
buffer x : f32[n] input
buffer y : f32[n] output into x
kernel in_place reads x writes y {
  for i in 0 .. n parallel {
    store y[i] = x[i] + 1.0
  }
}
)"},
                                 {"found", R"(symbol n
buffer x : f32[16*n] input
buffer y : i64[n] output
kernel found reads x writes y {
  for i in 0 .. n parallel {
    var best : f32 = -inf
    var at : i64 = -1
    for k in 0 .. 16 {
      let v : f32 = x[16 * i + k]
      if best < v {
        best = v
        at = k
      }
    }
    store y[i] = at
  }
}
)"},
                                 {"alone", R"(symbol n
buffer x : f32[n] input
buffer y : f32[1] output
kernel alone reads x writes y {
  var s : f32 = 0.0
  for i in 0 .. n {
    s = s + x[i]
  }
  store y[0] = s
}
)"},
                                 {"words", R"(symbol float
symbol main
buffer kernel : f32[float] input
buffer var : f32[float] output
kernel __global reads kernel writes var {
  for thread_1 in 0 .. float parallel {
    let half : f32 = kernel[thread_1]
    let input : f32 = half + f32(main)
    store var[thread_1] = input
  }
}
)"}};

constexpr Text group_texts[] = {{"reversed", R"(symbol n
buffer x : f32[64*n] input
buffer y : f32[64*n] output
kernel reversed threads 64 reads x writes y {
  shared a[64] : f32
  for i in 0 .. 64 * n step 64 parallel {
    a[thread] = x[i + thread]
    barrier
    store y[i + thread] = a[63 - thread]
    barrier
  }
}
)"},
                                {"reduced", R"(symbol n
symbol m
buffer x : f32[n*m] input
buffer y : f32[n] output
kernel reduced threads 32 reads x writes y {
  shared a[32] : f32
  for i in 0 .. n parallel {
    var s : f32 = 0.0
    for j in 0 .. m step 32 {
      if j + thread < m {
        s = s + x[m * i + j + thread]
      }
    }
    a[thread] = s
    barrier
    for k in 0 .. 5 {
      let half : i64 = select(k == 0, 16, select(k == 1, 8, select(k == 2, 4, select(k == 3, 2, 1))))
      if thread < half {
        a[thread] = a[thread] + a[thread + half]
      }
      barrier
    }
    if thread == 0 {
      store y[i] = a[0]
    }
    barrier
  }
}
)"},
                                {"uneven", R"(symbol n
buffer o : i64[n] input
buffer y : f32[8*n] output
kernel uneven threads 8 reads o writes y {
  shared a[8] : f32
  for i in 0 .. n parallel {
    a[thread] = f32(thread)
    barrier
    for k in 0 .. o[i] {
      let v : f32 = a[mod(thread + 1, 8)]
      barrier
      a[thread] = v
      barrier
    }
    store y[8 * i + thread] = a[thread]
    barrier
  }
}
)"}};

constexpr Text exchange_texts[] = {{"exchanged", R"(symbol n
buffer x : f32[8*n] input
buffer k : i64[8*n] input
buffer y : f32[8*n] output
buffer z : i64[8*n] output
kernel exchanged threads 8 reads x, k writes y, z {
  for i in 0 .. n parallel {
    let a : f32 = x[8 * i + thread]
    exchange b = a by 4
    let c : i64 = k[8 * i + thread]
    exchange d = c by 1
    let e : bool = a < b
    exchange f = e by 2
    let g : i32 = i32(c)
    exchange h = g by 2
    store y[8 * i + thread] = select(f, b, f32(h))
    store z[8 * i + thread] = d
  }
}
)"}};

}  // namespace

const std::vector<CorpusEntry>& exchange_corpus() {
  static const std::vector<CorpusEntry> all = [] {
    std::vector<CorpusEntry> list;
    for (const Text& t : exchange_texts) list.push_back({t.name, {}, parsed(t.text, t.name)});
    return list;
  }();
  return all;
}

const std::vector<CorpusEntry>& scalar_corpus() {
  static const std::vector<CorpusEntry> all = [] {
    std::vector<CorpusEntry> list;
    add_operations(list);
    add_formats(list);
    for (const Text& t : scalar_texts) list.push_back({t.name, {}, parsed(t.text, t.name)});
    return list;
  }();
  return all;
}

const std::vector<CorpusEntry>& group_corpus() {
  static const std::vector<CorpusEntry> all = [] {
    std::vector<CorpusEntry> list;
    for (const Text& t : group_texts) list.push_back({t.name, {}, parsed(t.text, t.name)});
    return list;
  }();
  return all;
}

}  // namespace tang
