// What emission for groups of threads knows of a kernel before it writes it: which loops groups
// share, which integers are kept as narrow as indices, and bounds of them.
//
// An index is computed in the index width, 32 bits unless the source is wide, where it neither
// overflows in a correct run nor is looked at as a number: in addresses and bounds; and elsewhere
// if its bound, from those of symbols, loops and constants, fits. Everything else of type i64, as
// loaded integers are, keeps 64 bits until it becomes part of an address.
#pragma once

#include <optional>
#include <vector>

#include "loop/program.h"
#include "loop/ranges.h"

namespace tang {

// Parallel loops that groups share as one: the outermost and those directly inside, as far as
// their bounds are the same for all iterations of the ones around.
struct GpuNest {
  std::vector<size_t> loops;  // statements, outermost first
};

// The nests of a kernel by their outermost statement.
std::vector<GpuNest> parallel_nests(const loop::Kernel& kernel);

// Of each `for` and `if` the statement that ends it; of others 0.
std::vector<size_t> ends_of(const loop::Kernel& kernel);

class GpuPlan {
 public:
  // `wraps`: index arithmetic wraps, so that an address may be made of what does not fit.
  GpuPlan(const loop::Program& program, const loop::Kernel& kernel, bool wide, bool wraps);

  // Whether the local is kept in the index width: loop variables, and lets that may be.
  bool is_index(loop::LocalId id) const { return index_[loop::index(id)]; }

  // The values of an i64, where they and everything on the way to them fit the index width.
  std::optional<loop::Interval> range(loop::Value v) const;
  bool fits(loop::Value v) const { return range(v).has_value(); }
  bool nonnegative(loop::Value v) const;
  // Whether the leaves are symbols, threads, constants and indices.
  bool pure(loop::Value v) const;
  // A number that the index is a multiple of. The largest that is known; 0: it is 0.
  int64_t multiple(loop::Value v) const;
  // Whether the value may differ between threads as far as a compiler can tell.
  bool varies(loop::Value v) const;
  // Whether the value reads the buffer's memory, or the array.
  bool reads(loop::Value v, std::optional<loop::BufferId> buffer,
             std::optional<loop::LocalId> array) const;
  // Whether lanes of the value come from other lanes.
  bool crosses(loop::Value v) const;
  // Whether the value reads the local.
  bool mentions(loop::Value v, loop::LocalId local) const;

 private:
  struct Known {
    std::optional<loop::Interval> range;
    bool nonnegative = false, pure = false, varies = false;
    int64_t multiple = 1;
  };

  void look_at(const loop::Stmt& s);
  void note_uses();
  void note_use(loop::Value v, bool addresses);
  std::optional<loop::Interval> arithmetic(const loop::Node& n) const;
  std::optional<loop::Interval> quotient(const loop::Node& n, loop::Interval a) const;
  std::optional<loop::Interval> cast(const loop::Node& n) const;
  std::optional<loop::Interval> fit(std::optional<loop::Interval> x) const;

  const loop::Program& program_;
  const loop::Kernel& kernel_;
  bool wide_, wraps_;
  int64_t least_, most_;  // of the index width
  int64_t symbol_;        // the largest symbol and loop variable
  std::vector<Known> locals_;
  std::vector<bool> index_, counted_;  // by local; counted: used as a number
};

}  // namespace tang
