// Expressions and names of one kernel for groups of threads. A value of several lanes is written
// lane by lane.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emit/gpu_dialect.h"
#include "emit/gpu_plan.h"
#include "emit/gpu_source.h"
#include "emit/gpu_vectors.h"
#include "emit/namer.h"
#include "emit/writer.h"
#include "loop/program.h"

namespace tang {

// Memory whose elements may be accessed several at once.
struct WideMemory {
  GpuDialect::Space space = GpuDialect::Space::buffer;
  std::string name;
  std::string word;  // the type of 32 bits that its vectors have
  int bits = 32;     // of an element
  int words = 1;     // of the vectors that it is declared of
  Format format = Format::f32;
};

class GpuExpr {
 public:
  // Lines that an expression needs before its statement go to `out`. `arguments` are the kernel's
  // bindings; names are taken from `names`.
  GpuExpr(const loop::Program& program, const loop::Kernel& kernel, const GpuPlan& plan,
          const GpuDialect& dialect, const GpuSourceOptions& options, Namer names, Writer& out);

  // Lanes of a value, with 64 bits where it has them.
  GpuText value(loop::Value v, int lane = 0);
  // In the index width. A bound is clamped to it, an address may lose its upper half.
  GpuText address(loop::Value v, int lane = 0);
  GpuText bound(loop::Value v);
  // As the local keeps it.
  GpuText for_local(loop::LocalId id, loop::Value v, int lane);

  // What was computed before the last statement is forgotten: a new statement begins.
  void next() {
    held_.clear();
    held_wide_.clear();
  }
  // The address in a name or as a constant, so that it may be repeated.
  std::string repeatable(const GpuText& text, const std::string& type, std::string_view name);

  // `narrows`: what is exact as f64 is read as f32, rounded once.
  GpuText load(const GpuArgument& x, const GpuText& at, bool narrows);
  // Statements that store `value` of `type` as the element.
  std::vector<std::string> store(const GpuArgument& x, const GpuText& at, loop::Type type,
                                 const GpuText& value);

  // A store of a vector in as few accesses as may be; false: it must be element by element.
  bool store_wide(const loop::Stmt& s, const std::vector<GpuText>& values);
  // An element of an array.
  std::string array_element(loop::LocalId id, const GpuText& at);

  const GpuArgument& argument(loop::BufferId id) const;
  const std::vector<GpuArgument>& arguments() const { return arguments_; }
  const std::vector<std::pair<std::string, std::string>>& symbols() const { return symbols_; }
  int array_words(loop::LocalId id) const { return array_words_[loop::index(id)]; }
  std::string wide_type(const std::string& word, int words) const;
  const std::string& thread() const { return thread_; }  // the name of its number
  const std::string& local(loop::LocalId id, int lane = 0) const {
    return locals_[loop::index(id)][static_cast<size_t>(lane)];
  }
  std::string type(loop::LocalId id) const;
  std::string index_type() const;
  std::string fresh(std::string_view wanted) { return names_.name(wanted); }
  GpuText sum(const GpuText& a, int64_t b) const;

 private:
  GpuText wide_value(const loop::Node& n, loop::Value v, int lane);
  GpuText narrow_index(const loop::Node& n, loop::Value v, int lane);
  GpuText index_operation(const loop::Node& n, int lane);
  GpuText index_infix(const loop::Node& n, int lane);
  GpuText other(const loop::Node& n, int lane);
  GpuText compare(const loop::Node& n, int lane);
  GpuText logic(const loop::Node& n, int lane);
  GpuText choose(const loop::Node& n, int lane, const std::function<GpuText(loop::Value)>& arm);
  GpuText cast(const loop::Node& n, int lane);
  GpuText round(const loop::Node& n, int lane);
  GpuText read(const loop::Node& n, int lane, bool narrows = false);
  std::optional<GpuText> read_wide(const loop::Node& n, int lane);
  int words_of_access(const WideMemory& memory, loop::Value at, int lanes) const;
  std::string begin_of(const WideMemory& memory, int words, const GpuText& at);
  std::string place_of(const WideMemory& memory, bool fixed, int words, const std::string& at,
                       int vector) const;
  std::string packed_word(const std::string& name, int words, const GpuText& at);
  std::string stored_word(Format format, loop::Type type, const GpuText& value) const;
  std::optional<WideMemory> wide_memory(bool buffer, uint32_t id) const;
  GpuText call(const loop::Node& n, int lane);
  GpuText infix(const loop::Node& n, int lane);
  GpuText widen(const GpuText& index) const;
  GpuText narrow(const GpuText& value) const;
  GpuText block(const GpuArgument& x, const GpuText& at, loop::Type as);
  GpuText raw(const GpuArgument& x, const GpuText& at);
  GpuText lazily(loop::Value v, const std::function<GpuText(loop::Value)>& print);
  GpuText zero(loop::Type type) const;
  std::string stored_bits(Format format, loop::Type type, const GpuText& value) const;
  bool moved(const loop::Node& n, int lane, loop::Value& from, int& from_lane) const;
  std::string_view width() const { return wide_ ? "i64" : "i32"; }

  const loop::Program& program_;
  const loop::Kernel& kernel_;
  const GpuPlan& plan_;
  const GpuDialect& dialect_;
  const bool wide_;
  const int64_t vector_bytes_;
  Namer names_;
  Writer& out_;
  std::vector<GpuArgument> arguments_;
  std::vector<size_t> argument_of_;  // by buffer
  std::vector<int> array_words_;     // by local: of the vectors that an array is declared of
  std::vector<std::pair<std::string, std::string>> symbols_;
  std::vector<std::string> symbol_of_;
  std::vector<std::vector<std::string>> locals_;  // by lane
  std::string thread_;
  std::map<uint32_t, GpuText> held_;  // addresses of vectors and of narrow elements, by node
  std::map<const loop::Node*, std::vector<std::string>> held_wide_;  // words of vectors
  int lazy_ = 0;  // inside of what may not be evaluated
};

}  // namespace tang
