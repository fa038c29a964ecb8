// The body of a map, ready to be evaluated for many elements.
#pragma once

#include <cmath>
#include <vector>

#include "expr/apply.h"

namespace tang::tile {

// Everything is a number: integers below 2^53 and bools are exact in one, and the operations that
// tile programs mostly consist of are done in place; the others by tang::apply. Reals are rounded
// after each operation if they are computed in f32.
class Body {
 public:
  Body(const ExprPool& pool, ExprId root, bool in_f32) : in_f32_(in_f32) {
    std::vector<uint32_t> number;  // by ExprId
    for (ExprId id : pool.reachable(root)) {
      const ExprNode& n = pool[id];
      Step s{n.op, n.kind, n.format, {}, {}, 0};
      for (size_t k = 0; k < 3 && n.args[k] != ExprId::none; ++k) {
        s.args[k] = number[index(n.args[k])];
        s.kinds[k] = pool[n.args[k]].kind;
      }
      if (n.op == tang::Op::constant) s.constant = n.value().as_real();
      if (n.op == tang::Op::var) s.args[0] = n.variable();
      number.resize(index(id) + 1);
      number[index(id)] = static_cast<uint32_t>(steps_.size());
      steps_.push_back(s);
    }
    values_.resize(steps_.size());
  }

  // `variable` gives the value of a variable by its number.
  template <class Variable>
  double value(const Variable& variable) {
    for (size_t k = 0; k < steps_.size(); ++k) {
      const Step& s = steps_[k];
      values_[k] = s.op == tang::Op::constant ? s.constant
                   : s.op == tang::Op::var    ? variable(s.args[0])
                                              : operation(s);
      if (in_f32_ && s.kind == Kind::real) values_[k] = static_cast<float>(values_[k]);
    }
    return values_.back();
  }

 private:
  struct Step {
    tang::Op op;
    Kind kind;
    Format format;
    uint32_t args[3];
    Kind kinds[3];
    double constant;
  };

  double operation(const Step& s) const {
    const double a = values_[s.args[0]], b = values_[s.args[1]], c = values_[s.args[2]];
    switch (s.op) {
      case tang::Op::add:
        return a + b;
      case tang::Op::sub:
        return a - b;
      case tang::Op::mul:
        return a * b;
      case tang::Op::quot:
        return a / b;
      case tang::Op::exp:
        return std::exp(a);
      case tang::Op::lt:
        return a < b;
      case tang::Op::le:
        return a <= b;
      case tang::Op::eq:
        return a == b;
      case tang::Op::logical_and:
        return a != 0 && b != 0;
      case tang::Op::select:
        return a != 0 ? b : c;
      default:
        return applied(s);
    }
  }

  double applied(const Step& s) const {
    tang::Value args[3];
    for (size_t k = 0; k < static_cast<size_t>(info(s.op).arity); ++k) {
      const double x = values_[s.args[k]];
      args[k] = s.kinds[k] == Kind::real ? tang::Value::real(x)
                : s.kinds[k] == Kind::boolean
                    ? tang::Value::boolean(x != 0)
                    : tang::Value::integer(tang::Value::real(x).as_integer());
    }
    return apply(s.op, s.format, args[0], args[1], args[2], s.kind).as_real();
  }

  bool in_f32_;
  std::vector<Step> steps_;
  std::vector<double> values_;
};

}  // namespace tang::tile
