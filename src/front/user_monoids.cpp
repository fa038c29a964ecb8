// Monoids of the program's own. One is made into data for each list of argument kinds it is used
// with: the kinds of its fields are the least that identity, lift and combine keep.
#include <algorithm>

#include <fmt/format.h>

#include "front/elaborator.h"

namespace tang {

namespace {

// The kind that holds values of both: real over integer over bool.
Kind join(Kind a, Kind b) {
  if (a == Kind::real || b == Kind::real) return Kind::real;
  return a == Kind::integer || b == Kind::integer ? Kind::integer : Kind::boolean;
}

}  // namespace

ExprId Elaborator::monoid_leaf(Leaf::What what, std::uint32_t number, Kind kind) {
  Leaf leaf;
  leaf.what = what;
  leaf.kind = kind;
  leaf.number = number;
  return g_.variable(leaf);
}

// The state that a parameter of combine stands for.
Val Elaborator::monoid_state(const Monoid& m, Leaf::What what) {
  Val state;
  state.fields = m.fields;
  state.value = m.fields.size() == 1 ? 0 : -1;
  for (std::uint32_t k = 0; k < m.fields.size(); ++k) {
    state.parts.push_back(monoid_leaf(what, k, m.kinds[k]));
  }
  return state;
}

// One component for each field from the body of a clause.
bool Elaborator::monoid_part(const ast::Monoid& m, ast::NodeId body, const Scope* scope,
                             std::string_view what, std::vector<ExprId>& out) {
  out.clear();
  Closure value = resolve({body, scope});
  if (!value.ok()) return false;
  std::vector<Closure> parts = components(value);
  if (parts.size() == 1 && m.fields.size() > 1) {
    Val state = eval(value);
    if (!state.ok()) return false;
    out = state.parts;
  } else {
    for (Closure c : parts) {
      out.push_back(number(c.node, c.scope));
      if (out.back() == ExprId::none) return false;
    }
  }
  if (out.size() == m.fields.size()) return true;
  report(node(body).span, "E0506",
         fmt::format("`{}` has {} field{}, its {} {}", m.name.text, m.fields.size(),
                     m.fields.size() == 1 ? "" : "s", what, out.size()),
         "give one component for each field, in order");
  return false;
}

// Evaluates the clauses with the kinds of `out`; false when one fails.
bool Elaborator::monoid_states(const ast::Monoid& m, Monoid& out) {
  if (!monoid_part(m, m.identity, nullptr, "identity", out.identity)) return false;
  Scope lift;
  for (std::uint32_t k = 0; k < out.arguments.size(); ++k) {
    Local local;
    local.value = scalar(monoid_leaf(Leaf::What::argument, k, out.argument_kinds[k]));
    std::string_view name = m.lift == ast::kNoNode ? m.fields[k].text : m.lift_parameters[k].text;
    lift.names.emplace_back(name, std::move(local));
    if (m.lift == ast::kNoNode) {
      out.lift.resize(out.arguments.size());
      out.lift[k] = lift.names.back().second.value.parts[0];
    }
  }
  if (m.lift != ast::kNoNode &&
      !monoid_part(m, m.lift, new_scope(std::move(lift)), "lift", out.lift)) {
    return false;
  }
  Scope combine;
  Local earlier, later;
  earlier.value = monoid_state(out, Leaf::What::left);
  later.value = monoid_state(out, Leaf::What::right);
  combine.names.emplace_back(m.earlier.text, std::move(earlier));
  combine.names.emplace_back(m.later.text, std::move(later));
  return monoid_part(m, m.combine, new_scope(std::move(combine)), "combine", out.combine);
}

std::optional<MonoidId> Elaborator::user_monoid(const ast::Monoid& m,
                                                const std::vector<Kind>& kinds) {
  auto [instance, fresh] = instances_.try_emplace({&m, kinds}, std::nullopt);
  if (!fresh) return instance->second;
  std::size_t takes = m.lift == ast::kNoNode ? m.fields.size() : m.lift_parameters.size();
  if (kinds.size() != takes) {
    report(where_, "E0501",
           fmt::format("`{}` takes {} argument{}, and is given {}", m.name.text, takes,
                       takes == 1 ? "" : "s", kinds.size()),
           m.lift == ast::kNoNode ? "it has no lift, so its arguments are its fields"
                                  : "its arguments are the parameters of lift");
    return std::nullopt;
  }
  Monoid out;
  out.name = std::string(m.name.text);
  out.builtin = false;
  out.commutative = m.commutative;
  out.argument_kinds = kinds;
  for (const ast::Name& f : m.fields) out.fields.push_back(std::string(f.text));
  for (const ast::Name& a : m.lift == ast::kNoNode ? m.fields : m.lift_parameters) {
    out.arguments.push_back(std::string(a.text));
  }
  out.kinds.assign(m.fields.size(), Kind::boolean);
  Frame outer_frame = std::exchange(frame_, {});
  bool outer = std::exchange(in_monoid_, true);
  bool ok = true;
  // Each round raises a kind or is the last; a field can be raised twice.
  for (std::size_t round = 0; ok && round < 2 * m.fields.size() + 1; ++round) {
    std::vector<Kind> before = out.kinds;
    Diagnostics kept = errors_;
    auto reported = reported_;
    ok = monoid_states(m, out);
    for (const std::vector<ExprId>* part : {&out.identity, &out.lift, &out.combine}) {
      for (std::size_t k = 0; k < part->size() && k < out.kinds.size(); ++k) {
        if ((*part)[k] != ExprId::none) {
          out.kinds[k] = join(out.kinds[k], g_.pool[(*part)[k]].kind);
        }
      }
    }
    if (out.kinds == before) break;
    // Kinds were still too low: what this round reported may not hold.
    if (!ok) {
      errors_ = std::move(kept);
      reported_ = std::move(reported);
      ok = true;
    }
  }
  in_monoid_ = outer;
  frame_ = std::move(outer_frame);
  if (!ok) return std::nullopt;
  out.outputs = out.fields;
  out.output_kinds = out.kinds;
  out.fin = monoid_state(out, Leaf::What::left).parts;
  out.value = out.fields.size() == 1 ? 0 : -1;
  g_.monoids.push_back(std::move(out));
  instance->second = static_cast<MonoidId>(g_.monoids.size() - 1);
  return instance->second;
}

}  // namespace tang
