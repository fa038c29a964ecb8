// The C++ API (language.md section 3): programs built by calls instead of text. Whatever the text
// can say, the builder can, and print(build()) of both is equal.
//
//   tang::Builder g;
//   auto i = g.dim("i", 512), j = g.dim("j", 512), d = g.dim("d", 64);
//   auto q = g.input("q", {i, d}), k = g.input("k", {j, d});
//   auto s = g.reduce("s", tang::sum, {i, j}, {d},
//                     [](auto q, auto k) { return q * k * 0.125; }, q(i, d), k(j, d));
//   g.output(s);
//   Result<Graph> graph = g.build();
//
// Indices are expressions: `x(2*p + r - 1)` reads at an affine form, `emb(tok(t), c)` gathers,
// `x.guarded(i - 1)` yields the identity of the enclosing reduction outside the tensor and
// `x.at_or(0, i - 1)` a stated fill. Lambdas are traced once (expr/trace.h).
//
// A call never fails half way. The first error is recorded, what the call would have made is
// broken, and so is everything made from it, silently; build() returns the error. Ids are those of
// the text front end: E02 names, E03 kinds, E04 shapes and reads, E05 reductions, E06 gradients.
//
// Handles (Index, TensorRef, …) belong to their builder and must not outlive it.
#pragma once

#include <functional>
#include <memory>

#include "expr/trace.h"
#include "ir/graph.h"

namespace tang {

class Builder;

// A named loop index; as an expression, its coordinate.
class Index : public Expr {
 public:
  Index() = default;
  Index(Builder* b, DimId d, Expr e) : Expr(std::move(e)), builder_(b), dim_(d) {}
  DimId dim() const { return dim_; }
  Expr size() const;  // its extent as a number

 private:
  Builder* builder_ = nullptr;
  DimId dim_{};
};

// The extent of a dim or axis: an integer, a param, a polynomial of params, or that of an index.
struct Extent {
  Expr value;
  std::optional<Index> index;

  template <class T>
  requires std::convertible_to<T, Expr> Extent(const T& x)
      : value(x) {}                               // NOLINT: numbers and indices are extents
  Extent(const Index& i) : value(i), index(i) {}  // NOLINT
};

// Several expressions: the arguments of a fold, the values of targets, the fields of a state.
struct Parts {
  std::vector<Expr> list;

  Parts(std::initializer_list<Expr> e) : list(e) {}
  Parts(std::vector<Expr> e) : list(std::move(e)) {}  // NOLINT
  template <class T>
  requires std::convertible_to<T, Expr> Parts(const T& e) : list{Expr(e)} {}  // NOLINT
  template <class... T>
  Parts(const std::tuple<T...>& t)  // NOLINT
      : list(std::apply([](const T&... x) { return std::vector<Expr>{Expr(x)...}; }, t)) {}
};

// The components of a state, by number or by name.
class States {
 public:
  States(std::vector<Expr> parts, std::vector<std::string> names)
      : parts_(std::move(parts)), names_(std::move(names)) {}
  size_t size() const { return parts_.size(); }
  Expr operator[](size_t k) const { return k < parts_.size() ? parts_[k] : Expr(); }
  Expr operator[](int k) const { return (*this)[static_cast<size_t>(k)]; }
  Expr operator[](std::string_view name) const {
    for (size_t k = 0; k < names_.size(); ++k)
      if (names_[k] == name) return parts_[k];
    return Expr();
  }
  Expr operator[](const char* name) const { return (*this)[std::string_view(name)]; }

 private:
  std::vector<Expr> parts_;
  std::vector<std::string> names_;
};

// A monoid of one's own; without lift its arguments are the state.
struct MonoidSpec {
  std::string name;
  std::vector<std::string> fields;
  Parts identity;
  std::vector<std::string> arguments = {};
  std::function<Parts(const States&)> lift = {};
  std::function<Parts(const States& earlier, const States& later)> combine;
  bool commutative = false;
};

// A built-in monoid, or one made by Builder::monoid; `field` picks what a number takes.
class MonoidRef {
 public:
  constexpr explicit MonoidRef(const char* builtin) : name_(builtin) {}
  MonoidRef(const Extreme& e) : name_(e.op == Op::max ? "max" : "min") {}  // NOLINT
  MonoidRef field(const char* name) const {
    MonoidRef r = *this;
    r.field_ = name;
    return r;
  }

 private:
  friend class Builder;
  const char* name_ = nullptr;  // of a built-in
  const char* field_ = nullptr;
  int spec_ = -1;  // of the builder's own
};

inline constexpr MonoidRef sum{"sum"}, prod{"prod"}, any{"any"}, all{"all"}, argmax{"argmax"},
    argmin{"argmin"}, logsumexp{"logsumexp"}, moments{"moments"}, online{"online"},
    affine{"affine"}, topk{"topk"};

// The binder of a reduction: `{j}`, `Over{j}.when(j <= i)`, `Over{x}.entries(n)` for topk.
struct Over {
  std::vector<Index> dims;
  std::optional<Cond> condition;
  std::optional<Index> entry;

  Over() = default;
  Over(std::initializer_list<Index> d) : dims(d) {}
  Over(std::vector<Index> d) : dims(std::move(d)) {}  // NOLINT
  Over when(Cond c) const {
    Over r = *this;
    r.condition = std::move(c);
    return r;
  }
  Over entries(Index n) const {
    Over r = *this;
    r.entry = std::move(n);
    return r;
  }
};

// The binder of a scan along t: h(t) = a·h(t-1) + b unless another monoid is chosen.
struct Along {
  Index t;
  MonoidRef monoid = affine;
  bool is_exclusive = false;
  bool is_reverse = false;
  std::vector<Expr> initial;
  std::vector<Index> row_column;

  explicit Along(Index along, MonoidRef m = affine) : t(std::move(along)), monoid(m) {}
  Along exclusive() const {
    return changed([](Along& a) { a.is_exclusive = true; });
  }
  Along reverse() const {
    return changed([](Along& a) { a.is_reverse = true; });
  }
  Along from(Expr h0) const {
    return changed([&](Along& a) { a.initial = {h0}; });
  }
  // H(t)[x] = sum_y A·H(t-1)[y] + B: x is a point, y is bound here.
  Along matrix(Index x, Index y) const {
    return changed([&](Along& a) { a.row_column = {x, y}; });
  }

 private:
  template <class F>
  Along changed(F f) const {
    Along a = *this;
    f(a);
    return a;
  }
};

// A name for a definition, with a storage format if it is rounded: as("p", Format::bf16).
struct Named {
  std::string name;
  std::optional<Format> format = {};

  Named(std::string n) : name(std::move(n)) {}  // NOLINT
  Named(const char* n) : name(n) {}             // NOLINT
  Named(std::string n, Format f) : name(std::move(n)), format(f) {}
};
inline Named as(std::string name, Format format) { return Named(std::move(name), format); }

struct TargetSpec {
  Named name;
  std::vector<Index> points;
};

// A fold that has no node yet; made by Builder::fold and Builder::scanned, used by define.
struct FoldSpec {
  bool ok = false;
  Fold fold;
  std::vector<DimId> reduce;
  std::vector<Guard> guards;
  std::optional<Scan> scan;
  int value = -1;  // the output that a number takes
  bool picked = false;
};

class TensorRef {
 public:
  TensorRef() = default;
  TensorRef(Builder* b, TensorId t) : builder_(b), id_(t) {}
  TensorId id() const { return id_; }
  bool broken() const { return id_ == TensorId::none; }

  // Positions are integers: forms of indices and params, integer tensors (a gather), literals.
  template <class... P>
  Expr operator()(const P&... position) const;
  // Outside the tensor: the identity of the enclosing reduction, 0 in a map.
  template <class... P>
  Expr guarded(const P&... position) const;
  // Outside the tensor: fill, a constant.
  template <class... P>
  Expr at_or(const Expr& fill, const P&... position) const;
  // An unguarded gather with a stated fill.
  template <class... P>
  Expr gather_or(const Expr& fill, const P&... position) const;

 private:
  Builder* builder_ = nullptr;
  TensorId id_ = TensorId::none;
};

class Builder {
 public:
  Builder();
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // ---- declarations
  Expr param(const std::string& name);
  Expr param(const std::string& name, const Expr& value);  // used when nothing else binds it
  Index dim(const std::string& name, const Extent& extent);
  TensorRef input(const std::string& name, const std::vector<Extent>& shape,
                  Format format = Format::f32);
  void sorted(const TensorRef& t);  // promised non-decreasing along its last axis
  MonoidRef monoid(MonoidSpec spec);

  // ---- definitions
  template <class F, class... R>
  TensorRef map(const Named& name, const std::vector<Index>& points, F&& f, const R&... reads) {
    return first(map_values({{name, points}}, Parts(f(Expr(reads)...))));
  }
  template <class F, class... R>
  std::vector<TensorRef> map(const std::vector<TargetSpec>& targets, F&& f, const R&... reads) {
    return map_values(targets, Parts(f(Expr(reads)...)));
  }
  template <class F, class... R>
  TensorRef reduce(const Named& name, const MonoidRef& m, const std::vector<Index>& points,
                   const Over& over, F&& f, const R&... reads) {
    return first(define({{name, points}}, {fold(m, over, f, reads...)}));
  }
  template <class F, class... R>
  TensorRef reduce(const MonoidRef& m, const std::vector<Index>& points, const Over& over, F&& f,
                   const R&... reads) {
    return reduce(Named(unnamed()), m, points, over, f, reads...);
  }
  template <class F, class... R>
  TensorRef scan(const Named& name, const std::vector<Index>& points, const Along& along, F&& f,
                 const R&... reads) {
    return first(define({{name, points}}, {scanned(along, f, reads...)}));
  }

  // The general definition: targets over the states of folds that share one binder. Without an
  // epilogue each target takes one fold's number, or the targets take all fields in order. States
  // are named by the monoids' fields.
  template <class F, class... R>
  FoldSpec fold(const MonoidRef& m, const Over& over, F&& f, const R&... reads) {
    return make_fold(m, over, Parts(f(Expr(reads)...)));
  }
  template <class F, class... R>
  FoldSpec scanned(const Along& along, F&& f, const R&... reads) {
    return make_scan(along, Parts(f(Expr(reads)...)));
  }
  using Epilogue = std::function<Parts(const States&)>;
  std::vector<TensorRef> define(const std::vector<TargetSpec>& targets,
                                const std::vector<FoldSpec>& folds, const Epilogue& epilogue = {});

  // ---- results
  void output(const TensorRef& t);
  void output(const TensorRef& t, const TensorRef& into);
  struct Seed {
    TensorRef of;
    std::string cotangent = {};  // the input to declare; none for a rank-0 `of`
  };
  struct Wrt {
    std::string name;
    TensorRef of;
  };
  std::vector<TensorRef> grad(const std::vector<Seed>& seeds, const std::vector<Wrt>& results);
  // A tensor by name: a declared cotangent, say.
  TensorRef tensor(const std::string& name);

  // The first recorded error, or nothing.
  const std::optional<Diagnostic>& problem() const;
  // The graph, verified. The builder can go on and build again.
  Result<Graph> build() const;

  // ---- what TensorRef, Index and the templates call
  enum class Outside : uint8_t { none, identity, guard, gather };
  Expr read(TensorId t, const std::vector<Expr>& position, Outside outside, const Expr& fill);
  Expr size(DimId d);
  std::vector<TensorRef> map_values(const std::vector<TargetSpec>& targets, const Parts& values);
  FoldSpec make_fold(const MonoidRef& m, const Over& over, const Parts& args);
  FoldSpec make_scan(const Along& along, const Parts& args);
  std::string unnamed() const;

 private:
  class Impl;
  static TensorRef first(const std::vector<TensorRef>& all) {
    return all.empty() ? TensorRef() : all[0];
  }
  std::unique_ptr<Impl> impl_;
};

inline Expr Index::size() const { return builder_ ? builder_->size(dim_) : Expr(); }

template <class... P>
Expr TensorRef::operator()(const P&... position) const {
  return builder_ ? builder_->read(id_, {Expr(position)...}, Builder::Outside::none, 0) : Expr();
}
template <class... P>
Expr TensorRef::guarded(const P&... position) const {
  return builder_ ? builder_->read(id_, {Expr(position)...}, Builder::Outside::identity, 0)
                  : Expr();
}
template <class... P>
Expr TensorRef::at_or(const Expr& fill, const P&... position) const {
  return builder_ ? builder_->read(id_, {Expr(position)...}, Builder::Outside::guard, fill)
                  : Expr();
}
template <class... P>
Expr TensorRef::gather_or(const Expr& fill, const P&... position) const {
  return builder_ ? builder_->read(id_, {Expr(position)...}, Builder::Outside::gather, fill)
                  : Expr();
}

}  // namespace tang
