// Small graphs for the oracle's tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "eval/oracle.h"
#include "ir/monoids.h"

namespace tang::test {

struct Program {
  Graph g;
  std::vector<std::unique_ptr<Array>> arrays;
  Given given;

  DimId dim(const std::string& name, int64_t n) { return g.add_dim(name, Poly(n)); }
  Form at(DimId d) const { return Form::coordinate(d); }

  TensorId tensor(const std::string& name, std::vector<int64_t> shape, Kind kind, Role role,
                  std::optional<Format> format = {}) {
    Tensor t;
    t.name = name;
    for (int64_t n : shape) t.shape.push_back(Poly(n));
    t.kind = kind;
    t.role = role;
    t.format = format;
    return g.add_tensor(std::move(t));
  }

  // An input with these values in this format.
  TensorId input(const std::string& name, std::vector<int64_t> shape, std::vector<double> values,
                 Format format = Format::f64) {
    const TensorId t = tensor(name, shape, kind(format), Role::input, format);
    auto array = std::make_unique<Array>(make_array(format, shape).value());
    for (size_t k = 0; k < values.size(); ++k) array->set(static_cast<int64_t>(k), values[k]);
    given[t] = array.get();
    arrays.push_back(std::move(array));
    return t;
  }

  std::vector<int64_t> extents(const std::vector<DimId>& dims) {
    std::vector<int64_t> out;
    for (DimId d : dims) out.push_back(*g.extent(d).constant());
    return out;
  }

  TensorId map(const std::string& name, std::vector<DimId> points, ExprId value,
               std::optional<Format> format = {}) {
    const TensorId t = tensor(name, extents(points), g.pool[value].kind, Role::definition, format);
    Node n;
    n.points = points;
    n.targets = {{t, points, value}};
    g.add_node(std::move(n));
    return t;
  }

  MonoidId monoid(const std::string& name, std::vector<ExprId> args) {
    std::vector<Kind> kinds;
    for (ExprId e : args) kinds.push_back(g.pool[e].kind);
    return builtin_monoid(g, name, kinds).value();
  }

  // name = op[reduce | guards](args), output `field` (the monoid's value by default).
  TensorId fold(const std::string& name, std::vector<DimId> points, std::vector<DimId> reduce,
                const std::string& op, std::vector<ExprId> args, std::vector<Guard> guards = {},
                int field = -1) {
    return fold(name, points, reduce, monoid(op, args), args, guards, field);
  }
  TensorId fold(const std::string& name, std::vector<DimId> points, std::vector<DimId> reduce,
                MonoidId m, std::vector<ExprId> args, std::vector<Guard> guards = {},
                int field = -1) {
    const auto number = static_cast<uint32_t>(field < 0 ? g[m].value : field);
    const Kind kind = g[m].output_kinds[number];
    const TensorId t = tensor(name, extents(points), kind, Role::definition);
    Node n;
    n.points = points;
    n.reduce = reduce;
    n.guards = guards;
    if (g[m].flat_index) {
      Form flat;
      Poly stride(1);
      for (size_t k = reduce.size(); k-- > 0; stride = stride * g.extent(reduce[k]))
        flat = flat + stride * Form::coordinate(reduce[k]);
      args.push_back(g.iota(flat));
    }
    n.folds = {{m, args, {}}};
    n.targets = {{t, points, g.state(number, kind)}};
    g.add_node(std::move(n));
    return t;
  }

  static Guard bound(Form f) { return {Guard::What::bound, std::move(f)}; }
  static Guard zero(Form f) { return {Guard::What::zero, std::move(f)}; }
  static Guard data(ExprId e) { return {Guard::What::data, {}, e}; }

  Values value(TensorId t, OracleOptions options = {}) {
    auto out = evaluate_tensors(g, {}, given, {t}, options);
    EXPECT_TRUE(out.has_value()) << (out ? "" : out.error().message);
    if (!out) return {};
    return std::move(out->at(t));
  }
  std::vector<double> reals(TensorId t, OracleOptions options = {}) {
    const Values v = value(t, options);
    std::vector<double> out;
    for (int64_t k = 0; k < v.stored(); ++k) out.push_back(v.slot(k).as_real());
    return out;
  }
};

}  // namespace tang::test
