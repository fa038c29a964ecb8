#include "tile/verify_values.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace tang::tile {

namespace {

class Values {
 public:
  Values(const Kernel& kernel, const std::function<void(std::string, const Op&)>& complain)
      : k_(kernel), complain_(complain) {}

  void run() { region(static_cast<RegionId>(0)); }

 private:
  // ---- dominance -------------------------------------------------------------------------------

  // Regions nest as blocks of the text do, which the parser bounds and a lowering does by its
  // loops.
  void region(RegionId id) {
    const std::set<ValueId> outside = visible_;
    for (uint32_t n : k_[id].ops) {
      const Op& op = k_.ops[n];
      if (op.stage > 0)  // reads what earlier trips defined further down
        for (uint32_t other : k_[id].ops)
          visible_.insert(k_.ops[other].results.begin(), k_.ops[other].results.end());
      operation(op);
      visible_.insert(op.results.begin(), op.results.end());
    }
    visible_ = outside;
  }

  void operation(const Op& op) {
    for (ValueId v : op.args) use(op, v);
    for (const Ref& r : op.refs) {
      if (r.what == Ref::What::member) use(op, r.slot);
      gathers(op, r.at);
    }
    for (const auto* forms : {&op.valid, &op.from, &op.holds, &op.range.lo, &op.range.hi})
      gathers(op, *forms);
    types(op);
    if (op.body_region == RegionId::none) return;
    const std::set<ValueId> outside = visible_;
    visible_.insert(op.carried.begin(), op.carried.end());
    region(op.body_region);
    visible_ = outside;
    if (op.other_region != RegionId::none) region(op.other_region);
  }

  void use(const Op& op, ValueId v) {
    if (v == ValueId::none || visible_.contains(v)) return;
    complain_(fmt::format("`{}` is not defined before", k_[v].name), op);
  }

  // ---- gathers ---------------------------------------------------------------------------------

  const std::vector<DimId>* axes_of(ValueId v) const {
    if (v == ValueId::none) return nullptr;
    const Type& t = k_[v].type;
    if (t.what != Type::What::tile || t.placement == PlacementId::none) return nullptr;
    return &k_[t.placement].axes;
  }

  bool held_by(ValueId v, ValueId reader) const {
    const auto *from = axes_of(v), *to = axes_of(reader);
    return from && to && std::all_of(from->begin(), from->end(), [&](DimId d) {
             return std::find(to->begin(), to->end(), d) != to->end();
           });
  }

  void gathers(const Op& op, const std::vector<Form>& forms) {
    for (const Form& f : forms)
      for (const Form::Gather& g : f.gathers) gather(op, static_cast<ValueId>(g.leaf));
  }

  void gather(const Op& op, ValueId v) {
    use(op, v);
    const bool by_all =
        op.kind == OpKind::branch || op.kind == OpKind::loop || op.kind == OpKind::prefetch;
    if (op.kind != OpKind::load && op.kind != OpKind::store && !by_all)
      return complain_("only loads, stores, prefetches, branches and loops gather", op);
    if (kind(k_[v].type.format) != Kind::integer || !axes_of(v))
      return complain_(fmt::format("`{}` is no integer tile", k_[v].name), op);
    if (by_all) {
      if (!axes_of(v)->empty())
        complain_(fmt::format("`{}` has axes, and this is done by all elements", k_[v].name), op);
      return;
    }
    const ValueId reader = op.kind == OpKind::load ? op.results[0] : op.args[0];
    if (!held_by(v, reader))
      complain_(fmt::format("`{}` has an axis that `{}` has not", k_[v].name,
                            reader == ValueId::none ? "none" : k_[reader].name),
                op);
  }

  // ---- types -----------------------------------------------------------------------------------

  void types(const Op& op) {
    switch (op.kind) {
      case OpKind::load:
        return alike(op, kind(k_[op.refs[0].memory].format), op.results[0]);
      case OpKind::store:
        return alike(op, kind(k_[op.refs[0].memory].format), op.args[0]);
      case OpKind::map:
        return map(op);
      case OpKind::reduce:
      case OpKind::scan:
      case OpKind::fold:
        return fold(op);
      case OpKind::loop:
        return loop(op);
      case OpKind::branch:
        return branch(op);
      default:
        return;
    }
  }

  void alike(const Op& op, Kind wanted, ValueId v) {
    if (v == ValueId::none || k_[v].type.what != Type::What::tile) return;
    if (const Kind is = kind(k_[v].type.format); is != wanted)
      complain_(fmt::format("`{}` is {}, which is not {}", k_[v].name, name(is), name(wanted)), op);
  }

  void map(const Op& op) {
    for (ValueId v : op.args)
      if (!held_by(v, op.results[0]))
        complain_(fmt::format("`{}` has an axis that the result has not",
                              v == ValueId::none ? "none" : k_[v].name),
                  op);
    for (const Leaf& l : op.leaves)
      if (!l.form.is_affine()) complain_("a variable of a map gathers", op);
    for (ExprId e : k_.pool.reachable(op.body)) {
      const ExprNode& n = k_.pool[e];
      if (n.op != tang::Op::var) continue;
      if (n.variable() >= op.leaves.size()) return complain_("a variable without a meaning", op);
      const Leaf& l = op.leaves[n.variable()];
      if (l.argument && *l.argument >= op.args.size())
        return complain_("a variable without a value", op);
      if (l.argument)
        alike(op, n.kind, op.args[*l.argument]);
      else if (n.kind != Kind::integer)
        complain_("a position is an integer", op);
    }
    alike(op, k_.pool[op.body].kind, op.results[0]);
  }

  void fold(const Op& op) {
    const Monoid& m = k_[op.monoid];
    if (op.args.size() != m.fields.size() || op.results.size() != op.args.size()) return;
    for (size_t c = 0; c < op.args.size(); ++c) {
      if (op.args[c] == ValueId::none) return complain_("a component without a value", op);
      const Type &from = k_[op.args[c]].type, &to = k_[op.results[c]].type;
      const Type &first = k_[op.args[0]].type, &result = k_[op.results[0]].type;
      if (from.what != Type::What::tile || from.placement != first.placement ||
          to.placement != result.placement)
        complain_("components of a state lie alike", op);
      if (kind(from.format) != kind(to.format) ||
          (!m.kinds.empty() && m.kinds[c] != kind(to.format)))
        complain_(fmt::format("`{}` is of another kind than the monoid's component",
                              k_[op.results[c]].name),
                  op);
    }
  }

  static bool same(const Type& a, const Type& b) {
    return a.what == b.what && a.placement == b.placement && a.format == b.format &&
           a.partial == b.partial && a.channel == b.channel;
  }

  const Op* next_of(RegionId id) const {
    if (id == RegionId::none || k_[id].ops.empty()) return nullptr;
    const Op& last = k_.ops[k_[id].ops.back()];
    return last.kind == OpKind::next ? &last : nullptr;
  }

  void same_types(const Op& op, const std::vector<ValueId>& one,
                  const std::vector<ValueId>& other) {
    for (size_t c = 0; c < one.size() && c < other.size(); ++c)
      if (one[c] != ValueId::none && other[c] != ValueId::none &&
          !same(k_[one[c]].type, k_[other[c]].type))
        complain_(
            fmt::format("`{}` and `{}` are of different types", k_[one[c]].name, k_[other[c]].name),
            op);
  }

  void loop(const Op& op) {
    same_types(op, op.carried, op.args);
    same_types(op, op.carried, op.results);
    if (const Op* next = next_of(op.body_region)) same_types(op, op.carried, next->args);
  }

  // Both blocks yield what the branch does.
  void branch(const Op& op) {
    for (RegionId id : {op.body_region, op.other_region}) {
      const Op* next = next_of(id);
      const size_t yields = next ? next->args.size() : 0;
      if (yields != op.results.size())
        return complain_(fmt::format("a block yields {} values of {}", yields, op.results.size()),
                         op);
      if (next) same_types(op, op.results, next->args);
    }
  }

  const Kernel& k_;
  const std::function<void(std::string, const Op&)>& complain_;
  std::set<ValueId> visible_;
};

}  // namespace

void verify_values(const Kernel& kernel,
                   const std::function<void(std::string text, const Op& op)>& complain) {
  Values(kernel, complain).run();
}

}  // namespace tang::tile
