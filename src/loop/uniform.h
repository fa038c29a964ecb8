// Which values are the same in all threads of a group: those that do not come from `thread` or an
// exchange, neither by value nor through a loop or branch that threads take differently. Memory of
// the group (buffers, shared arrays) holds the same for all at an index that is the same; a
// thread's own array does if every thread sets it alike. Does not follow the order of statements: a
// variable that is ever set to something else in some thread varies.
#pragma once

#include <vector>

#include "loop/program.h"

namespace tang::loop {

class Uniformity {
 public:
  // Of a kernel whose statements and nodes are well formed (verify.h).
  explicit Uniformity(const Kernel& kernel);

  bool varies(Value v) const { return nodes_[v.id]; }
  bool varies(LocalId id) const { return locals_[index(id)]; }
  // Of a `for` or `if`: whether some threads may run its body while others do not.
  bool splits(const Stmt& stmt) const;

 private:
  void look_at_nodes();
  void walk();
  bool own(const Node& node) const;
  void mark(LocalId id);

  const Kernel& kernel_;
  std::vector<bool> nodes_, locals_;
  bool changed_ = true;
};

}  // namespace tang::loop
