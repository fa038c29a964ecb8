#include "emit/gpu_kernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "emit/gpu_expr.h"
#include "emit/gpu_limits.h"

namespace tang {

namespace {

using loop::Hint;
using loop::Kernel;
using loop::LocalKind;
using loop::Op;
using loop::Program;
using loop::Stmt;
using loop::StmtKind;
using loop::Type;
using loop::Value;

// Names that differ from the function's.
Namer apart_from(const std::string& entry, const GpuDialect& dialect) {
  Namer names(dialect.reserved());
  names.name(entry);
  return names;
}

class KernelWriter {
 public:
  KernelWriter(const Program& program, const Kernel& kernel, const std::string& entry,
               const GpuDialect& dialect, const GpuSourceOptions& options)
      : program_(program),
        kernel_(kernel),
        dialect_(dialect),
        options_(options),
        entry_(entry),
        plan_(program, kernel, options.wide, dialect.wraps()),
        expr_(program, kernel, plan_, dialect, options, apart_from(entry, dialect), out_),
        ends_(ends_of(kernel)),
        nests_(parallel_nests(kernel)),
        part_of_(kernel.body.size(), nullptr) {
    for (const GpuNest& nest : nests_)
      for (const size_t k : nest.loops) part_of_[k] = &nest;
  }

  GpuFunction write(const GpuFunctions& library);

 private:
  void statement(size_t k);
  void loop(size_t k);
  void nest(const GpuNest& nest);
  void nested(const GpuNest& nest, size_t k);
  void condition(size_t k);
  void define(const Stmt& s);
  void assign(const Stmt& s);
  void write_memory(const Stmt& s);
  void write_lane(const Stmt& s, const GpuText& at, const GpuText& value);
  void exchange(const Stmt& s);
  std::vector<GpuText> lanes_of(const Stmt& s, bool apart);
  GpuText trips(const Stmt& s);
  std::string all_the_same(const std::string& type, const std::string& value);
  bool waits_inside(size_t k) const;
  bool shares_written() const;

  const Program& program_;
  const Kernel& kernel_;
  const GpuDialect& dialect_;
  const GpuSourceOptions& options_;
  const std::string entry_;
  GpuPlan plan_;
  Writer out_;
  GpuExpr expr_;
  std::vector<size_t> ends_;
  std::vector<GpuNest> nests_;
  std::vector<const GpuNest*> part_of_;  // by statement
  std::vector<std::string> counters_;    // of the open nest: by loop, its number in the nest
  std::vector<bool> open_;               // by open statement: whether its end closes a block
  std::vector<std::string> shared_;
  bool exchanges_ = false;
};

// ---- loops --------------------------------------------------------------------------------------

GpuText KernelWriter::trips(const Stmt& s) {
  const loop::Node& first = kernel_[s.a];
  const bool from_zero = first.op == Op::constant && integer_value(first) == 0;
  const GpuText end = expr_.bound(s.b);
  if (from_zero && plan_.nonnegative(s.b)) {
    if (s.step == 1) return end;
    return {fmt::format("{} / {}", in(expr_.sum(end, s.step - 1), gpu_product), s.step),
            gpu_product};
  }
  return {fmt::format("tang_trips_{}({}, {}, {})", options_.wide ? "i64" : "i32",
                      expr_.bound(s.a).text, end.text, s.step),
          gpu_atom};
}

// Counts through the product of the trips; groups take turns.
void KernelWriter::nest(const GpuNest& nest) {
  const std::string type = expr_.index_type();
  std::vector<std::string> trip_names;
  std::string all;
  for (const size_t k : nest.loops) {
    const Stmt& s = kernel_.body[k];
    const std::string& name = expr_.local(s.local);
    expr_.next();
    trip_names.push_back(expr_.fresh(name + "_trips"));
    out_.line(dialect_.declare(true, type, trip_names.back(), trips(s).text));
    all += (all.empty() ? "" : " * ") + trip_names.back();
  }
  const std::string turn = expr_.fresh("turn");
  const auto index = [&](const std::string& text) {
    return options_.wide ? dialect_.cast(type, text).text : text;
  };
  out_.open(dialect_.loop(type, turn, index(dialect_.group()), all, index(dialect_.groups())));
  counters_.clear();
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    std::string inside;  // the trips of the loops inside
    for (size_t j = k + 1; j < nest.loops.size(); ++j)
      inside += (inside.empty() ? "" : " * ") + trip_names[j];
    std::string number = turn;
    if (!inside.empty())
      number += k + 2 < nest.loops.size() ? " / (" + inside + ")" : " / " + inside;
    if (k > 0)
      number = inside.empty() ? number + " % " + trip_names[k] : number + " % " + trip_names[k];
    counters_.push_back(number);
  }
}

// The variable of a loop of the open nest.
void KernelWriter::nested(const GpuNest& nest, size_t k) {
  const size_t which =
      static_cast<size_t>(std::find(nest.loops.begin(), nest.loops.end(), k) - nest.loops.begin());
  const Stmt& s = kernel_.body[k];
  GpuText number{counters_[which], gpu_product};
  if (s.step != 1) number = {fmt::format("{} * {}", in(number, gpu_atom), s.step), gpu_product};
  const loop::Node& first = kernel_[s.a];
  if (first.op != Op::constant || integer_value(first) != 0) {
    const GpuText begin = expr_.bound(s.a);
    number = {fmt::format("{} + {}", in(begin, gpu_sum), in(number, gpu_product)), gpu_sum};
  }
  out_.line(dialect_.declare(true, expr_.index_type(), expr_.local(s.local), number.text));
}

bool KernelWriter::waits_inside(size_t k) const {
  for (size_t at = k + 1; at < ends_[k]; ++at) {
    const StmtKind kind = kernel_.body[at].kind;
    if (kind == StmtKind::barrier || kind == StmtKind::exchange) return true;
  }
  return false;
}

void KernelWriter::loop(size_t k) {
  const Stmt& s = kernel_.body[k];
  if (part_of_[k]) {
    if (part_of_[k]->loops.front() == k) nest(*part_of_[k]);
    open_.push_back(part_of_[k]->loops.front() == k);
    return nested(*part_of_[k], k);
  }
  const std::string& v = expr_.local(s.local);
  const std::string type = expr_.index_type();
  std::string begin = expr_.bound(s.a).text;
  GpuText end = expr_.bound(s.b);
  const bool must_agree = dialect_.must_agree() && waits_inside(k);
  if (must_agree && plan_.varies(s.a)) begin = all_the_same(type, begin);
  if (must_agree && plan_.varies(s.b)) end = {all_the_same(type, end.text), gpu_atom};
  // The body may change what the bound is made of, or the bound is dear.
  const loop::Node& bound = kernel_[s.b];
  const bool plain =
      bound.op == Op::constant || bound.op == Op::symbol ||
      (bound.op == Op::local && plan_.is_index(static_cast<loop::LocalId>(bound.id)));
  if (!plain && end.level != gpu_atom) {
    const std::string name = expr_.fresh(v + "_end");
    out_.line(dialect_.declare(true, type, name, end.text));
    end = {name, gpu_atom};
  }
  if (s.hint == Hint::unroll && !dialect_.unroll().empty()) out_.line(dialect_.unroll());
  out_.open(dialect_.loop(type, v, begin, in(end, gpu_sum), std::to_string(s.step)));
  open_.push_back(true);
}

void KernelWriter::condition(size_t k) {
  const Stmt& s = kernel_.body[k];
  GpuText c = expr_.value(s.a);
  if (dialect_.must_agree() && waits_inside(k) && plan_.varies(s.a)) {
    const GpuText one = dialect_.select(c, {"1", gpu_atom}, {"0", gpu_atom});
    c = {all_the_same(dialect_.type(Type::i32), one.text) + " != 0", gpu_compare};
  }
  out_.open(fmt::format("if ({})", c.text));
  open_.push_back(true);
}

std::string KernelWriter::all_the_same(const std::string& type, const std::string& value) {
  const std::string name = expr_.fresh("agreed"), result = expr_.fresh("agreed");
  shared_.push_back(fmt::format("var<workgroup> {}: {};", name, type));
  out_.open(fmt::format("if ({} == 0)", dialect_.thread()));
  out_.line(fmt::format("{} = {};", name, value));
  out_.close();
  out_.line(dialect_.declare(true, type, result, fmt::format("workgroupUniformLoad(&{})", name)));
  return result;
}

// ---- definitions and memory ---------------------------------------------------------------------

// The lanes of a statement's value, in names where they are needed at once.
std::vector<GpuText> KernelWriter::lanes_of(const Stmt& s, bool apart) {
  const bool writes = s.kind == StmtKind::set || s.kind == StmtKind::store;
  const Value v = writes ? s.b : s.a;
  const int lanes = kernel_[v].lanes;
  std::vector<GpuText> all;
  for (int e = 0; e < lanes; ++e) {
    all.push_back(writes ? expr_.value(v, e) : expr_.for_local(s.local, v, e));
    if (!apart) continue;
    const std::string name = expr_.fresh("next");
    const std::string type = writes ? dialect_.type(kernel_[v].type) : expr_.type(s.local);
    out_.line(dialect_.declare(true, type, name, all.back().text));
    all.back() = {name, gpu_atom};
  }
  return all;
}

void KernelWriter::define(const Stmt& s) {
  const std::vector<GpuText> lanes = lanes_of(s, false);
  for (size_t e = 0; e < lanes.size(); ++e)
    out_.line(dialect_.declare(s.kind == StmtKind::let, expr_.type(s.local),
                               expr_.local(s.local, static_cast<int>(e)), lanes[e].text));
}

void KernelWriter::assign(const Stmt& s) {
  const bool apart = kernel_[s.a].lanes > 1 && plan_.mentions(s.a, s.local) && plan_.crosses(s.a);
  const std::vector<GpuText> lanes = lanes_of(s, apart);
  for (size_t e = 0; e < lanes.size(); ++e)
    out_.line(fmt::format("{} = {};", expr_.local(s.local, static_cast<int>(e)), lanes[e].text));
}

void KernelWriter::write_lane(const Stmt& s, const GpuText& at, const GpuText& computed) {
  GpuText value = computed;
  const std::string type = dialect_.type(kernel_[s.b].type);
  if (value.level < gpu_unary && dialect_.names_stored(kernel_[s.b].type)) {
    const std::string name = expr_.fresh("result");
    out_.line(dialect_.declare(true, type, name, value.text));
    value = {name, gpu_atom};
  }
  if (s.kind == StmtKind::set) {
    out_.line(fmt::format("{} = {};", expr_.array_element(s.local, at), value.text));
    return;
  }
  for (const std::string& line :
       expr_.store(expr_.argument(s.buffer), at, kernel_[s.b].type, value))
    out_.line(line);
}

void KernelWriter::write_memory(const Stmt& s) {
  const int lanes = kernel_[s.b].lanes;
  if (lanes == 1) {
    const GpuText at = expr_.address(s.a);
    return write_lane(s, at, expr_.value(s.b));
  }
  const bool set = s.kind == StmtKind::set;
  const bool apart =
      set ? plan_.reads(s.b, std::nullopt, s.local) : plan_.reads(s.b, s.buffer, std::nullopt);
  const std::vector<GpuText> values = lanes_of(s, apart);
  if (expr_.store_wide(s, values)) return;
  const std::string type = expr_.index_type();
  const GpuText at{expr_.repeatable(expr_.address(s.a), type, "at"), gpu_atom};
  std::string by, count;
  if (s.stride != Value{}) by = expr_.repeatable(expr_.address(s.stride), type, "by");
  if (s.first != Value{}) count = expr_.repeatable(expr_.bound(s.first), type, "count");
  for (int e = 0; e < lanes; ++e) {
    GpuText place = expr_.sum(at, e);
    if (!by.empty() && e > 0) place = {fmt::format("{} + {} * {}", at.text, by, e), gpu_sum};
    if (!count.empty()) out_.open(fmt::format("if ({} < {})", e, count));
    write_lane(s, place, values[static_cast<size_t>(e)]);
    if (!count.empty()) out_.close();
  }
}

void KernelWriter::exchange(const Stmt& s) {
  exchanges_ = true;
  const std::vector<GpuText> lanes = lanes_of(s, false);
  for (size_t e = 0; e < lanes.size(); ++e) {
    const GpuText moved = dialect_.exchange(kernel_[s.local].type, lanes[e].text, s.step);
    out_.line(dialect_.declare(true, expr_.type(s.local), expr_.local(s.local, static_cast<int>(e)),
                               moved.text));
  }
}

// ---- statements ---------------------------------------------------------------------------------

// Whether some buffer is both read and written, so that barriers order its elements.
bool KernelWriter::shares_written() const {
  return std::any_of(kernel_.writes.begin(), kernel_.writes.end(), [&](loop::BufferId w) {
    return std::any_of(kernel_.reads.begin(), kernel_.reads.end(), [&](loop::BufferId r) {
      return program_.storage(r) == program_.storage(w);
    });
  });
}

void KernelWriter::statement(size_t k) {
  const Stmt& s = kernel_.body[k];
  expr_.next();
  switch (s.kind) {
    case StmtKind::for_:
      return loop(k);
    case StmtKind::if_:
      return condition(k);
    case StmtKind::end:
      if (open_.back()) out_.close();
      open_.pop_back();
      return;
    case StmtKind::let:
    case StmtKind::var:
      return define(s);
    case StmtKind::array: {
      const std::string type = dialect_.type(kernel_[s.local].type);
      const std::string& name = expr_.local(s.local);
      if (!kernel_[s.local].shared)
        return out_.line(dialect_.array(type, name, kernel_[s.local].count));
      const int words = expr_.array_words(s.local);
      const bool real = kernel_[s.local].type == Type::f32;
      const std::string line =
          words == 1 ? dialect_.shared(type, name, kernel_[s.local].count)
                     : dialect_.shared(expr_.wide_type(real ? "float" : "int", words), name,
                                       (kernel_[s.local].count + words - 1) / words);
      if (dialect_.shares_outside())
        shared_.push_back(line);
      else
        out_.line(line);
      return;
    }
    case StmtKind::assign:
      return assign(s);
    case StmtKind::set:
    case StmtKind::store:
      return write_memory(s);
    case StmtKind::barrier:
      return out_.line(dialect_.barrier(shares_written()));
    case StmtKind::exchange:
      return exchange(s);
    case StmtKind::prefetch:
      return;
    case StmtKind::comment: {
      std::string text = kernel_.comments[s.text];
      std::erase(text, '\\');  // would continue the comment on the next line
      return out_.line("// " + text);
    }
  }
}

GpuFunction KernelWriter::write(const GpuFunctions& library) {
  GpuFunction function{entry_, "", kernel_.threads, shared_bytes(kernel_), {}};
  out_.open("");
  if (std::any_of(kernel_.nodes.begin(), kernel_.nodes.end(),
                  [](const loop::Node& n) { return n.op == Op::thread; }))
    out_.line(dialect_.declare(true, dialect_.type(Type::i32), expr_.thread(), dialect_.thread()));
  for (size_t k = 0; k < kernel_.body.size(); ++k) statement(k);
  out_.close();
  std::string body = out_.take();
  body.erase(0, body.find('\n') + 1);

  GpuFrame frame;
  frame.entry = entry_;
  frame.threads = kernel_.threads;
  frame.wide = options_.wide;
  frame.buffers = expr_.arguments();
  frame.symbols = expr_.symbols();
  frame.shared = shared_;
  frame.exchanges = exchanges_;
  frame.f64 = computes_in(program_, kernel_, Type::f64);
  frame.i64 = !dialect_.pairs();
  GpuSpelling ours;
  for (const auto& [word, spelling] : dialect_.spelling())
    if (word.starts_with("tang_")) ours[word] = spelling;
  const std::string snippets = library.needed(body);
  function.source = "// Generated by tang.\n" + dialect_.preamble(frame) + snippets +
                    dialect_.open(frame) + respell(body, ours);
  std::vector<bool> used(program_.symbols.size(), false);
  for (const loop::Node& n : kernel_.nodes)
    if (n.op == Op::symbol) used[n.id] = true;
  for (size_t k = 0; k < used.size(); ++k)
    if (used[k]) function.symbols.push_back(static_cast<ParamId>(k));
  return function;
}

}  // namespace

Result<GpuFunction> gpu_function(const Program& program, const Kernel& kernel,
                                 const std::string& entry, const GpuDialect& dialect,
                                 const GpuFunctions& library, const GpuSourceOptions& options) {
  if (const auto fits = within_limits(program, kernel, options); !fits)
    return tl::unexpected(fits.error());
  return KernelWriter(program, kernel, entry, dialect, options).write(library);
}

}  // namespace tang
