// C expressions, types and names of one kernel; shared by the statements of c_source.cpp.
#pragma once

#include <string>
#include <vector>

#include "emit/c_element.h"
#include "emit/c_vector.h"
#include "emit/namer.h"
#include "loop/program.h"

namespace tang {

// Whether the node casts to f32 an element of blocks that is read as f64: one call decodes and
// rounds it.
bool reads_narrowed(const loop::Program& program, const loop::Kernel& kernel,
                    const loop::Node& node);

// Prints the expressions of a kernel. Reals use C operators; integers wrap by calls, except inside
// indices and bounds, which do not overflow (loop/program.h).
class CExpr {
 public:
  // `names` is a scope of its own; symbols and buffers of the kernel are named first.
  // The functions on vectors that the kernel needs are asked of `vectors`.
  CExpr(const loop::Program& program, const loop::Kernel& kernel, Namer names, CVector& vectors);

  std::string value(loop::Value v) const { return print(v, false, 0); }
  std::string index(loop::Value v) const { return print(v, true, 0); }
  // The same as an operand of `*` or `+`, or of a comparison.
  std::string operand(loop::Value v) const { return print(v, true, 4); }

  const std::string& local(loop::LocalId id) const { return locals_[loop::index(id)]; }
  const std::string& buffer(loop::BufferId id) const { return buffers_[loop::index(id)]; }
  const std::string& symbol(ParamId id) const { return symbols_[tang::index(id)]; }
  bool uses_symbol(ParamId id) const { return used_symbols_[tang::index(id)]; }
  std::string fresh(std::string_view wanted) { return names_.name(wanted); }

  // The type of a local, of its elements if it is an array.
  std::string type(loop::LocalId id) const { return vectors_.type(kernel_[id].shape()); }
  // A store or set.
  std::string store(const loop::Stmt& s) const;
  std::string prefetch(const loop::Stmt& s) const;

 private:
  // Binding strength in C, loosest first.
  enum Level {
    level_select = 1,
    level_or,
    level_and,
    level_equal,
    level_less,
    level_sum,
    level_product,
    level_unary,
    level_atom
  };

  // Recursion is bounded by the depth of the tree, at most loop::max_depth.
  std::string print(loop::Value v, bool indexing, int least) const;
  std::string bare(const loop::Node& node, bool indexing, int level) const;
  std::string infix(const loop::Node& node, bool indexing, int level) const;
  std::string call(const std::string& callee, const loop::Node& node) const;
  std::string load(const loop::Node& node, loop::Type as) const;
  std::string cast(const loop::Node& node) const;
  std::string vector(const loop::Node& node) const;
  std::string vector_load(const loop::Node& node, loop::Type as) const;
  std::string vector_store(const loop::Stmt& s) const;
  std::string address(loop::Value at, loop::Value stride, loop::Value first) const;
  int level(const loop::Node& node, bool indexing) const;
  bool is_infix(const loop::Node& node, bool indexing) const;

  const loop::Program& program_;
  const loop::Kernel& kernel_;
  Namer names_;
  CVector& vectors_;
  std::vector<std::string> symbols_, buffers_, locals_;
  std::vector<bool> used_symbols_;
};

}  // namespace tang
