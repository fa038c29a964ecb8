// Folds and scans of the builder, and monoids of one's own.
#include <algorithm>

#include <fmt/format.h>

#include "ir/builder_impl.h"
#include "ir/guards.h"
#include "ir/monoids.h"
#include "ir/print.h"

namespace tang {

namespace {

Kind join(Kind a, Kind b) {
  if (a == Kind::real || b == Kind::real) return Kind::real;
  return a == Kind::integer || b == Kind::integer ? Kind::integer : Kind::boolean;
}

}  // namespace

std::string_view Builder::Impl::monoid_name(const MonoidRef& m) const {
  return m.spec_ >= 0 ? std::string_view(specs[static_cast<size_t>(m.spec_)].name)
                      : std::string_view(m.name_);
}

std::optional<MonoidId> Builder::Impl::choose(const MonoidRef& m, const std::vector<ExprId>& args) {
  std::vector<Kind> kinds;
  for (ExprId e : args) kinds.push_back(g.pool[e].kind);
  if (m.spec_ >= 0) return instance(static_cast<size_t>(m.spec_), kinds);
  const auto id = builtin_monoid(g, m.name_, kinds);
  if (id) return id;
  if (kinds.size() == 1 && (monoid_name(m) == "any" || monoid_name(m) == "all"))
    fail("E0301", fmt::format("`{}` takes a condition, and this is {}", m.name_, name(kinds[0])),
         "compare it: x != 0");
  else
    fail("E0501", fmt::format("`{}` does not take {} argument{}", m.name_, kinds.size(),
                              kinds.size() == 1 ? "" : "s"));
  return std::nullopt;
}

std::optional<MonoidId> Builder::Impl::instance(size_t spec, const std::vector<Kind>& kinds) {
  if (const auto it = instances.find({spec, kinds}); it != instances.end()) return it->second;
  const MonoidSpec& s = specs[spec];
  const std::vector<std::string>& arguments = s.lift ? s.arguments : s.fields;
  if (arguments.size() != kinds.size()) {
    fail("E0501", fmt::format("`{}` takes {} arguments, and is given {}", s.name, arguments.size(),
                              kinds.size()));
    return std::nullopt;
  }
  Monoid m;
  m.name = s.name;
  m.builtin = false;
  m.commutative = s.commutative;
  m.arguments = arguments;
  m.argument_kinds = kinds;
  m.fields = s.fields;
  m.kinds.assign(s.fields.size(), Kind::boolean);
  for (size_t round = 0; round < 2 * s.fields.size() + 1; ++round) {
    if (!fill_monoid(s, m)) return std::nullopt;
    const std::vector<Kind> before = m.kinds;
    for (const auto* part : {&m.identity, &m.lift, &m.combine})
      for (size_t k = 0; k < part->size(); ++k)
        m.kinds[k] = join(m.kinds[k], g.pool[(*part)[k]].kind);
    if (m.kinds == before) break;
  }
  m.outputs = m.fields;
  m.output_kinds = m.kinds;
  m.fin = leaves(Leaf::What::left, m.kinds);
  m.value = m.fields.size() == 1 ? 0 : -1;
  g.monoids.push_back(std::move(m));
  const auto id = static_cast<MonoidId>(g.monoids.size() - 1);
  instances[{spec, kinds}] = id;
  return id;
}

std::vector<ExprId> Builder::Impl::leaves(Leaf::What what, const std::vector<Kind>& kinds) {
  std::vector<ExprId> out;
  for (uint32_t k = 0; k < kinds.size(); ++k) {
    Leaf l;
    l.what = what;
    l.kind = kinds[k];
    l.number = k;
    out.push_back(g.variable(l));
  }
  return out;
}

States Builder::Impl::states(const std::vector<ExprId>& parts,
                             const std::vector<std::string>& names) {
  std::vector<Expr> out;
  for (ExprId e : parts) out.push_back(expr(e));
  return {std::move(out), names};
}

bool Builder::Impl::fill_monoid(const MonoidSpec& s, Monoid& m) {
  const States x = states(leaves(Leaf::What::argument, m.argument_kinds), m.arguments);
  const States a = states(leaves(Leaf::What::left, m.kinds), m.fields);
  const States b = states(leaves(Leaf::What::right, m.kinds), m.fields);
  const auto part = [&](const Parts& p, std::string_view what, std::vector<ExprId>& out) {
    const auto ids = nodes_of(p, {}, fmt::format("the {} of `{}`", what, s.name));
    if (!ids) return false;
    if (ids->size() != s.fields.size()) {
      fail("E0506",
           fmt::format("`{}` has {} fields, its {} {}", s.name, s.fields.size(), what, ids->size()),
           "give one component for each field, in order");
      return false;
    }
    out = *ids;
    return true;
  };
  if (!part(s.identity, "identity", m.identity)) return false;
  if (s.lift ? !part(s.lift(x), "lift", m.lift)
             : (m.lift = leaves(Leaf::What::argument, m.argument_kinds), false))
    return false;
  return part(s.combine(a, b), "combine", m.combine);
}

bool Builder::Impl::choose_value(const MonoidRef& m, FoldSpec& spec) {
  const Monoid& made = g[spec.fold.monoid];
  spec.value = made.value;
  if (!m.field_) return true;
  for (size_t k = 0; k < made.outputs.size(); ++k)
    if (made.outputs[k] == m.field_) {
      spec.value = static_cast<int>(k);
      spec.picked = true;
      return true;
    }
  fail("E0211", fmt::format("`{}` has no field `{}`", made.name, m.field_),
       fmt::format("its fields are {}", fmt::join(made.outputs, ", ")));
  return false;
}

FoldSpec Builder::Impl::make_fold(const MonoidRef& m, const Over& over, const Parts& args) {
  FoldSpec spec;
  const auto dims = dims_of_all(over.dims, "in this binder");
  if (!dims) return spec;
  spec.reduce = *dims;
  if (over.condition) {
    ExprId c = node_of(over.condition->expr(), "a condition");
    if (c != ExprId::none) c = settle(c, {});
    if (c == ExprId::none) return spec;
    spec.guards = guards_from(g, c);
  }
  const auto ids = nodes_of(args, fill_of(monoid_name(m), m.spec_ < 0),
                            fmt::format("an argument of `{}`", monoid_name(m)));
  if (!ids) return spec;
  spec.fold.args = *ids;
  const auto id = choose(m, *ids);
  if (!id) return spec;
  spec.fold.monoid = *id;
  if (over.entry) {
    if (!index_ok(*over.entry) || !entries(*dims, over.entry->dim())) return spec;
    spec.fold.entry = over.entry->dim();
  }
  if (g[*id].flat_index) {
    Form flat;
    for (DimId d : *dims) flat = g.extent(d) * flat + Form::coordinate(d);
    spec.fold.args.push_back(g.iota(flat));
  }
  spec.ok = choose_value(m, spec);
  return spec;
}

bool Builder::Impl::entries(const std::vector<DimId>& over, DimId entry) {
  const auto k = g.extent(entry).constant();
  Poly count(1);
  for (DimId d : over) count = count * g.extent(d);
  const auto all = count.constant();
  if (k && (!all || *all >= *k)) return true;
  fail("E0505",
       k ? fmt::format("topk keeps {} entries of {}", *k, *all)
         : fmt::format("the number of entries, `{} = {}`, is not a constant", g[entry].name,
                       print_poly(g, g.extent(entry))),
       fmt::format("give `{}` a smaller constant extent", g[entry].name));
  return false;
}

FoldSpec Builder::Impl::make_scan(const Along& along, const Parts& args) {
  FoldSpec spec;
  if (!index_ok(along.t)) return spec;
  Scan scan;
  scan.along = along.t.dim();
  scan.exclusive = along.is_exclusive;
  scan.reverse = along.is_reverse;
  if (along.row_column.size() == 2) {
    if (!index_ok(along.row_column[0]) || !index_ok(along.row_column[1])) return spec;
    scan.matrix = std::pair(along.row_column[0].dim(), along.row_column[1].dim());
    spec.reduce = {scan.matrix->second};
  }
  const bool is_affine = monoid_name(along.monoid) == "affine" && along.monoid.spec_ < 0;
  if (monoid_name(along.monoid) == "topk" ||
      ((scan.matrix || !along.initial.empty()) && !is_affine)) {
    fail("E0503", fmt::format("`{}` cannot stand in this scan", monoid_name(along.monoid)),
         "an initial state and a matrix go with affine; topk has no scan");
    return spec;
  }
  Fill fill = fill_of(monoid_name(along.monoid), along.monoid.spec_ < 0);
  const auto ids = nodes_of(args, fill, "an argument of the scan");
  const auto initial = nodes_of(Parts(along.initial), {}, "an initial state");
  if (!ids || !initial) return spec;
  if (scan.matrix && initial->empty()) {
    fail("E0505", "a matrix scan has an initial state", "write Along(t).matrix(x, y).from(h0)");
    return spec;
  }
  scan.initial = *initial;
  spec.fold.args = *ids;
  const auto id = choose(along.monoid, *ids);
  if (!id) return spec;
  spec.fold.monoid = *id;
  if (g[*id].flat_index) spec.fold.args.push_back(g.iota(Form::coordinate(scan.along)));
  spec.scan = scan;
  spec.ok = choose_value(along.monoid, spec);
  return spec;
}

}  // namespace tang
