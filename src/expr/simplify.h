// The scalar simplifier (algebra.md 1.5): directed rules, each admissible (dom l is inside dom r
// and the values agree there) and of a class that says what it does to IEEE bits.
//
//   E  same bits         Z  same up to the sign of a zero
//   D  cancellation: the result is a constant or a subterm, so it rounds nothing itself
//
// Class R rules (associativity, distribution, …) are not here: they live inside named rewrites.
#pragma once

#include <span>

#include "expr/expr.h"

namespace tang {

enum class RuleClass : uint8_t { exact, zero_sign, cancel };

// --math: `ieee` allows E, `real` E, Z and D.
enum class MathMode : uint8_t { ieee, real, fast };
bool allows(MathMode mode, RuleClass c);

struct ScalarRule {
  std::string_view name;      // subject_action
  std::string_view equation;  // "x * 1 = x"
  RuleClass rule_class;
  Op op;  // the operation at the root of the left side
  // The right side for a node whose operands are simplified, or ExprId::none if it does not apply.
  ExprId (*apply)(ExprPool& pool, const ExprNode& node, const NodeBuilder& make);
};
std::span<const ScalarRule> scalar_rules();

// Simplifies bottom-up to a fixed point. `make` interns new nodes (a Graph passes its own so that
// affine integer arithmetic stays in normal form). Idempotent and terminating: every rule lowers
// (cost, node count, rank).
ExprId simplify(ExprPool& pool, ExprId root, MathMode mode = MathMode::real,
                const NodeBuilder& make = {});

}  // namespace tang
