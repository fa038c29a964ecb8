// The state behind ir/builder.h; private to the builder's sources.
#pragma once

#include <map>

#include "ir/builder.h"

namespace tang {

class Builder::Impl {
 public:
  explicit Impl(Builder* b)
      : builder(b), tracer(g.pool, [this](const ExprNode& n) { return g.rebuild(n); }) {}

  void fail(std::string id, std::string message, std::string hint = {});
  void fail(Diagnostic d);
  Expr expr(ExprId e) { return Expr(&tracer, e); }

  // The node of an expression; none, with a report, if it is another builder's.
  ExprId node_of(const Expr& e, std::string_view what);

  bool free_name(const std::string& name);

  std::optional<Poly> poly(const Extent& e, const std::string& of);

  bool index_ok(const Index& i);

  std::optional<std::vector<DimId>> dims_of_all(const std::vector<Index>& all,
                                                std::string_view where);

  // ---- reads -----------------------------------------------------------------------------------
  std::optional<Form> position(const Expr& e, const Tensor& t);

  std::optional<Value> constant_fill(const Expr& fill, const Tensor& t);

  ExprId read(TensorId id, const std::vector<Expr>& position_list, Outside outside,
              const Expr& fill);

  // An unguarded gather whose fill is 0 is written without one.
  static void set_fill(Leaf& l, const Value& v);

  // What reads without a stated fill yield: 0, a reduction's identity, or an error.
  struct Fill {
    std::string_view operation;
    bool stated = false;
  };
  static Fill fill_of(std::string_view op, bool builtin);

  static Value identity(std::string_view op, Kind kind);

  // A leaf with the fills that waited settled, those it gathers through included. Recursion is
  // bounded by the gather depth of 1.
  LeafId settle_leaf(LeafId id, const Fill& fill, bool& ok);

  ExprId settle(ExprId e, const Fill& fill);

  std::optional<std::vector<ExprId>> nodes_of(const Parts& parts, const Fill& fill,
                                              std::string_view what);

  // ---- folds -----------------------------------------------------------------------------------
  std::string_view monoid_name(const MonoidRef& m) const;

  std::optional<MonoidId> choose(const MonoidRef& m, const std::vector<ExprId>& args);

  // The user monoid `spec` for arguments of these kinds. A field has the least kind that identity,
  // lift and combine keep: each round raises one or is the last.
  std::optional<MonoidId> instance(size_t spec, const std::vector<Kind>& kinds);

  std::vector<ExprId> leaves(Leaf::What what, const std::vector<Kind>& kinds);

  States states(const std::vector<ExprId>& parts, const std::vector<std::string>& names);

  bool fill_monoid(const MonoidSpec& s, Monoid& m);

  bool choose_value(const MonoidRef& m, FoldSpec& spec);

  FoldSpec make_fold(const MonoidRef& m, const Over& over, const Parts& args);

  bool entries(const std::vector<DimId>& over, DimId entry);

  FoldSpec make_scan(const Along& along, const Parts& args);

  // ---- definitions -----------------------------------------------------------------------------
  bool merge_points(const std::vector<TargetSpec>& targets, Node& n);

  std::vector<TensorRef> finish(const std::vector<TargetSpec>& targets,
                                const std::vector<ExprId>& values, Node n);

  // Adds the node if it verifies; otherwise nothing of it stays.
  std::vector<TensorRef> add(std::vector<Tensor> made, Node n);

  // Which state each target takes without an epilogue.
  std::optional<std::vector<uint32_t>> picks(size_t targets, const std::vector<FoldSpec>& folds);

  std::optional<std::vector<ExprId>> fold_values(size_t targets, const std::vector<FoldSpec>& folds,
                                                 const Node& n, const Epilogue& epilogue);

  std::vector<TensorRef> define(const std::vector<TargetSpec>& targets,
                                const std::vector<FoldSpec>& folds, const Epilogue& epilogue);

  bool counts_fit(size_t targets, size_t values);

  Builder* builder;
  Graph g;
  Tracer tracer;
  std::optional<Diagnostic> problem;
  std::vector<MonoidSpec> specs;
  std::map<std::pair<size_t, std::vector<Kind>>, MonoidId> instances;
};

}  // namespace tang
