// Scalar expressions: the body language of comprehensions (algebra.md section 1).
//
// An ExprPool is an append-only arena of hash-consed nodes: building the same node twice gives the
// same id, so equality of expressions is equality of ids, and the operands of a node always have
// smaller ids than the node, so ascending id order is a topological order and passes are loops.
//
// A variable is a number that the owner of the pool gives a meaning (`Graph` keeps a table of
// leaves: tensor reads, coordinates, fold states). This library knows nothing about them.
//
// Operands of commutative operations are stored in id order. Text never depends on that: printers
// sort structurally (algebra.md 1.4).
//
//   ExprPool p;
//   ExprId x = p.var(0, Kind::real);
//   ExprId y = p.make(Op::exp, p.make(Op::sub, x, p.real(1.0)));   // exp(x - 1)
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/format.h"

namespace tang {

enum class ExprId : uint32_t { none = 0xffffffff };
constexpr uint32_t index(ExprId id) { return static_cast<uint32_t>(id); }

enum class Op : uint8_t {
#define TANG_OP(name, arity, spelling, cost, rank, rule) name,
#include "expr/ops.def"
};

enum class KindRule : uint8_t { leaf, arith, real, boolean, select, cast, power };

struct OpInfo {
  Op op;
  std::string_view name;
  int arity;
  std::string_view spelling;
  int cost;
  int rank;
  KindRule rule;
};
const OpInfo& info(Op op);
std::optional<Op> function_named(
    std::string_view name);  // "exp" -> Op::exp; no operators, no casts
bool is_commutative(Op op);
bool is_macro(Op op);

// A number with its kind. Integers are exact 64-bit and wrap; bools are 0 or 1 in `i`.
struct Value {
  Kind kind = Kind::real;
  double r = 0;
  int64_t i = 0;

  static Value real(double x) { return {Kind::real, x, 0}; }
  static Value integer(int64_t x) { return {Kind::integer, 0, x}; }
  static Value boolean(bool x) { return {Kind::boolean, 0, x}; }
  double as_real() const { return kind == Kind::real ? r : static_cast<double>(i); }
  int64_t as_integer() const;  // reals truncate and saturate; NaN gives 0
  bool as_bool() const { return kind == Kind::real ? r != 0 : i != 0; }
  Value to(Kind k) const;
  friend bool same_bits(const Value& a, const Value& b);
};

struct ExprNode {
  Op op = Op::constant;
  Kind kind = Kind::real;
  Format format = Format::f64;  // of a cast
  std::array<ExprId, 3> args = {ExprId::none, ExprId::none, ExprId::none};
  uint64_t bits = 0;  // f64 bits, integer or bool of a constant; number of a variable

  int arity() const { return info(op).arity; }
  std::span<const ExprId> operands() const { return {args.data(), static_cast<size_t>(arity())}; }
  Value value() const;                                               // of a constant
  uint32_t variable() const { return static_cast<uint32_t>(bits); }  // of a variable
  friend bool operator==(const ExprNode&, const ExprNode&) = default;
};

class ExprPool {
 public:
  ExprId real(double x);
  ExprId integer(int64_t x);
  ExprId boolean(bool x);
  ExprId constant(const Value& v);
  ExprId var(uint32_t number, Kind kind);
  ExprId cast(Format format, ExprId a);
  // Interns op(a, b, c), infers the kind, never simplifies. The arity must fit.
  ExprId make(Op op, ExprId a, ExprId b = ExprId::none, ExprId c = ExprId::none);

  const ExprNode& operator[](ExprId id) const { return nodes_[index(id)]; }
  size_t size() const { return nodes_.size(); }

  bool is_constant(ExprId id) const { return (*this)[id].op == Op::constant; }
  // True for a constant that equals x as a number (kind ignored; -0 equals 0).
  bool is_number(ExprId id, double x) const;

  // Ids reachable from the roots, ascending: operands before users.
  std::vector<ExprId> reachable(std::span<const ExprId> roots) const;
  std::vector<ExprId> reachable(ExprId root) const { return reachable(std::span(&root, 1)); }
  // Variables mentioned below root, ascending by number, without repeats.
  std::vector<uint32_t> variables(ExprId root) const;

 private:
  struct Hash {
    size_t operator()(const ExprNode& n) const;
  };
  ExprId intern(const ExprNode& n);
  Kind infer(Op op, ExprId a, ExprId b, ExprId c) const;

  std::vector<ExprNode> nodes_;
  std::unordered_map<ExprNode, ExprId, Hash> index_;
};

// Builds `root` again with `leaf` applied to each variable (none keeps it). `make` builds the nodes
// above a change; without it ExprPool::make is used.
using LeafMap = std::function<std::optional<ExprId>(uint32_t variable)>;
using NodeBuilder = std::function<ExprId(const ExprNode& with_new_operands)>;
ExprId substitute(ExprPool& pool, ExprId root, const LeafMap& leaf, const NodeBuilder& make = {});

// Interns a node whose operands were replaced.
ExprId rebuild(ExprPool& pool, const ExprNode& node);

// One step of the definition of a macro over simpler operations; the node itself if it is none.
ExprId expand_macro(ExprPool& pool, ExprId id);
// The same below root until only primitives are left.
ExprId expand_macros(ExprPool& pool, ExprId root);
// C_0 … C_27 of the Chebyshev form of erfc (algebra.md 1.3).
std::span<const double> erfc_coefficients();

// Number of operations reachable (constants and variables not counted), and algebra.md 1.8's cost.
int operation_count(const ExprPool& pool, ExprId root);
int cost(const ExprPool& pool, ExprId root);
// Nodes of the printed tree, saturating at `limit`.
int64_t tree_size(const ExprPool& pool, ExprId root, int64_t limit);

// Depth of the expression: 1 for a leaf.
int depth(const ExprPool& pool, ExprId root);

}  // namespace tang
