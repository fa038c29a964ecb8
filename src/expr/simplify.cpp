#include "expr/simplify.h"

#include <limits>

#include "expr/apply.h"

namespace tang {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr ExprId no = ExprId::none;

ExprId node(const NodeBuilder& make, Op op, Kind kind, ExprId a, ExprId b = no, ExprId c = no) {
  ExprNode n;
  n.op = op;
  n.kind = kind;
  n.args = {a, b, c};
  return make(n);
}

bool is_op(const ExprPool& p, ExprId e, Op op) { return p[e].op == op; }
bool constant(const ExprPool& p, ExprId e) { return p.is_constant(e); }

// A constant of the kind of `like` equal to x.
ExprId number(ExprPool& p, double x, Kind kind) {
  return kind == Kind::integer ? p.integer(static_cast<int64_t>(x)) : p.real(x);
}

// The other operand of a binary node when one of them is the number x.
ExprId beside(const ExprPool& p, const ExprNode& n, double x) {
  if (p.is_number(n.args[1], x)) return n.args[0];
  if (p.is_number(n.args[0], x)) return n.args[1];
  return no;
}

// Returning an operand must not change the kind (an integer plus a real zero is real).
ExprId keep_kind(const ExprPool& p, const ExprNode& n, ExprId e) {
  return e != no && p[e].kind == n.kind ? e : no;
}

bool is_signed_zero(const ExprPool& p, ExprId e, bool negative) {
  return constant(p, e) && p[e].kind == Kind::real &&
         same_bits(p[e].value(), Value::real(negative ? -0.0 : 0.0));
}

bool non_negative_by_form(const ExprPool& p, ExprId e) {
  return is_op(p, e, Op::exp) || is_op(p, e, Op::sqrt) || is_op(p, e, Op::abs);
}

using P = ExprPool;
using N = ExprNode;
using B = NodeBuilder;

// ---- one function for each rule that does not fit a line -------------------------------------

ExprId fold_constants(P& p, const N& n, const B&) {
  std::array<Value, 3> x;
  for (size_t k = 0; k < static_cast<size_t>(n.arity()); ++k) {
    if (!constant(p, n.args[k])) return no;
    x[k] = p[n.args[k]].value();
  }
  return p.constant(apply(n.op, n.format, x[0], x[1], x[2], n.kind));
}

ExprId add_negative_zero(P& p, const N& n, const B&) {
  for (size_t k : {0u, 1u})
    if (is_signed_zero(p, n.args[k], true)) return keep_kind(p, n, n.args[1 - k]);
  return no;
}

ExprId add_negated(P& p, const N& n, const B& make) {
  for (size_t k : {1u, 0u})
    if (is_op(p, n.args[k], Op::neg))
      return node(make, Op::sub, n.kind, n.args[1 - k], p[n.args[k]].args[0]);
  return no;
}

ExprId mul_reciprocal(P& p, const N& n, const B& make) {
  if (n.args[0] == n.args[1]) return no;  // the square of one reciprocal is cheaper
  for (size_t k : {1u, 0u})
    if (is_op(p, n.args[k], Op::recip) && p[n.args[1 - k]].kind == Kind::real)
      return node(make, Op::quot, n.kind, n.args[1 - k], p[n.args[k]].args[0]);
  return no;
}

ExprId mul_negations(P& p, const N& n, const B& make) {
  const ExprId a = n.args[0], b = n.args[1];
  if (is_op(p, a, Op::neg) && is_op(p, b, Op::neg))
    return node(make, Op::mul, n.kind, p[a].args[0], p[b].args[0]);
  return no;
}

// (neg x) * c and neg(x * c) with a constant c.
ExprId mul_negated_by_constant(P& p, const N& n, const B& make) {
  for (size_t k : {0u, 1u}) {
    const ExprId x = n.args[k], c = n.args[1 - k];
    if (is_op(p, x, Op::neg) && constant(p, c) && p[c].kind == Kind::real)
      return node(make, Op::mul, n.kind, p[x].args[0], p.real(-p[c].value().r));
  }
  return no;
}

ExprId neg_of_product(P& p, const N& n, const B& make) {
  const N& m = p[n.args[0]];
  if (m.op != Op::mul) return no;
  for (size_t k : {0u, 1u})
    if (constant(p, m.args[k]) && p[m.args[k]].kind == Kind::real) {
      const ExprId x = m.args[1 - k];
      const double c = p[m.args[k]].value().r;
      return node(make, Op::mul, n.kind, x, p.real(-c));
    }
  return no;
}

ExprId neg_of_difference(P& p, const N& n, const B& make) {
  const N m = p[n.args[0]];
  return m.op == Op::sub ? node(make, Op::sub, n.kind, m.args[1], m.args[0]) : no;
}

ExprId sub_negated(P& p, const N& n, const B& make) {
  return is_op(p, n.args[1], Op::neg) ? node(make, Op::add, n.kind, n.args[0], p[n.args[1]].args[0])
                                      : no;
}

ExprId quot_by_constant(P& p, const N& n, const B& make) {
  if (!constant(p, n.args[1]) || p[n.args[0]].kind != Kind::real) return no;
  return node(make, Op::mul, n.kind, n.args[0], p.real(1 / p[n.args[1]].value().as_real()));
}

ExprId quot_of_one(P& p, const N& n, const B& make) {
  return p.is_number(n.args[0], 1) ? node(make, Op::recip, n.kind, n.args[1]) : no;
}

ExprId recip_of_negated(P& p, const N& n, const B& make) {
  if (!is_op(p, n.args[0], Op::neg)) return no;
  return node(make, Op::neg, n.kind, node(make, Op::recip, n.kind, p[n.args[0]].args[0]));
}

// op(op(x)) = x for an inverse pair, with the kind kept.
ExprId inverse(P& p, const N& n, Op inner) {
  return is_op(p, n.args[0], inner) ? keep_kind(p, n, p[n.args[0]].args[0]) : no;
}

ExprId sqrt_of_square(P& p, const N& n, const B& make) {
  const N m = p[n.args[0]];
  return m.op == Op::mul && m.args[0] == m.args[1]
             ? node(make, Op::abs, p[m.args[0]].kind, m.args[0])
             : no;
}

ExprId mul_square_roots(P& p, const N& n, const B&) {
  return n.args[0] == n.args[1] && is_op(p, n.args[0], Op::sqrt)
             ? keep_kind(p, n, p[n.args[0]].args[0])
             : no;
}

ExprId select_decided(P& p, const N& n, const B&) {
  if (!constant(p, n.args[0])) return no;
  const ExprId arm = p[n.args[0]].value().as_bool() ? n.args[1] : n.args[2];
  if (p[arm].kind == n.kind) return arm;
  return constant(p, arm) ? p.constant(p[arm].value().to(n.kind)) : no;
}

ExprId select_same(P& p, const N& n, const B&) {
  return n.args[1] == n.args[2] ? keep_kind(p, n, n.args[1]) : no;
}

ExprId select_negated(P& p, const N& n, const B& make) {
  return is_op(p, n.args[0], Op::logical_not)
             ? node(make, Op::select, n.kind, p[n.args[0]].args[0], n.args[2], n.args[1])
             : no;
}

// A select on the same condition inside an arm is decided.
ExprId select_nested(P& p, const N& n, const B& make) {
  const N t = p[n.args[1]], f = p[n.args[2]];
  if (t.op == Op::select && t.args[0] == n.args[0] && p[t.args[1]].kind == n.kind)
    return node(make, Op::select, n.kind, n.args[0], t.args[1], n.args[2]);
  if (f.op == Op::select && f.args[0] == n.args[0] && p[f.args[2]].kind == n.kind)
    return node(make, Op::select, n.kind, n.args[0], n.args[1], f.args[2]);
  return no;
}

ExprId logic_constant(P& p, const N& n, const B&) {
  for (size_t k : {0u, 1u}) {
    if (!constant(p, n.args[k])) continue;
    const bool value = p[n.args[k]].value().as_bool();
    const bool absorbing = n.op == Op::logical_or;
    if (value == absorbing) return p.boolean(absorbing);
    return keep_kind(p, n, n.args[1 - k]);
  }
  return no;
}

ExprId same_operands(P& p, const N& n, const B&) {
  return n.args[0] == n.args[1] ? keep_kind(p, n, n.args[0]) : no;
}

ExprId zero_of(P& p, const N& n) { return number(p, 0, n.kind); }

ExprId cast_twice(P& p, const N& n, const B&) {
  const N& m = p[n.args[0]];
  return m.op == Op::cast && m.format == n.format ? n.args[0] : no;
}

ExprId cast_wide(P& p, const N& n, const B&) {
  const bool same = (n.format == Format::f64 && p[n.args[0]].kind == Kind::real) ||
                    (n.format == Format::i64 && p[n.args[0]].kind == Kind::integer) ||
                    (n.format == Format::boolean && p[n.args[0]].kind == Kind::boolean);
  return same ? n.args[0] : no;
}

#define RULE(name, equation, cls, op, body)                                             \
  {                                                                                     \
    name, equation, RuleClass::cls, Op::op,                                             \
        [](P& p, const N& n, [[maybe_unused]] const B& make) -> ExprId { return body; } \
  }

const ScalarRule rules[] = {
    // add, sub
    {"add_negative_zero", "x + -0 = x", RuleClass::exact, Op::add, add_negative_zero},
    {"add_negated", "x + -y = x - y", RuleClass::exact, Op::add, add_negated},
    RULE("add_zero", "x + 0 = x", zero_sign, add, keep_kind(p, n, beside(p, n, 0))),
    RULE("sub_zero", "x - 0 = x", exact, sub,
         is_signed_zero(p, n.args[1], false) ? keep_kind(p, n, n.args[0]) : no),
    RULE("sub_same", "x - x = 0", cancel, sub, n.args[0] == n.args[1] ? zero_of(p, n) : no),
    {"sub_negated", "x - -y = x + y", RuleClass::exact, Op::sub, sub_negated},
    RULE("sub_from_zero", "0 - x = -x", zero_sign, sub,
         p.is_number(n.args[0], 0) && p[n.args[1]].kind == n.kind
             ? node(make, Op::neg, n.kind, n.args[1])
             : no),
    // mul, quot
    RULE("mul_one", "x * 1 = x", exact, mul, keep_kind(p, n, beside(p, n, 1))),
    RULE("mul_minus_one", "x * -1 = -x", exact, mul,
         keep_kind(p, n, beside(p, n, -1)) != no ? node(make, Op::neg, n.kind, beside(p, n, -1))
                                                 : no),
    RULE("mul_zero", "0 * x = 0", cancel, mul, beside(p, n, 0) != no ? zero_of(p, n) : no),
    {"mul_negations", "-a * -b = a * b", RuleClass::exact, Op::mul, mul_negations},
    {"mul_negated_by_constant", "-x * c = x * -c", RuleClass::exact, Op::mul,
     mul_negated_by_constant},
    {"mul_reciprocal", "a * recip(b) = a / b", RuleClass::exact, Op::mul, mul_reciprocal},
    {"mul_square_roots", "sqrt(x) * sqrt(x) = x", RuleClass::cancel, Op::mul, mul_square_roots},
    {"quot_by_constant", "x / c = x * (1/c)", RuleClass::exact, Op::quot, quot_by_constant},
    {"quot_of_one", "1 / b = recip(b)", RuleClass::exact, Op::quot, quot_of_one},
    RULE("quot_zero", "0 / x = 0", cancel, quot, p.is_number(n.args[0], 0) ? zero_of(p, n) : no),
    RULE("quot_same", "x / x = 1", cancel, quot, n.args[0] == n.args[1] ? p.real(1) : no),
    // neg, recip, functions and their inverses
    RULE("neg_neg", "-(-x) = x", exact, neg, inverse(p, n, Op::neg)),
    {"neg_of_product", "-(x * c) = x * -c", RuleClass::exact, Op::neg, neg_of_product},
    {"neg_of_difference", "-(a - b) = b - a", RuleClass::zero_sign, Op::neg, neg_of_difference},
    RULE("recip_recip", "recip(recip(x)) = x", cancel, recip, inverse(p, n, Op::recip)),
    {"recip_of_negated", "recip(-x) = -recip(x)", RuleClass::exact, Op::recip, recip_of_negated},
    RULE("exp_log", "exp(log(x)) = x", cancel, exp, inverse(p, n, Op::log)),
    RULE("log_exp", "log(exp(x)) = x", cancel, log, inverse(p, n, Op::exp)),
    {"sqrt_of_square", "sqrt(x * x) = abs(x)", RuleClass::cancel, Op::sqrt, sqrt_of_square},
    RULE("abs_idempotent", "abs(x) = x for x >= 0 by form", exact, abs,
         non_negative_by_form(p, n.args[0]) ? n.args[0] : no),
    RULE("abs_neg", "abs(-x) = abs(x)", zero_sign, abs,
         is_op(p, n.args[0], Op::neg) ? node(make, Op::abs, n.kind, p[n.args[0]].args[0]) : no),
    RULE("relu_relu", "relu(relu(x)) = relu(x)", exact, relu,
         is_op(p, n.args[0], Op::relu) ? n.args[0] : no),
    RULE("max_same", "max(x, x) = x", exact, max, same_operands(p, n, make)),
    RULE("max_lowest", "max(x, -inf) = x", exact, max, keep_kind(p, n, beside(p, n, -infinity))),
    RULE("min_same", "min(x, x) = x", exact, min, same_operands(p, n, make)),
    RULE("min_highest", "min(x, inf) = x", exact, min, keep_kind(p, n, beside(p, n, infinity))),
    RULE("pow_one", "pow(x, 1) = x", exact, pow,
         p[n.args[1]].kind == Kind::integer && p.is_number(n.args[1], 1)
             ? keep_kind(p, n, n.args[0])
             : no),
    // conditions and selects
    RULE("lt_same", "x < x = false", exact, lt, n.args[0] == n.args[1] ? p.boolean(false) : no),
    RULE("not_not", "not not c = c", exact, logical_not, inverse(p, n, Op::logical_not)),
    {"and_constant", "c and true = c", RuleClass::exact, Op::logical_and, logic_constant},
    {"or_constant", "c or false = c", RuleClass::exact, Op::logical_or, logic_constant},
    {"and_same", "c and c = c", RuleClass::exact, Op::logical_and, same_operands},
    {"or_same", "c or c = c", RuleClass::exact, Op::logical_or, same_operands},
    {"select_decided", "select(true, t, f) = t", RuleClass::exact, Op::select, select_decided},
    {"select_same", "select(c, t, t) = t", RuleClass::exact, Op::select, select_same},
    {"select_negated", "select(not c, t, f) = select(c, f, t)", RuleClass::exact, Op::select,
     select_negated},
    {"select_nested", "select(c, select(c, a, b), f) = select(c, a, f)", RuleClass::exact,
     Op::select, select_nested},
    // casts
    {"cast_twice", "F(F(x)) = F(x)", RuleClass::exact, Op::cast, cast_twice},
    {"cast_wide", "f64(x) = x", RuleClass::exact, Op::cast, cast_wide},
};

#undef RULE

ExprId rewrite_once(ExprPool& pool, ExprId e, MathMode mode, const NodeBuilder& make) {
  const ExprNode n = pool[e];
  if (n.arity() == 0) return e;
  if (const ExprId folded = fold_constants(pool, n, make); folded != no) return folded;
  for (const ScalarRule& rule : rules) {
    if (rule.op != n.op || !allows(mode, rule.rule_class)) continue;
    if (const ExprId to = rule.apply(pool, n, make); to != no && to != e) return to;
  }
  return e;
}

}  // namespace

bool allows(MathMode mode, RuleClass c) { return mode != MathMode::ieee || c == RuleClass::exact; }

std::span<const ScalarRule> scalar_rules() { return rules; }

ExprId simplify(ExprPool& pool, ExprId root, MathMode mode, const NodeBuilder& make) {
  const NodeBuilder plain = [&pool](const ExprNode& n) { return rebuild(pool, n); };
  const NodeBuilder& build = make ? make : plain;
  // Rules may build nodes whose operands are not yet simplified; sweeping until nothing changes
  // keeps each rule a single local equation.
  for (int sweep = 0; sweep < 64; ++sweep) {
    const ExprId before = root;
    std::unordered_map<ExprId, ExprId> image;
    for (ExprId id : pool.reachable(root)) {
      ExprNode n = pool[id];
      ExprId to = id;
      bool changed = false;
      for (size_t k = 0; k < static_cast<size_t>(n.arity()); ++k) {
        const ExprId a = image.at(n.args[k]);
        changed |= a != n.args[k];
        n.args[k] = a;
      }
      if (changed) to = build(n);
      for (int step = 0; step < 64; ++step) {
        const ExprId next = rewrite_once(pool, to, mode, build);
        if (next == to) break;
        to = next;
      }
      image[id] = to;
    }
    root = image.at(root);
    if (root == before) break;
  }
  return root;
}

}  // namespace tang
