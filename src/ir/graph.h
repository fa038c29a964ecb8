// The graph of comprehensions over views: what a program computes (algebra.md sections 2-4).
//
// A Graph owns everything: parameters, dims, tensors, monoids, one pool of scalar expressions and
// the table of leaves that gives its variables a meaning. There are two constructs. A *view* is a
// read leaf: one affine form (guarded or gathered if asked) per axis of the tensor. A
// *comprehension* is a Node:
//
//   out[p] = value( fin( fold over r in box(reduce), guards hold, of lift(args(p, r)) ), reads at p
//   )
//
//   s[i, j] = sum[d](q[i, d] * k[j, d]) * 0.125
//     points  i j      reduce  d      folds  sum(q[i, d] * k[j, d])
//     target  s = state_0 * 0.125
//
// A map has no fold and its target's value mentions reads and coordinates only. Several folds over
// one index set are one node (the product monoid); several targets are its projections, and a
// target may drop a point its value does not depend on. Nodes are values in a vector; passes mutate
// them through the functions below and the verifier (ir/verify.h) checks the result.
//
// Coordinates are named by graph-wide DimIds, scoped to the node that binds them: `i` in two nodes
// is the same name, not the same loop. Substituting T[V(i)] by T's body therefore replaces T's
// points by the forms of V, simultaneously.
//
// An absent tensor format means the value is not rounded, only stored (language.md 1.4).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "expr/apply.h"
#include "expr/expr.h"
#include "view/form.h"

namespace tang {

enum class TensorId : uint32_t { none = 0xffffffff };
enum class NodeId : uint32_t { none = 0xffffffff };
enum class MonoidId : uint32_t { none = 0xffffffff };
using LeafId = uint32_t;  // the number of a variable in the graph's pool
constexpr uint32_t index(TensorId id) { return static_cast<uint32_t>(id); }
constexpr uint32_t index(NodeId id) { return static_cast<uint32_t>(id); }
constexpr uint32_t index(MonoidId id) { return static_cast<uint32_t>(id); }

struct Param {
  std::string name;
  ExprId value = ExprId::none;   // integer expression over iota leaves of params, or none
  std::optional<int64_t> bound;  // set by bind_params
};

struct Dim {
  std::string name;
  Poly extent;
};

enum class Role : uint8_t {
  input,
  definition,
  cotangent,  // an input declared by a grad statement's `with`
};

struct Tensor {
  std::string name;
  std::vector<Poly> shape;
  std::vector<std::string> axes;  // of an input: its extents as written, one per axis
  std::vector<DimId> axis_dims;   // dims mentioned by those extents
  Kind kind = Kind::real;
  std::optional<Format> format;  // as written; inputs always have one
  Role role = Role::definition;
  bool sorted = false;         // promised non-decreasing along its last axis
  NodeId node = NodeId::none;  // its definition
  bool wide = false;           // an integer definition whose range does not fit i32
  Location where;

  // The format of its buffer: the written one, otherwise f32, i32 (i64 if wide) or bool.
  Format storage() const;
};

struct Leaf {
  enum class What : uint8_t {
    read,      // tensor[forms], guarded reads yield fill outside
    iota,      // the integer value of `form`
    state,     // output `number` of the node's folds, counted across its folds in order
    argument,  // in a monoid: argument `number` of lift
    left,      // in a monoid: component `number` of the earlier state (of the state in `fin`)
    right,     // in a monoid: component `number` of the later state
  };
  What what = What::iota;
  Kind kind = Kind::integer;
  TensorId tensor = TensorId::none;
  std::vector<Form> forms;  // of a read, one per axis; of an iota, exactly one
  bool guarded = false;
  Kind fill_kind = Kind::real;
  uint64_t fill_bits = 0;
  uint32_t number = 0;

  const Form& form() const { return forms[0]; }
  Value fill() const;
  void set_fill(const Value& v);
  friend auto operator<=>(const Leaf&, const Leaf&) = default;
};

// What the algebra of a monoid says, independent of its name.
struct MonoidFacts {
  bool sum = false;  // one component, combine a + b, lift x, fin id
  bool product = false;
  bool max = false;
  bool min = false;
  bool online_softmax = false;  // (m, l, o…) of algebra.md 3.2, any number of o
  bool welford = false;
  bool argmax = false;
  bool argmin = false;
};

// A monoid as data: everything is a scalar expression over argument, left and right leaves of the
// graph's pool. `fin` maps the final state (left leaves) to the outputs a node's targets may use.
struct Monoid {
  std::string name;
  std::vector<std::string> arguments;  // names of lift's parameters
  std::vector<Kind> argument_kinds;
  std::vector<Kind> kinds;          // of the state components
  std::vector<std::string> fields;  // names of the state components
  std::vector<ExprId> identity;
  std::vector<ExprId> lift;
  std::vector<ExprId> combine;
  std::vector<std::string> outputs;  // names of fin's components; "" when a number only
  std::vector<Kind> output_kinds;
  std::vector<ExprId> fin;
  int value = 0;  // the output used where a number is wanted; -1: none
  bool commutative = true;
  bool builtin = true;
  bool flat_index = false;           // the last argument is the flat reduce index, never written
  std::optional<MonoidFacts> facts;  // see tang::facts in ir/monoids.h
};

struct Guard {
  enum class What : uint8_t {
    bound,  // form >= 0
    zero,   // form == 0
    data,   // the bool scalar `condition` holds
  };
  What what = What::bound;
  Form form;
  ExprId condition = ExprId::none;
  friend auto operator<=>(const Guard&, const Guard&) = default;
};

struct Fold {
  MonoidId monoid = MonoidId::none;
  std::vector<ExprId> args;    // over reads and iotas of points and reduce dims
  std::optional<DimId> entry;  // topk[j; n]: the point n that names the entry
};

struct Scan {
  DimId along{};  // a point of the node
  bool exclusive = false;
  bool reverse = false;
  std::vector<ExprId> initial;  // h0, over points other than `along`; empty if none
  // matscan[t; row, column](A, B, H0): H(t)[row] = sum_column A * H(t-1)[column] + B.
  std::optional<std::pair<DimId, DimId>> matrix;
};

struct Target {
  TensorId tensor = TensorId::none;
  std::vector<DimId> points;    // its axes: the node's points, in order, possibly fewer
  ExprId value = ExprId::none;  // over state leaves and reads at the points
};

// grad o with seed -> name: wrt, ...; its targets are the gradient tensors.
struct Gradient {
  struct Seed {
    TensorId of = TensorId::none;
    TensorId cotangent = TensorId::none;  // none for a rank-0 `of` without `with`
  };
  std::vector<Seed> seeds;
  std::vector<TensorId> wrt;  // parallel to the node's targets
};

struct Node {
  std::vector<DimId> points;
  std::vector<DimId> reduce;
  std::vector<Guard> guards;
  std::vector<Fold> folds;
  std::vector<Target> targets;
  std::optional<Scan> scan;
  std::optional<Gradient> gradient;
  std::optional<Format> operand;  // operand format of a softmax weight (algebra.md 11.14)
  Location where;
  bool alive = true;

  bool is_map() const { return folds.empty() && !gradient; }
};

struct Output {
  TensorId tensor = TensorId::none;
  TensorId into = TensorId::none;
};

class Graph {
 public:
  ExprPool pool;
  std::vector<Param> params;
  std::vector<Dim> dims;
  std::vector<Tensor> tensors;
  std::vector<Monoid> monoids;
  std::vector<Node> nodes;
  std::vector<Output> outputs;

  const Param& operator[](ParamId id) const { return params[index(id)]; }
  const Dim& operator[](DimId id) const { return dims[index(id)]; }
  const Tensor& operator[](TensorId id) const { return tensors[index(id)]; }
  Tensor& operator[](TensorId id) { return tensors[index(id)]; }
  const Monoid& operator[](MonoidId id) const { return monoids[index(id)]; }
  Monoid& operator[](MonoidId id) { return monoids[index(id)]; }
  const Node& operator[](NodeId id) const { return nodes[index(id)]; }
  Node& operator[](NodeId id) { return nodes[index(id)]; }
  const Leaf& leaf(LeafId id) const { return leaves_[id]; }
  // The leaf of a variable node.
  const Leaf& leaf_of(ExprId variable) const { return leaves_[pool[variable].variable()]; }

  ParamId add_param(std::string name, ExprId value = ExprId::none);
  DimId add_dim(std::string name, Poly extent);
  TensorId add_tensor(Tensor t);
  NodeId add_node(Node n);  // sets Tensor::node of its targets

  std::optional<TensorId> find_tensor(std::string_view name) const;
  std::optional<DimId> find_dim(std::string_view name) const;
  std::optional<ParamId> find_param(std::string_view name) const;
  // A name no param, dim or tensor has: base, or base_1, base_2, …
  std::string fresh_name(const std::string& base) const;
  // A new dim named after d ("j_1") with its extent.
  DimId fresh_dim(DimId d);

  LeafId intern(const Leaf& leaf);
  ExprId variable(const Leaf& leaf) { return pool.var(intern(leaf), leaf.kind); }
  ExprId read(TensorId t, std::vector<Form> forms);
  ExprId guarded_read(TensorId t, std::vector<Form> forms, const Value& fill);
  ExprId iota(Form form);  // a constant form becomes an integer constant
  ExprId state(uint32_t number, Kind kind);

  // The integer value of e as an affine form over coordinates, params and (if allowed) reads of
  // integer tensors; nullopt if it is none.
  std::optional<Form> as_form(ExprId e, bool gathers = false);
  // pool.make in normal form: affine integer arithmetic is one iota leaf (`i + 1 - i` is 1), an
  // integer constant beside real operands is the equal real constant, a negated constant is a
  // constant. Everything that builds a graph's expressions goes through it; values never change.
  ExprId make(Op op, ExprId a, ExprId b = ExprId::none, ExprId c = ExprId::none);
  ExprId rebuild(const ExprNode& n);
  // The equal constant of kind k for an integer or bool constant e; e itself otherwise.
  ExprId constant_as(ExprId e, Kind k);

  Poly extent(DimId d) const { return dims[index(d)].extent; }

  // Outputs of the node's folds, in order: (fold, output).
  std::vector<std::pair<size_t, size_t>> state_outputs(const Node& n) const;

  // Live nodes, operands before users, source order where free.
  std::vector<NodeId> order() const;
  // Nodes reading each tensor.
  std::vector<std::vector<NodeId>> readers() const;
  bool is_output(TensorId t) const;

 private:
  std::vector<Leaf> leaves_;
  std::map<Leaf, LeafId> leaf_index_;
};

bool contains(const std::vector<DimId>& dims, DimId d);

// Expressions of a node: lift arguments, data guards, scan initials (all over points and reduce)
// and target values. `fn` may replace each; forms of guards are not expressions.
void for_each_expr(const Node& n, const std::function<void(ExprId)>& fn);
void map_exprs(Node& n, const std::function<ExprId(ExprId)>& fn);

// Leaves mentioned below the expressions and guard forms of a node, gather indices included,
// ascending.
std::vector<LeafId> leaves_of(const Graph& g, const Node& n);
std::vector<LeafId> leaves_of(const Graph& g, ExprId e);
// Tensors read by a node (directly, through gathers and guards; for gradients, seeds and wrt),
// ascending.
std::vector<TensorId> tensors_read(const Graph& g, const Node& n);
// Coordinates an expression depends on, ascending.
std::vector<DimId> dims_of(const Graph& g, ExprId e);

// e with coordinates replaced by forms (in reads, gathers and iotas), simultaneously.
ExprId substitute_dims(Graph& g, ExprId e, const DimMap& image);
Form substitute_dims(Graph& g, const Form& f, const DimMap& image);
Guard substitute_dims(Graph& g, const Guard& guard, const DimMap& image);
// e with each variable replaced by what `leaf` gives (none keeps it).
ExprId substitute_leaves(Graph& g, ExprId e,
                         const std::function<std::optional<ExprId>(LeafId)>& leaf);
// e rewritten from its operands up: `step(old, now)`, with `now` the node over rewritten operands,
// gives what replaces it (none keeps it, in normal form).
using RewriteStep = std::function<std::optional<ExprId>(ExprId old, const ExprNode& now)>;
ExprId rewrite_expr(Graph& g, ExprId e, const RewriteStep& step);

}  // namespace tang
