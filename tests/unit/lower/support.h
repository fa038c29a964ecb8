// Support of the lowering tests: graphs in few lines, a plain f64 evaluation of them, and running
// what they lower to on the C device.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/monoids.h"
#include "loop/lower.h"

namespace tang::test {

// Values of a tensor as doubles, row-major.
using Data = std::vector<double>;
using Store = std::map<std::string, Data>;

// Builds graphs: forms are written with coordinates and integers.
class Make {
 public:
  Graph g;

  Poly param(const std::string& name) { return Poly::param(g.add_param(name)); }
  DimId dim(const std::string& name, Poly extent) { return g.add_dim(name, std::move(extent)); }
  TensorId input(const std::string& name, std::vector<Poly> shape, Format f = Format::f32);
  ExprId read(TensorId t, std::vector<Form> forms) { return g.read(t, std::move(forms)); }
  ExprId read(TensorId t, const std::vector<DimId>& dims);
  ExprId guarded(TensorId t, std::vector<Form> forms, double fill = 0) {
    return g.guarded_read(t, std::move(forms), Value::real(fill));
  }
  ExprId num(double x) { return g.pool.real(x); }
  ExprId mul(ExprId a, ExprId b) { return g.make(Op::mul, a, b); }
  ExprId add(ExprId a, ExprId b) { return g.make(Op::add, a, b); }
  ExprId op(Op o, ExprId a, ExprId b = ExprId::none, ExprId c = ExprId::none) {
    return g.make(o, a, b, c);
  }
  Form at(DimId d) { return Form::coordinate(d); }
  Form gather(ExprId read) { return Form::gathered(g.pool[read].variable()); }
  MonoidId monoid(const std::string& name, std::vector<Kind> kinds);
  Guard bound(Form f);  // f >= 0
  Guard zero(Form f);   // f == 0

  // name[points] = value over reads.
  TensorId map(const std::string& name, std::vector<DimId> points, ExprId value,
               std::optional<Format> format = {});
  // name[points] = fold over reduce, the monoid's value.
  TensorId fold(const std::string& name, std::vector<DimId> points, std::vector<DimId> reduce,
                MonoidId m, std::vector<ExprId> args, std::vector<Guard> guards = {},
                std::optional<Format> format = {});
  // One target per (name, points, value over states).
  struct Result {
    std::string name;
    std::vector<DimId> points;
    ExprId value;
  };
  std::vector<TensorId> folds(std::vector<DimId> points, std::vector<DimId> reduce,
                              std::vector<Fold> folds, std::vector<Result> results,
                              std::vector<Guard> guards = {});
  void output(TensorId t, TensorId into = TensorId::none) { g.outputs.push_back({t, into}); }
  ExprId flat(const std::vector<DimId>& reduce);

 private:
  TensorId tensor(const std::string& name, const std::vector<DimId>& points, Kind kind,
                  std::optional<Format> format);
};

using Sizes = std::map<std::string, int64_t>;

// Every tensor of the graph evaluated in f64 from the inputs, term by term.
Store reference(const Graph& g, const Store& inputs, const Sizes& sizes = {});
// Inputs drawn from a seed: reals rounded to their format, integers in 0 .. `top`.
Store draw(const Graph& g, const Sizes& sizes = {}, int64_t top = 7, uint64_t seed = 1);

struct Ran {
  Store outputs;
  double ms = 0;
  std::string text;  // the loop program
  std::vector<Allocation> allocations;
};

// Plans, lowers, compiles and runs for each of the sizes with one compilation; outputs are poisoned
// first.
class Compiled {
 public:
  explicit Compiled(const Graph& g, const PlanOptions& options = {});
  ~Compiled();
  Ran run(const Store& inputs, const Sizes& sizes = {}, int repeats = 1);
  const Lowered& lowered() const;
  const Schedule& schedule() const;
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Runs and compares every output with the reference: |a - b| <= tol * max|b|, NaN and infinities
// alike.
void check(const Graph& g, double tol = 1e-5, const Sizes& sizes = {},
           const PlanOptions& options = {});
void check(const Graph& g, const Store& inputs, double tol, const Sizes& sizes = {},
           const PlanOptions& options = {});
void compare(const std::string& name, const Data& got, const Data& want, double tol);

}  // namespace tang::test
