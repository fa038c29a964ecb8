// Builds one kernel of a tile program, operation by operation, for the lowering.
//
// Loops and branches open a region and close it again; an operation may also be added to a region
// further out that is still open, which is how what does not vary in a loop is computed before it.
// Names may repeat; the builder makes them unique, so the kernel's text parses.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tile/program.h"

namespace tang::tile {

class KernelBuilder {
 public:
  // `warps`: of the one role.
  KernelBuilder(std::string_view name, std::string_view target, int64_t warps = 1);

  void reserve(std::string_view name);  // nothing made from now on gets it
  // An axis is known by its name; an index is made anew.
  DimId axis(std::string_view name);
  DimId index(std::string_view name, Index::What what);
  // Its axes are axes of these names.
  MemoryId memory(Memory m, const std::vector<std::string>& axes);
  PlacementId placement(const std::vector<DimId>& axes, const Placement& p);
  MonoidId monoid(Monoid m);  // an equal one that there is already, or this
  MonoidId builtin(std::string_view name);
  ValueId value(std::string_view name, Type type);

  // Appends an operation, to the innermost open region or to one around it.
  void add(Op op);
  void add(RegionId region, Op op);
  RegionId region() const { return open_.back().body; }
  // Whether parallel loops alone are open, and nothing stands in them yet.
  bool in_parallel() const;

  // Gives what the body calls the carried values.
  std::vector<ValueId> open_loop(Op::Range range, const std::vector<ValueId>& initial);
  void open_branch(std::vector<Form> holds);
  // The first part yields these values, and the other part begins.
  void open_else(const std::vector<ValueId>& yields = {});
  // Closes the innermost loop or branch, which yields or carries these values. Gives its results.
  std::vector<ValueId> close(const std::vector<ValueId>& yields = {});

  Kernel& kernel() { return k_; }
  const Kernel& kernel() const { return k_; }
  Kernel finish() { return std::move(k_); }

 private:
  struct Open {
    Op op;
    RegionId body = RegionId::none;
  };
  std::string fresh(std::string_view wanted);
  RegionId new_region();
  void end_body(const std::vector<ValueId>& yields);

  Kernel k_;
  std::vector<Open> open_;  // the kernel's own body first
  std::set<std::string> names_;
  std::map<std::string, DimId, std::less<>> axes_;
};

}  // namespace tang::tile
