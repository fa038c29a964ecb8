#include "loop/machine.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/blocks.h"
#include "expr/apply.h"
#include "loop/text.h"

namespace tang::loop {

namespace {

// The scalar operation of the same name.
tang::Op scalar(Op op) {
  static const std::vector<tang::Op> by_name = [] {
    std::vector<tang::Op> all(static_cast<size_t>(Op::select) + 1, tang::Op::constant);
    for (size_t k = 0; k < all.size(); ++k)
      for (uint8_t n = 0; n <= static_cast<uint8_t>(tang::Op::pow); ++n)
        if (info(static_cast<tang::Op>(n)).name == info(static_cast<Op>(k)).name)
          all[k] = static_cast<tang::Op>(n);
    return all;
  }();
  return by_name[static_cast<size_t>(op)];
}

struct Number {
  double r = 0;
  int64_t i = 0;  // integers and bools
};

using Vector = std::array<Number, max_lanes>;

class Machine {
 public:
  Machine(const Program& program, const Kernel& kernel, std::span<void* const> buffers,
          std::span<const int64_t> symbols, int64_t most_steps)
      : p_(program),
        k_(kernel),
        buffers_(buffers),
        symbols_(symbols),
        left_(most_steps),
        parallel_(is_parallel(kernel)),
        touched_(program.buffers.size()) {
    locals_.resize(kernel.locals.size());
    arrays_.resize(kernel.locals.size());
    for (const Buffer& b : program.buffers)
      counts_.push_back(b.count.evaluate(symbols).value_or(0));
    match_ends();
  }

  Result<void> run() {
    for (size_t pc = 0; pc < k_.body.size() && fault_.empty();) pc = step(pc);
    if (fault_.empty()) return {};
    return error("E0421", fmt::format("kernel `{}`, {}", k_.name, fault_));
  }

 private:
  struct Open {
    size_t start = 0;
    int64_t next = 0, end = 0;
  };
  struct Element {
    std::optional<Number> value;
    int64_t setter = 0;  // the iteration
  };
  static constexpr int64_t nobody = -1, several = -2;
  struct Touch {  // iterations
    int64_t writer = nobody, reader = nobody;
  };

  void match_ends() {
    end_of_.assign(k_.body.size(), 0);
    std::vector<size_t> open;
    for (size_t pc = 0; pc < k_.body.size(); ++pc) {
      const StmtKind kind = k_.body[pc].kind;
      if (kind == StmtKind::for_ || kind == StmtKind::if_) open.push_back(pc);
      if (kind == StmtKind::end && !open.empty()) {
        end_of_[open.back()] = pc;
        open.pop_back();
      }
    }
  }

  void fault(const Stmt& s, const std::string& text) {
    if (fault_.empty()) fault_ = fmt::format("`{}`: {}", print_statement(p_, k_, s), text);
  }

  // ---- statements ------------------------------------------------------------------------------

  // Runs the statement at `pc`; returns where to go on.
  size_t step(size_t pc) {
    const Stmt& s = k_.body[pc];
    now_ = &s;
    if (--left_ < 0) fault(s, "too many steps: this loop does not seem to end");
    switch (s.kind) {
      case StmtKind::for_: {
        const int64_t first = eval(s.a).i, end = eval(s.b).i;
        if (first >= end) return end_of_[pc] + 1;
        locals_[index(s.local)][0].i = first;
        open_.push_back({pc, first, end});
        if (s.hint == Hint::parallel) iteration_ = ++iterations_;
        return pc + 1;
      }
      case StmtKind::if_:
        if (eval(s.a).i == 0) return end_of_[pc] + 1;
        open_.push_back({pc, 0, 0});
        return pc + 1;
      case StmtKind::end:
        return close(pc);
      case StmtKind::let:
      case StmtKind::var:
      case StmtKind::assign:
        if (k_[s.local].lanes > 1)
          locals_[index(s.local)] = vector(s.a);
        else
          locals_[index(s.local)][0] = eval(s.a);
        return pc + 1;
      case StmtKind::array: {
        auto& a = arrays_[index(s.local)];
        a.assign(static_cast<size_t>(k_[s.local].count), {});
        return pc + 1;
      }
      case StmtKind::set:
      case StmtKind::store:
        write(s);
        return pc + 1;
      case StmtKind::prefetch:
        (void)eval(s.a);
        return pc + 1;
      case StmtKind::barrier:
      case StmtKind::exchange:
      case StmtKind::comment:
        return pc + 1;
    }
    return pc + 1;
  }

  size_t close(size_t pc) {
    Open& o = open_.back();
    const Stmt& s = k_.body[o.start];
    if (s.kind == StmtKind::for_ && (o.next += s.step) < o.end) {
      locals_[index(s.local)][0].i = o.next;
      if (s.hint == Hint::parallel) iteration_ = ++iterations_;
      return o.start + 1;
    }
    if (s.hint == Hint::parallel) iteration_ = 0;
    open_.pop_back();
    return pc + 1;
  }

  // Where the lanes of a vector in memory lie.
  struct Address {
    int64_t index = 0, stride = 1, first = max_lanes;

    int64_t of(int e) const {
      return static_cast<int64_t>(static_cast<uint64_t>(index) +
                                  static_cast<uint64_t>(e) * static_cast<uint64_t>(stride));
    }
  };

  Address address(Value index, Value stride, Value first) {
    Address a;
    a.index = eval(index).i;
    if (stride != Value{}) a.stride = eval(stride).i;
    if (first != Value{}) a.first = eval(first).i;
    return a;
  }

  void write(const Stmt& s) {
    const int lanes = k_[s.b].lanes;
    const Address to = address(s.a, s.stride, s.first);
    Vector value;
    if (lanes > 1)
      value = vector(s.b);
    else
      value[0] = eval(s.b);
    for (int e = 0; e < lanes && e < to.first; ++e) {
      if (s.kind == StmtKind::set)
        set(s, to.of(e), value[static_cast<size_t>(e)]);
      else
        store(s, to.of(e), value[static_cast<size_t>(e)]);
    }
  }

  void set(const Stmt& s, int64_t at, const Number& value) {
    auto& a = arrays_[index(s.local)];
    if (at < 0 || at >= static_cast<int64_t>(a.size()))
      return fault(s, fmt::format("element {} of {}", at, a.size()));
    a[static_cast<size_t>(at)] = {value, iteration_};
  }

  void store(const Stmt& s, int64_t at, const Number& value) {
    const Buffer& b = p_[s.buffer];
    if (!inside(s.buffer, at, "a store")) return;
    if (parallel_) share(s.buffer, at, true);
    auto* data = static_cast<std::byte*>(buffers_[index(s.buffer)]);
    if (kind(b.format) == Kind::real)
      store_element(b.format, data, at, value.r);
    else
      store_integer(b.format, data, at, value.i);
  }

  // Notes who touches an element of a parallel kernel's buffers: a store must be the only
  // iteration's that does.
  void share(BufferId id, int64_t at, bool writes) {
    const BufferId memory = p_.storage(id);
    std::vector<Touch>& all = touched_[index(memory)];
    if (all.empty()) all.resize(static_cast<size_t>(counts_[index(memory)]));
    Touch& t = all[static_cast<size_t>(at)];
    const bool alone = t.reader == nobody || t.reader == iteration_;
    if ((t.writer != nobody && t.writer != iteration_) || (writes && !alone))
      fault(*now_, fmt::format("element {} of `{}` is {} here and {} in another iteration of a "
                               "parallel loop",
                               at, p_[id].name, writes ? "written" : "read",
                               t.writer != nobody ? "written" : "read"));
    if (writes)
      t.writer = iteration_;
    else
      t.reader = alone ? iteration_ : several;
  }

  bool inside(BufferId id, int64_t at, const char* what) {
    if (buffers_[index(id)] && at >= 0 && at < counts_[index(id)]) return true;
    fault(*now_, fmt::format("{} of element {} of `{}`, which has {}", what, at, p_[id].name,
                             counts_[index(id)]));
    return false;
  }

  // ---- expressions: recursion is bounded by max_depth -------------------------------------------

  static Number rounded(Type type, double x) {
    return {type == Type::f32 ? static_cast<double>(static_cast<float>(x)) : x, 0};
  }

  Number eval(Value v) {
    const Node& n = k_[v];
    switch (n.op) {
      case Op::constant:
        return is_real(n.type) ? Number{real_value(n), 0} : Number{0, integer_value(n)};
      case Op::symbol:
        return {0, symbols_[n.id]};
      case Op::thread:
        return {0, 0};
      case Op::local:
        return locals_[n.id][0];
      case Op::load:
      case Op::element:
        return read(n, eval(n.args[0]).i);
      case Op::low:
        return vector(n.args[0])[0];
      case Op::high:
        return vector(n.args[0])[1];
      case Op::lane:
        return vector(n.args[0])[n.id];
      case Op::select:
        return eval(n.args[eval(n.args[0]).i != 0 ? 1 : 2]);
      case Op::logical_and:
        return {0, eval(n.args[0]).i != 0 && eval(n.args[1]).i != 0};
      case Op::logical_or:
        return {0, eval(n.args[0]).i != 0 || eval(n.args[1]).i != 0};
      default:
        break;
    }
    Number x[3];
    for (size_t k = 0; k < 3 && n.args[k] != Value{}; ++k) x[k] = eval(n.args[k]);
    return operation(n, x);
  }

  Vector vector(Value v) {
    const Node& n = k_[v];
    switch (n.op) {
      case Op::local:
        return locals_[n.id];
      case Op::load:
      case Op::element:
        return read_vector(n);
      case Op::spread:
      case Op::ramp:
      case Op::low:
      case Op::high:
      case Op::join:
        return rearranged(n);
      case Op::even:
      case Op::odd:
        return runs(n);
      default:
        break;
    }
    Vector x[3], result;
    for (size_t k = 0; k < 3 && n.args[k] != Value{}; ++k) x[k] = vector(n.args[k]);
    for (size_t e = 0; e < n.lanes; ++e) {
      const Number lane[3] = {x[0][e], x[1][e], x[2][e]};
      result[e] = operation(n, lane);
    }
    return result;
  }

  Vector runs(const Node& n) {
    const Vector a = vector(n.args[0]), b = vector(n.args[1]);
    Vector result;
    const size_t run = n.id, shift = n.op == Op::odd ? run : 0;
    for (size_t e = 0; e < n.lanes; ++e) {
      const bool second = e / run % 2 == 1;
      const size_t from = e - (second ? run : 0) + shift;
      result[e] = second ? b[from] : a[from];
    }
    return result;
  }

  Vector rearranged(const Node& n) {
    const Node& from = k_[n.args[0]];
    Vector result, a;
    if (from.lanes > 1)
      a = vector(n.args[0]);
    else
      a[0] = eval(n.args[0]);
    const size_t half = n.op == Op::high ? n.lanes : 0;
    for (size_t e = 0; e < n.lanes; ++e) result[e] = a[from.lanes > 1 ? half + e : 0];
    if (n.op == Op::join) {
      Vector b;
      if (from.lanes > 1)
        b = vector(n.args[1]);
      else
        b[0] = eval(n.args[1]);
      for (size_t e = from.lanes; e < n.lanes; ++e) result[e] = b[e - from.lanes];
      for (size_t e = 0; e < from.lanes; ++e) result[e] = a[e];
    }
    for (size_t e = 0; n.op == Op::ramp && e < n.lanes; ++e) {
      const uint64_t sum = static_cast<uint64_t>(a[0].i) + e;
      result[e].i = n.type == Type::i32 ? static_cast<int32_t>(sum) : static_cast<int64_t>(sum);
    }
    return result;
  }

  Vector read_vector(const Node& n) {
    Vector result;
    if (k_[n.args[0]].lanes > 1) {
      const Vector at = vector(n.args[0]);
      for (size_t e = 0; e < n.lanes; ++e) result[e] = read(n, at[e].i);
      return result;
    }
    const Address from = address(n.args[0], n.args[1], n.args[2]);
    for (int e = 0; e < n.lanes && e < from.first; ++e)
      result[static_cast<size_t>(e)] = read(n, from.of(e));
    return result;
  }

  // One element of a buffer or an array.
  Number read(const Node& n, int64_t at) { return n.op == Op::load ? load(n, at) : element(n, at); }

  Number load(const Node& n, int64_t at) {
    const auto id = static_cast<BufferId>(n.id);
    const Buffer& b = p_[id];
    if (!inside(id, at, "a load")) return {};
    if (parallel_ && !is_block(b.format)) share(id, at, false);
    const auto* data = static_cast<const std::byte*>(buffers_[n.id]);
    if (is_block(b.format)) return {load_block_element(b.format, data, at), 0};
    if (kind(b.format) == Kind::real) return {load_element(b.format, data, at), 0};
    return {0, load_integer(b.format, data, at)};
  }

  Number element(const Node& n, int64_t at) {
    const auto& a = arrays_[n.id];
    const std::string& name = k_[static_cast<LocalId>(n.id)].name;
    if (at < 0 || at >= static_cast<int64_t>(a.size())) {
      fault(*now_, fmt::format("element {} of `{}`, which has {}", at, name, a.size()));
      return {};
    }
    const Element& e = a[static_cast<size_t>(at)];
    if (!e.value)
      fault(*now_, fmt::format("element {} of `{}` is read before it is set", at, name));
    if (e.setter != 0 && e.setter != iteration_)
      fault(*now_, fmt::format("element {} of `{}` was set in another iteration of a parallel loop",
                               at, name));
    return e.value.value_or(Number{});
  }

  Number cast(const Node& n, const Number& x) const {
    const Type from = k_[n.args[0]].type;
    if (is_real(n.type)) return rounded(n.type, is_real(from) ? x.r : static_cast<double>(x.i));
    if (n.type == Type::boolean) return {0, is_real(from) ? x.r != 0 : x.i != 0};
    const Format to = n.type == Type::i64 ? Format::i64 : Format::i32;
    if (is_real(from)) return {0, round_to_integer(to, x.r)};
    return {0, n.type == Type::i32 ? std::clamp<int64_t>(x.i, INT32_MIN, INT32_MAX) : x.i};
  }

  // One lane of an operation whose operands are evaluated.
  Number operation(const Node& n, const Number* x) const {
    switch (n.op) {
      case Op::cast:
        return cast(n, x[0]);
      case Op::round:
        if (is_real(n.type)) return {round_to(n.format, x[0].r), 0};
        return {0, round_to_integer(n.format, static_cast<double>(x[0].i))};
      case Op::select:
        return x[0].i != 0 ? x[1] : x[2];
      case Op::logical_and:
        return {0, x[0].i != 0 && x[1].i != 0};
      case Op::logical_or:
        return {0, x[0].i != 0 || x[1].i != 0};
      case Op::logical_not:
        return {0, x[0].i == 0};
      case Op::fma:
        return rounded(n.type, std::fma(x[0].r, x[1].r, x[2].r));
      default:
        return by_name(n, x);
    }
  }

  // The scalar operation of the same name; fma and != are this language's own.
  Number by_name(const Node& n, const Number* x) const {
    tang::Value a[3];
    for (size_t k = 0; k < 3 && n.args[k] != Value{}; ++k) {
      const Type t = k_[n.args[k]].type;
      a[k] = is_real(t)           ? tang::Value::real(x[k].r)
             : t == Type::boolean ? tang::Value::boolean(x[k].i != 0)
                                  : tang::Value::integer(x[k].i);
    }
    if (n.op == Op::ne)
      return {0, !apply(tang::Op::eq, {}, a[0], a[1], {}, Kind::boolean).as_bool()};
    const Kind kind = is_real(n.type)           ? Kind::real
                      : n.type == Type::boolean ? Kind::boolean
                                                : Kind::integer;
    const tang::Value r = apply(scalar(n.op), {}, a[0], a[1], a[2], kind);
    if (is_real(n.type)) return rounded(n.type, r.as_real());
    const int64_t i = kind == Kind::boolean ? r.as_bool() : r.as_integer();
    return {0, n.type == Type::i32 ? static_cast<int32_t>(i) : i};
  }

  const Program& p_;
  const Kernel& k_;
  std::span<void* const> buffers_;
  std::span<const int64_t> symbols_;
  int64_t left_;
  std::vector<int64_t> counts_;  // elements, by buffer
  std::vector<size_t> end_of_;   // of a for or if: its end
  std::vector<Vector> locals_;
  std::vector<std::vector<Element>> arrays_;  // by local
  std::vector<Open> open_;
  const bool parallel_;
  int64_t iteration_ = 0, iterations_ = 0;   // of parallel loops, from 1; 0 outside of them
  std::vector<std::vector<Touch>> touched_;  // of a parallel kernel, by buffer that owns memory
  const Stmt* now_ = nullptr;
  std::string fault_;
};

}  // namespace

Result<void> run(const Program& program, const Kernel& kernel, std::span<void* const> buffers,
                 std::span<const int64_t> symbols, int64_t most_steps) {
  return Machine(program, kernel, buffers, symbols, most_steps).run();
}

}  // namespace tang::loop
