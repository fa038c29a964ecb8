// Printing of scalar expressions; the part of ir/print.h that needs a context.
#pragma once

#include <unordered_map>

#include "ir/print.h"

namespace tang {

// Where an expression stands: what its states are called, and the fill a guarded read has when the
// text says none (nullopt: every fill is written).
struct PrintContext {
  std::vector<std::string> states;
  std::optional<Value> fill = Value::real(0);
  bool extent = false;  // floor division prints as `/`
};

// The value of a param, where `/` is floor division.
std::string print_extent(const Graph& g, ExprId e);

class ExprPrinter {
 public:
  ExprPrinter(const Graph& g, PrintContext context) : g_(g), context_(std::move(context)) {}

  std::string text(ExprId e) const { return text(e, Level::expr); }
  std::string read(const Leaf& leaf) const;
  std::string form(const Form& f, bool spaced = false) const;

  // Structural order (algebra.md 1.4): negative, zero or positive.
  int compare(ExprId a, ExprId b) const;

 private:
  enum class Level { expr, conj, inv, rel, sum, term, unary, atom };  // of the grammar
  std::string text(ExprId e, Level wanted) const;
  std::pair<std::string, Level> spell(ExprId e) const;
  std::pair<std::string, Level> spell_constant(const ExprNode& n, bool real_point) const;
  std::pair<std::string, Level> spell_leaf(const Leaf& leaf) const;
  std::pair<std::string, Level> spell_binary(const ExprNode& n) const;
  std::string operand(const ExprNode& parent, size_t k, Level wanted) const;
  bool reads_back_real(const ExprNode& parent, size_t k) const;
  std::array<ExprId, 3> ordered(const ExprNode& n) const;
  int compare_leaves(const Leaf& a, const Leaf& b) const;

  const Graph& g_;
  PrintContext context_;
  mutable std::unordered_map<uint64_t, int> compared_;
};

}  // namespace tang
