// The elaborator behind front/elaborate.h; private to the front end.
//
// Names are resolved in two steps. A Scope chain is lexical: it holds the locals of functions,
// monoids and `where` clauses, and indices renamed apart. `bound_` is dynamic: the indices bound at
// the place where an expression is expanded. A function's value parameter is a closure over the
// caller's scope, evaluated where it is used, so that a binder over an index parameter binds that
// index inside the argument too, while any other index of the body cannot capture one of it.
//
// Evaluating an expression gives scalar expressions of the graph. A reduction met on the way
// becomes a node of its own (lift), and its value is a read of that node's tensor.
//
// A function that fails has reported why and returns an empty value; callers pass that on in
// silence. A definition that failed leaves its targets `broken`, and reading those is silent too.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "front/ast.h"
#include "front/source.h"
#include "ir/graph.h"

namespace tang {

// The value of an expression: one scalar, or the components of a tuple.
struct Val {
  std::vector<ExprId> parts;        // empty: failed
  std::vector<std::string> fields;  // names of the parts, where they have some
  int value = 0;                    // the part used where a number is wanted; -1: none

  bool ok() const { return !parts.empty(); }
};

struct Scope;

// An expression in the scope that gives its names a meaning.
struct Closure {
  ast::NodeId node = ast::kNoNode;
  const Scope* scope = nullptr;

  bool ok() const { return node != ast::kNoNode; }
};

struct Local {
  enum class What { parameter_index, renamed_index, closure, value };
  What what = What::value;
  DimId dim{};
  Closure closure;
  Val value;
};

struct Scope {
  const Scope* parent = nullptr;
  std::vector<std::pair<std::string_view, Local>> names;
};

// Where reads stand: what they yield outside the tensor, and what is known about the indices.
struct Frame {
  std::string_view operation;  // of the innermost reduction; empty in a map, `where` or condition
  bool stated = false;         // the operation has no default fill
  std::vector<Guard> guards;
};

// A fold before it has a place: the node's own or a lifted one.
struct Built {
  Span span;
  std::vector<DimId> reduce;
  std::vector<Guard> guards;
  Fold fold;
  std::optional<Scan> scan;
};

class Elaborator {
 public:
  Elaborator(const Source& source, const ast::Module& module, Diagnostics& errors)
      : source_(source), module_(module), errors_(errors) {}

  Graph run();

 private:
  struct Symbol {
    enum class What { param, dim, tensor, broken };
    What what = What::broken;
    std::uint32_t id = 0;
    Span span;
  };
  struct Operation {
    const ast::Function* function = nullptr;
    const ast::Monoid* monoid = nullptr;  // both null: broken
  };

  // ---- elaborate.cpp: statements ------------------------------------------------------------
  void collect_names();
  void statement(const ast::Statement& s);
  void declare(const ast::Param& s);
  void declare(const ast::Dim& s);
  void declare(const ast::Input& s);
  void declare(const ast::Function& s);
  void declare(const ast::Monoid& s);
  void declare(const ast::Output& s);
  void declare(const ast::Sorted& s);
  void declare(const ast::Grad& s);
  void declare(const ast::Definition& s);
  void input_item(const ast::Input::Item& item, const ast::Name& format);
  void output_item(const ast::Output::Item& item);
  TensorId output_into(const ast::Output::Item& item, TensorId tensor);
  bool grad_seed(const ast::Grad::Seed& seed, Gradient& gradient);
  bool grad_result(const ast::Grad::Result& result, Node& node);
  bool check_operation_name(const ast::Name& name);
  void finish_outputs();

  // ---- extents.cpp --------------------------------------------------------------------------
  std::optional<Poly> extent(ast::NodeId id);
  std::optional<Poly> extent_name(const ast::Node& n);
  ExprId param_value(ast::NodeId id);
  void division_by_zero(const ast::Node& n);
  ExprId param_division(const ast::Node& n, ExprId a, ExprId b);
  std::string extent_text(ast::NodeId id, int strength = 0) const;
  void extent_dims(ast::NodeId id, std::vector<DimId>& dims) const;

  // ---- names.cpp ----------------------------------------------------------------------------
  bool declare_value(const ast::Name& name, Symbol::What what, std::uint32_t id);
  bool is_free_value(const ast::Name& name);
  void mark_broken(const ast::Name& name);
  const Local* find_local(std::string_view name, const Scope* scope) const;
  const Symbol* find_value(const ast::Name& name);
  std::optional<DimId> find_index(const ast::Name& name, const Scope* scope);
  std::optional<TensorId> find_tensor(const ast::Name& name, std::string_view what);
  std::optional<Format> find_format(const ast::Name& name);
  std::optional<std::uint32_t> find_field(const ast::Name& name, const Val& value);
  std::optional<DimId> index_named(std::string_view name, const Scope* scope) const;
  bool is_bound(DimId d) const;
  bool require_bound(DimId d, const ast::Name& name);
  void unknown_value(const ast::Name& name);
  void unknown_operation(const ast::Name& name);
  std::string fresh_name(std::string_view base) const;
  DimId fresh_dim(DimId d);
  std::vector<DimId> distinct_dims(const std::vector<ast::Name>& names, const Scope* scope,
                                   std::string_view where, bool& ok);
  const Scope* new_scope(Scope scope);
  bool mentions(Closure e, DimId d, std::set<std::pair<ast::NodeId, const Scope*>>& seen);
  bool captures(const Scope* scope, DimId d);

  // ---- check_body.cpp: names of a function or monoid body, checked where it is written --------
  struct Body {
    std::set<std::string_view> indices;
    std::set<std::string_view> locals;
    bool monoid = false;
    bool ok = true;
  };
  void check_body(ast::NodeId id, Body& body);
  void check_body_name(const ast::Name& name, Body& body);
  void check_body_reduce(const ast::Node& n, Body& body);
  bool check_distinct(const std::vector<ast::Name>& names, std::set<std::string_view>& seen);

  // ---- expressions.cpp ----------------------------------------------------------------------
  Val eval(Closure e);
  Val eval_here(const ast::Node& n, Closure e);
  Val eval_name(const ast::Node& n, Closure e);
  Val eval_chain(Closure e);
  Val eval_compare(const ast::Node& n, const Scope* scope);
  Val eval_field(const ast::Node& n, Closure e);
  Val eval_call(const ast::Node& n, Closure e);
  Val eval_size(const ast::Node& n, const Scope* scope);
  Val eval_cast(const ast::Node& n, Format format, const Scope* scope);
  Val eval_builtin(const ast::Node& n, Op op, const Scope* scope);
  Val eval_tuple(const ast::Node& n, const Scope* scope);
  Val scalar(ExprId e) const;
  ExprId number(ast::NodeId id, const Scope* scope);
  ExprId condition(ast::NodeId id, const Scope* scope);
  ExprId as_number(const Val& value, Span span);
  bool as_condition(ExprId e, Span span);
  // Follows parameters and calls of functions down to the expression they stand for.
  Closure resolve(Closure e);
  Closure enter_function(const ast::Node& n, const Scope* scope);
  bool bind_index_arguments(const ast::Node& n, const ast::Function& f, const Scope* scope,
                            Scope& inner, Scope& caller);
  bool step(Span span);

  // ---- reads.cpp ----------------------------------------------------------------------------
  Val eval_read(const ast::Node& n, const Scope* scope);
  bool check_rank(const ast::Node& n, TensorId t, std::size_t positions);
  std::optional<Form> position(ast::NodeId id, const Scope* scope);
  void blame(Closure e);
  void not_affine(const ast::Node& n, std::string_view what, std::string hint);
  std::string division_hint(const ast::Node& n, Closure e) const;
  std::string split_read(const ast::Node& division) const;
  bool check_range(const ast::Node& n, TensorId t, std::uint32_t axis, const Form& form);
  void out_of_range(const ast::Node& n, TensorId t, std::uint32_t axis, const Form& form,
                    const Poly& lo, const Poly& hi, bool below);
  std::optional<Value> fill_of(const ast::Node& n, TensorId t, bool gathers, const Scope* scope);
  std::optional<Value> stated_fill(const ast::Node& n, TensorId t, const Scope* scope);
  std::optional<Value> default_fill_of(Kind kind) const;

  // ---- folds.cpp ----------------------------------------------------------------------------
  bool is_fold(const ast::Node& n) const;
  bool is_scan(std::string_view name) const;
  std::optional<Built> build_fold(Closure e);
  std::optional<Built> build_reduction(const ast::Node& n, const Scope* scope);
  std::optional<Built> build_scan(const ast::Node& n, const Scope* scope);
  std::optional<Built> build_matscan(const ast::Node& n, const Scope* scope);
  std::optional<std::vector<ExprId>> arguments(const ast::Node& n, const Scope* scope);
  bool scan_modifiers(const ast::Node& n, Scan& scan, ast::Name& monoid);
  bool topk_entry(const ast::Node& n, const Scope* scope, Built& built);
  bool choose_monoid(const ast::Node& n, const ast::Name& name, Built& built);
  const Scope* open_binder(const ast::Node& n, const Scope* scope, Built& built);
  void close_binder(const Built& built);
  bool binder_condition(const ast::Node& n, const Scope* scope, Built& built);
  Val eval_reduce(const ast::Node& n, Closure e);
  Val eval_mean(const ast::Node& n, const Scope* scope, bool variance);
  ExprId reciprocal_count(const Built& built);
  ExprId lift(const Built& built, int output);
  ExprId lift_sum(const Built& like, ExprId body);
  ExprId lift_map(ExprId value);
  std::vector<DimId> outside(const Built& built);
  std::vector<DimId> bound_order(const std::set<DimId>& dims) const;
  TensorId lifted_tensor(const std::vector<DimId>& points, Kind kind);

  // ---- definitions.cpp ----------------------------------------------------------------------
  // One component of a right-hand side: a fold (with the field that the text picks, or -1), or any
  // other expression, already evaluated.
  struct Part {
    std::optional<Built> built;
    int output = -1;
    ExprId value = ExprId::none;
  };
  // What a target takes: an output of a part.
  struct Pick {
    std::size_t part = 0;
    int output = 0;
  };
  bool targets(const ast::Definition& d, Node& node);
  bool target_points(const ast::Target& target, std::set<std::string_view>& names);
  bool merge_points(const ast::Definition& d, Node& node);
  bool define(const ast::Definition& d, Node& node);
  bool define_with_state(const ast::Definition& d, Node& node);
  std::vector<Closure> components(Closure value) const;
  std::optional<Part> part_of(Closure value);
  std::optional<std::vector<Pick>> picks(const ast::Definition& d, const std::vector<Part>& parts);
  bool one_node(const std::vector<Part>& parts, const Node& node) const;
  void place(const std::vector<Part>& parts, Node& node);
  void rename_hidden(Node& node);
  bool assign(const ast::Definition& d, const std::vector<ExprId>& values, Node& node);
  bool assign_one(const ast::Target& target, ExprId value, Node& node);
  bool assign_state_values(const ast::Definition& d, const Scope* scope, Node& node);
  const Scope* state_scope(const ast::Definition& d, const Node& node);
  bool check_projection(const ast::Target& target, const Target& made, const Node& node);

  // ---- user_monoids.cpp ---------------------------------------------------------------------
  std::optional<MonoidId> user_monoid(const ast::Monoid& m, const std::vector<Kind>& kinds);
  bool monoid_part(const ast::Monoid& m, ast::NodeId body, const Scope* scope,
                   std::string_view what, std::vector<ExprId>& out);
  bool monoid_states(const ast::Monoid& m, Monoid& out);
  Val monoid_state(const Monoid& m, Leaf::What what);
  ExprId monoid_leaf(Leaf::What what, std::uint32_t number, Kind kind);

  // ---- shared -------------------------------------------------------------------------------
  void report(Span span, std::string id, std::string message, std::string hint = {},
              std::string label = {});
  const ast::Node& node(ast::NodeId id) const { return module_[id]; }
  ast::NodeId child(const ast::Node& n, std::uint32_t k) const {
    return module_.children[n.first + k];
  }
  const ast::Binder& binder(const ast::Node& n) const { return module_.binders[n.extra]; }
  std::string_view text(Span span) const { return source_.text(span); }
  std::string spelt(const Tensor& t) const;  // `k[8, seq, 64]`, without the quotes
  bool check_extent(const ast::Name& name, ast::NodeId id, const Poly& extent);

  const Source& source_;
  const ast::Module& module_;
  Diagnostics& errors_;
  std::set<std::pair<std::string, std::uint32_t>> reported_;

  Graph g_;
  std::unordered_map<std::string_view, Symbol> values_;
  std::unordered_map<std::string_view, Operation> operations_;
  std::unordered_map<std::string_view, Span> value_sites_;  // declared anywhere in the file
  std::unordered_map<std::string_view, Span> operation_sites_;
  std::set<std::string_view> broken_;  // names of statements that did not parse
  std::set<std::string> made_;         // names of lifted tensors and fresh dims
  std::deque<Scope> scopes_;
  std::map<std::pair<const ast::Monoid*, std::vector<Kind>>, std::optional<MonoidId>> instances_;

  // State of the statement being elaborated.
  Span where_;
  std::string_view base_;  // names of lifted definitions start with it
  std::vector<DimId> bound_;
  Frame frame_;
  bool in_condition_ = false;
  bool in_position_ = false;
  bool in_monoid_ = false;
  int depth_ = 0;
  int steps_ = 0;
};

}  // namespace tang
