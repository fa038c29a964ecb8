// Random programs, as text, so that the parser and the printer are tested too.
//
// A program is a pool of dims, inputs over them, and definitions: maps, reductions, products of
// reductions, integer and bool ones, scans (sequences.cpp), and the shapes the rewrites look for
// (patterns.cpp, softmaxes.cpp). Values
// are kept near 1, so that f32 and f64 agree to the tolerance of a format; operations with jumps
// (comparisons, floor, argmax) see only values that every device computes exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/format.h"
#include "fuzz/random_graphs/program.h"

namespace tang::fuzz {

Program random_program(uint64_t seed);

// A stream of choices: the same on every machine.
class Choice {
 public:
  explicit Choice(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u) {}
  uint64_t next();
  int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& of(const std::vector<T>& v) {
    return v[static_cast<size_t>(below(static_cast<int>(v.size())))];
  }

 private:
  uint64_t state_;
};

using Dims = std::vector<int>;  // positions in Generator::dims_

struct DimInfo {
  std::string name, extent;
  int64_t size = 0;
  bool symbolic = false;
  bool apart = false;  // not drawn as a point or a reduce index
};

struct TensorInfo {
  std::string name;
  Dims dims;  // of its axes
  Kind kind = Kind::real;
  bool exact = false;  // the same on every device: jumps may depend on it
  bool finite = true;
  bool gathers = false;  // an i32 input that indexes other tensors
  double size = 4;       // about the largest magnitude
};

struct Real {
  std::string text;
  double size = 1;
};

// What guarded reads may leave to the enclosing reduction.
enum class Fill : uint8_t { either, stated };

class Generator {
 public:
  explicit Generator(uint64_t seed) : choice_(seed) { program_.seed = seed; }
  Program run();

 private:
  // Declarations.
  void declare_dims();
  void declare_inputs();
  void blocks();
  TensorInfo input(const std::string& format, const Dims& dims);
  std::string fresh() { return "t" + std::to_string(++count_); }
  Dims some_dims(int least, int most, const Dims& without = {});
  std::string names(const Dims& dims) const;
  std::string tensor(const std::string& name, const Dims& dims) const;
  std::string at(const TensorInfo& t, const Dims& dims) const;
  const std::string& name(int d) const { return dims_[static_cast<size_t>(d)].name; }
  int64_t size(int d) const { return dims_[static_cast<size_t>(d)].size; }
  int64_t size(const Dims& dims) const;

  // Expressions over the coordinates of `scope`.
  std::optional<std::string> inside(int axis, const Dims& scope);
  std::string anywhere(int axis, const Dims& scope);
  std::string read(const TensorInfo& t, const Dims& scope, Fill fill);
  std::string exact_read(Kind kind, const Dims& scope);
  Real leaf(const Dims& scope, Fill fill);
  Real real(int depth, const Dims& scope, Fill fill);
  Real unary(const Real& x);
  Real binary(const Real& x, const Real& y);
  std::string integer(int depth, const Dims& scope);
  std::string condition(int depth, const Dims& scope);
  std::string affine_condition(const Dims& scope);
  std::string binder_condition(const Dims& scope, const Dims& reduce);

  // Definitions: each adds one or more statements.
  void define(const TensorInfo& t, const std::string& value, const std::string& format = {});
  std::string storage(Kind kind);
  void map();
  void reduction();
  void product();
  void exact_reduction();
  void states();
  void choose_outputs();

  // Sequences, in sequences.cpp.
  std::string modifiers();
  int new_dim(const std::string& base, const DimInfo& like);
  std::string real_scan(const std::string& along, const Dims& scope, TensorInfo& t);
  std::string recurrence(int t, const Dims& scope, TensorInfo& y);
  std::string exact_scan(int along, const Dims& scope, TensorInfo& t);
  void scan();
  void matrix_recurrence();
  void largest();
  void largest_in_turn();
  void segments();

  // Softmaxes with another shift than their max, in softmaxes.cpp.
  TensorInfo score(const Dims& points, int j, std::string& binder);
  void shifted_softmax();
  void two_softmaxes();

  // The shapes rewrites look for, in patterns.cpp.
  void pattern();
  void attention();
  void log_sum_exp();
  void variance();
  void pair();
  void chain();
  void transposes();
  void hoist();
  void duplicates();
  void promotion();
  void windows();
  void pooling();
  void gathers();
  void selections();
  void in_place();
  TensorInfo weights(const TensorInfo& score, const std::string& binder, int j);
  std::string mask(std::string score, const Dims& points, int j, std::string& binder);

  Choice choice_;
  Program program_;
  std::vector<DimInfo> dims_;
  std::vector<TensorInfo> tensors_;  // inputs, then definitions
  int count_ = 0;
};

}  // namespace tang::fuzz
