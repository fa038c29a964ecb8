#include "tile/print_expr.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/print.h"
#include "tile/text.h"

namespace tang::tile {

namespace {

using Scalar = tang::Op;

// Binding strength, loosest first.
enum Level {
  level_or,
  level_and,
  level_not,
  level_compare,
  level_sum,
  level_term,
  level_unary,
  level_atom
};

Level level_of(Scalar op) {
  switch (op) {
    case Scalar::logical_or:
      return level_or;
    case Scalar::logical_and:
      return level_and;
    case Scalar::logical_not:
      return level_not;
    case Scalar::lt:
    case Scalar::le:
    case Scalar::eq:
      return level_compare;
    case Scalar::add:
    case Scalar::sub:
      return level_sum;
    case Scalar::mul:
    case Scalar::quot:
      return level_term;
    case Scalar::neg:
      return level_unary;
    default:
      return level_atom;
  }
}

struct Spelled {
  std::string text;
  Level level = level_atom;
};

std::string within(const Spelled& s, Level wanted) {
  return s.level < wanted ? "(" + s.text + ")" : s.text;
}

Spelled constant(const ExprNode& n) {
  const std::string s = print_value(n.value(), true);
  return {s, s[0] == '-' ? level_unary : level_atom};
}

// Operands of commutative operations stand in an order that does not depend on when they were made:
// those of the same operation first, constants last, others by their text.
struct Operand {
  const ExprNode* node;
  Spelled spelled;
  friend auto key(const Operand& o, Scalar op) {
    return std::tuple(o.node->op != op, o.node->op == Scalar::constant,
                      std::string_view(o.spelled.text));
  }
};

std::vector<Spelled> in_order(const ExprPool& pool, const ExprNode& n,
                              const std::map<ExprId, Spelled>& known) {
  std::vector<Operand> operands;
  for (ExprId a : n.operands()) operands.push_back({&pool[a], known.at(a)});
  if (is_commutative(n.op))
    std::stable_sort(operands.begin(), operands.end(), [&](const Operand& a, const Operand& b) {
      return key(a, n.op) < key(b, n.op);
    });
  std::vector<Spelled> result;
  for (Operand& o : operands) result.push_back(std::move(o.spelled));
  return result;
}

Spelled spell(const ExprNode& n, const std::vector<Spelled>& args) {
  const Level level = level_of(n.op);
  if (level == level_not) return {"not " + within(args[0], level), level};
  if (level == level_unary) return {"-" + within(args[0], level_atom), level};
  if (level == level_compare)
    return {fmt::format("{} {} {}", within(args[0], level_sum), info(n.op).spelling,
                        within(args[1], level_sum)),
            level};
  if (level != level_atom)
    return {fmt::format("{} {} {}", within(args[0], level), info(n.op).spelling,
                        within(args[1], static_cast<Level>(level + 1))),
            level};
  std::vector<std::string> list;
  for (const Spelled& a : args) list.push_back(a.text);
  const std::string_view name = n.op == Scalar::cast ? tang::name(n.format) : info(n.op).spelling;
  return {fmt::format("{}({})", name, fmt::join(list, ", ")), level_atom};
}

}  // namespace

std::string number_text(double x) { return print_value(tang::Value::real(x), true); }

std::string print_expr(const ExprPool& pool, ExprId e,
                       const std::function<std::string(uint32_t)>& leaf) {
  std::map<ExprId, Spelled> known;
  for (ExprId id : pool.reachable(e)) {
    const ExprNode& n = pool[id];
    if (n.op == Scalar::constant) {
      known[id] = constant(n);
    } else if (n.op == Scalar::var) {
      known[id] = {leaf(n.variable()), level_atom};
    } else {
      known[id] = spell(n, in_order(pool, n, known));
    }
  }
  return known.at(e).text;
}

std::string print_body(const Program& program, const Kernel& kernel, const Op& op) {
  return print_expr(kernel.pool, op.body, [&](uint32_t v) {
    const Leaf& leaf = op.leaves[v];
    if (leaf.argument) return kernel[op.args[*leaf.argument]].name;
    const std::string form = print_form(program, kernel, leaf.form);
    const bool name = form.find_first_of(" *-") == std::string::npos;
    return name ? form : "(" + form + ")";
  });
}

std::string print_monoid(const Kernel& kernel, const Monoid& m) {
  std::vector<std::string> fields, identity, combine;
  for (size_t f = 0; f < m.fields.size(); ++f) {
    const Kind kind = m.kinds.empty() ? Kind::real : m.kinds[f];
    const tang::Value x = tang::Value::real(m.identity[f]);
    fields.push_back(m.fields[f] + (kind == Kind::real ? "" : fmt::format(" : {}", name(kind))));
    identity.push_back(kind == Kind::real ? number_text(x.r) : fmt::format("{}", x.as_integer()));
  }
  for (ExprId e : m.combine)
    combine.push_back(print_expr(
        kernel.pool, e, [&](uint32_t v) { return (v % 2 == 0 ? "a." : "b.") + m.fields[v / 2]; }));
  return fmt::format("monoid {} ({}) identity ({}) combine ({}){}", m.name, fmt::join(fields, ", "),
                     fmt::join(identity, ", "), fmt::join(combine, ", "),
                     m.commutative ? " commutative" : "");
}

}  // namespace tang::tile
