#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tile/names.h"
#include "tile/print_expr.h"
#include "tile/text.h"
#include "view/placement_text.h"

namespace tang::tile {

namespace {

class Printer {
 public:
  Printer(const Program& program, const Kernel& kernel) : p_(program), k_(kernel) {}

  std::string kernel() {
    out_ = fmt::format("kernel {} on {} {{\n", k_.name, k_.target);
    depth_ = 1;
    declarations();
    region(k_.regions[0], all_roles());
    return out_ + "}\n";
  }

  std::string op(const Op& op) const { return text(op, op.roles); }

  std::string form(const Form& f) const {
    std::string s;
    const auto add = [&s](const Poly& coeff, const std::string& name, const std::string& size) {
      const bool negative = coeff.terms()[0].coeff < 0;
      s += s.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
      const bool one = size == "1" && !name.empty();
      s += one ? name : name.empty() ? size : size + "*" + name;
    };
    // In the order of the text that declares them: axes, then loops.
    std::vector<Form::Term> terms = f.terms;
    std::stable_partition(terms.begin(), terms.end(), [this](const Form::Term& t) {
      return k_[t.dim].what == Index::What::axis;
    });
    for (const bool negative : {false, true}) {
      for (const Form::Term& t : terms)
        if ((t.coeff.terms()[0].coeff < 0) == negative)
          add(t.coeff, k_[t.dim].name, factor(negative ? Poly(-1) * t.coeff : t.coeff));
      for (const Form::Gather& t : f.gathers)
        if ((t.coeff.terms()[0].coeff < 0) == negative)
          add(t.coeff, k_.values[t.leaf].name, factor(negative ? Poly(-1) * t.coeff : t.coeff));
      for (const Poly::Term& t : f.base.terms()) {
        if ((t.coeff < 0) != negative) continue;
        Poly one(t.coeff);
        for (ParamId id : t.params) one = one * Poly::param(id);
        add(one, "", poly(negative ? Poly(-1) * one : one));
      }
    }
    return s.empty() ? "0" : s;
  }

 private:
  // ---- pieces ----------------------------------------------------------------------------------

  std::string poly(const Poly& p) const {
    return p.text([this](ParamId id) { return p_.params[index(id)]; });
  }
  std::string factor(const Poly& p) const {
    return p.terms().size() > 1 ? "(" + poly(p) + ")" : poly(p);
  }
  std::vector<std::string> names(const std::vector<DimId>& dims) const {
    std::vector<std::string> result;
    for (DimId d : dims) result.push_back(k_[d].name);
    return result;
  }
  std::string value(ValueId v) const { return v == ValueId::none ? "none" : k_[v].name; }
  std::string values(const std::vector<ValueId>& list) const {
    std::vector<std::string> result;
    for (ValueId v : list) result.push_back(value(v));
    return fmt::format("{}", fmt::join(result, ", "));
  }
  std::string roles(RoleSet set) const {
    std::vector<std::string> result;
    for (size_t r = 0; r < k_.roles.size(); ++r)
      if ((set >> r & 1) != 0) result.push_back(k_.roles[r].name);
    return fmt::format("{}", fmt::join(result, ", "));
  }
  RoleSet all_roles() const { return every_role(k_); }

  std::string forms(const std::vector<Form>& list) const {
    std::vector<std::string> result;
    for (const Form& f : list) result.push_back(form(f));
    return fmt::format("{}", fmt::join(result, ", "));
  }

  std::string limit(const char* of, const std::vector<Form>& list) const {
    return list.size() == 1 ? form(list[0]) : fmt::format("{}({})", of, forms(list));
  }

  std::string ref(const Ref& r) const {
    std::string name;
    if (r.what == Ref::What::member) name = value(r.slot) + "." + k_[r.memory].name;
    if (r.what == Ref::What::memory) name = k_[r.memory].name;
    if (r.what == Ref::What::map) name = k_[r.map].name;
    return name + "[" + forms(r.at) + "]";
  }

  // The format once if all tiles have it.
  std::string type(const Op& op) const {
    const Type& t = k_[op.results[0]].type;
    std::vector<std::string_view> formats;
    for (ValueId v : op.results)
      if (k_[v].type.what == Type::What::tile) formats.push_back(name(k_[v].type.format));
    if (std::equal(formats.begin() + 1, formats.end(), formats.begin())) formats.resize(1);
    std::string s = fmt::format(" -> {} : {}", k_[t.placement].name, fmt::join(formats, ", "));
    if (t.partial != MonoidId::none) s += " partial " + k_[t.partial].name;
    return s;
  }

  std::string extents(const Op& op) const {
    std::vector<std::string> list;
    for (size_t k = 0; k < op.over.size(); ++k)
      list.push_back(fmt::format("{} {}", k_[op.over[k]].name, op.box[k]));
    return fmt::format("({})", fmt::join(list, ", "));
  }

  std::string valid(const Op& op) const {
    if (op.valid.empty()) return {};
    std::vector<std::string> list;
    for (const Form& f : op.valid) list.push_back(form(f) + " >= 0");
    std::string s = fmt::format(" valid {}", fmt::join(list, ", "));
    if (op.kind != OpKind::store) s += " fill " + number_text(op.fill);
    return s;
  }

  static std::string row(const Op& op) { return op.row.empty() ? "" : " row " + op.row; }

  // ---- declarations ----------------------------------------------------------------------------

  void line(const std::string& text) {
    out_ += std::string(static_cast<size_t>(depth_) * 2, ' ') + text + "\n";
  }

  void declarations() {
    std::vector<std::string> axes;
    for (const Index& i : k_.indices)
      if (i.what == Index::What::axis) axes.push_back(i.name);
    if (!axes.empty()) line(fmt::format("axis {}", fmt::join(axes, ", ")));
    for (const Memory& m : k_.memories) memory(m);
    for (const TensorMap& m : k_.maps) tensor_map(m);
    for (const Role& r : k_.roles) role(r);
    for (const Channel& c : k_.channels) channel(c);
    for (const Monoid& m : k_.monoids)
      if (!m.builtin) line(print_monoid(k_, m));
    for (const Turn& t : k_.turns)
      line(fmt::format("turn {} of {} first {}", t.name, k_.roles[t.role].name, t.first));
    for (const NamedPlacement& n : k_.placements)
      line(fmt::format("place {} ({}) = {}", n.name, fmt::join(names(n.axes), ", "),
                       tang::print(n.placement, names(n.axes))));
    if (k_.order) order(*k_.order);
  }

  void memory(const Memory& m) {
    std::vector<std::string> axes;
    for (size_t a = 0; a < m.axes.size(); ++a)
      axes.push_back(fmt::format("{} : {}", k_[m.axes[a]].name, poly(m.extents[a])));
    const std::string shape = fmt::format("{}[{}]", m.name, fmt::join(axes, ", "));
    const std::string life = m.life == Life::kernel ? "" : fmt::format(" {}", name(m.life));
    if (m.role != Memory::Role::local) {
      const std::string layout =
          m.layout.digits.empty() ? "" : " = " + tang::print(m.layout, names(m.axes));
      return line(
          fmt::format("{} {} : {}{}{}", name(m.role), shape, tang::name(m.format), life, layout));
    }
    line(fmt::format("memory {} : {} {}{} = {}", shape, tang::name(m.space), tang::name(m.format),
                     life, tang::print(m.layout, names(m.axes))));
  }

  void tensor_map(const TensorMap& m) {
    const std::string swizzle = m.swizzle > 0 ? fmt::format(" sw {}", m.swizzle) : "";
    line(fmt::format("map {} = {} {} box {}{}", m.name, name(m.use), k_[m.of].name,
                     fmt::join(m.box, ", "), swizzle));
  }

  void role(const Role& r) {
    std::string s =
        fmt::format("role {} warps {}..{}", r.name, r.first_warp, r.first_warp + r.warps - 1);
    if (r.registers > 0) s += fmt::format(" regs {}", r.registers);
    if (r.copy) s += fmt::format(" copies {} {}", k_[*r.copy].name, r.copies);
    line(s);
  }

  std::string signal(const Signal& s, int64_t usual_phase) const {
    std::string text = fmt::format("{} from {}", name(s.by), roles(s.from));
    if (s.by == Signal::By::transaction) text += fmt::format(" bytes {}", s.bytes);
    if (s.by == Signal::By::arrival) text += fmt::format(" each {}", s.each);
    if (s.phase != usual_phase) text += fmt::format(" phase {}", s.phase);
    return text;
  }

  void channel(const Channel& c) {
    std::vector<std::string> members;
    for (MemoryId m : c.members) members.push_back(k_[m].name);
    line(fmt::format("channel {} depth {}{} {{ {} }} full {} empty {}", c.name, c.depth,
                     c.per_copy ? " each copy" : "", fmt::join(members, ", "), signal(c.full, 0),
                     signal(c.empty, 1)));
  }

  void order(const TileOrder& o) {
    std::vector<std::string> axes, digits;
    for (size_t a = 0; a < o.axes.size(); ++a)
      axes.push_back(
          fmt::format("{} : {} tile {}", k_[o.axes[a]].name, poly(o.extents[a]), o.tile[a]));
    for (const TileOrder::Digit& d : o.digits) {
      std::string s = k_[o.axes[d.of.axis]].name;
      if (d.of.stride > 1) s += fmt::format("/{}", d.of.stride);
      if (d.of.extent > 0) s += fmt::format("%{}", d.of.extent);
      digits.push_back(s + (d.reversed ? " reversed" : ""));
    }
    std::string s = fmt::format("order {}", fmt::join(axes, ", "));
    if (!digits.empty()) s += fmt::format(" digits {}", fmt::join(digits, ", "));
    if (o.workers > 0) s += fmt::format(" workers {}", o.workers);
    line(s);
  }

  // ---- statements ------------------------------------------------------------------------------

  // `within`: the roles of what stands around, which need not be named again.
  void region(const Region& r, RoleSet within) {
    for (uint32_t id : r.ops) {
      const Op& op = k_.ops[id];
      std::string s = text(op, within);
      if (op.body_region == RegionId::none) {
        line(s);
        continue;
      }
      line(s + " {");
      body(op.body_region, op.roles);
      if (op.other_region != RegionId::none) {
        line("} else {");
        body(op.other_region, op.roles);
      }
      line("}");
    }
  }

  void body(RegionId id, RoleSet within) {
    ++depth_;
    region(k_[id], within);
    --depth_;
  }

  std::string text(const Op& op, RoleSet within) const {
    std::string s;
    if (op.roles != within) s += roles(op.roles) + ": ";
    if (op.stage > 0) s += fmt::format("@{} ", op.stage);
    if (!op.results.empty()) s += values(op.results) + " = ";
    return s + std::string(info(op.kind).name) + rest(op);
  }

  std::string rest(const Op& op) const {
    switch (info(op.kind).group) {
      case OpGroup::data:
        return data(op);
      case OpGroup::channel:
        return " " + k_[op.channel].name + (op.args.empty() ? "" : " " + value(op.args[0]));
      case OpGroup::order:
        return waiting(op);
      case OpGroup::control:
        return control(op);
    }
    return {};
  }

  std::string data(const Op& op) const {
    switch (op.kind) {
      case OpKind::load:
        return " " + ref(op.refs[0]) + type(op) + valid(op) + row(op);
      case OpKind::store:
        return " " + value(op.args[0]) + " -> " + ref(op.refs[0]) + valid(op) + row(op);
      case OpKind::copy:
        return (op.over.empty() ? "" : " " + extents(op)) + " " + ref(op.refs[0]) + " -> " +
               ref(op.refs[1]) + valid(op) + row(op) + (op.one_thread ? " by one_thread" : "");
      case OpKind::map:
        return " " + print_body(p_, k_, op) + type(op);
      case OpKind::solve:
        return fmt::format(" {} : {}", fmt::join(names(op.over), ", "), ref(op.refs[0])) + type(op);
      case OpKind::scan:
      case OpKind::reduce:
        return fmt::format(" {} {} : {}", k_[op.monoid].name, fmt::join(names(op.over), ", "),
                           values(op.args)) +
               type(op);
      case OpKind::fold:
        return fmt::format(" {} : {}", k_[op.monoid].name, values(op.args)) + type(op);
      case OpKind::contract:
        return contract(op);
      case OpKind::convert:
        return " " + value(op.args[0]) + type(op);
      case OpKind::slice:
        return fmt::format(" {} at ({})", value(op.args[0]), forms(op.from)) + type(op);
      default:
        return " " + ref(op.refs[0]);
    }
  }

  std::string contract(const Op& op) const {
    size_t next = 0;
    std::vector<std::string> operands;
    for (const Ref& r : op.refs)
      operands.push_back(r.what == Ref::What::none ? value(op.args[next++]) : ref(r));
    std::string s =
        " " + extents(op) + " : " + (op.negate ? "-" : "") + operands[0] + " * " + operands[1];
    if (next < op.args.size()) s += " + " + value(op.args[next]);
    return s + type(op) + row(op);
  }

  std::string waiting(const Op& op) const {
    if (op.kind == OpKind::wait) return " " + values(op.args);
    if (op.kind == OpKind::fence) return op.fence == Fence::async ? " async" : " registers";
    return op.kind == OpKind::barrier ? "" : " " + k_.turns[op.turn].name;
  }

  static std::string list(const std::vector<std::string>& texts) {
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  std::string control(const Op& op) const {
    if (op.kind == OpKind::next) return op.args.empty() ? "" : " " + values(op.args);
    if (op.kind == OpKind::branch) {
      std::vector<std::string> parts;
      for (const Form& f : op.holds) parts.push_back(form(f) + " >= 0");
      return fmt::format(" {}", fmt::join(parts, " and "));
    }
    std::string s;
    const Op::Range& r = op.range;
    if (r.tiles)
      s = fmt::format(" tiles ({})", fmt::join(names(r.indices), ", "));
    else
      s = fmt::format(" {} from {} to {}", k_[r.indices[0]].name, limit("max", r.lo),
                      limit("min", r.hi));
    if (r.step != 1) s += fmt::format(" step {}", r.step);
    if (r.down) s += " down";
    if (r.parallel) s += " parallel";
    std::vector<std::string> carries;
    for (size_t c = 0; c < op.carried.size(); ++c)
      carries.push_back(value(op.carried[c]) + " = " + value(op.args[c]));
    if (!carries.empty()) s += fmt::format(" carry {}", fmt::join(carries, ", "));
    return s;
  }

  const Program& p_;
  const Kernel& k_;
  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string print(const Program& program, const Kernel& kernel) {
  return Printer(program, kernel).kernel();
}

std::string print(const Program& program) {
  std::string s;
  if (!program.params.empty()) s = fmt::format("param {}\n", fmt::join(program.params, ", "));
  for (const Kernel& k : program.kernels) s += (s.empty() ? "" : "\n") + print(program, k);
  return s;
}

std::string print_op(const Program& program, const Kernel& kernel, const Op& op) {
  return Printer(program, kernel).op(op);
}

std::string print_form(const Program& program, const Kernel& kernel, const Form& form) {
  return Printer(program, kernel).form(form);
}

}  // namespace tang::tile
