// The state of the virtual machine (machine.h); for machine*.cpp only.
//
// The threads of a group run one after the other, each up to the next barrier or exchange or to its
// end; there they meet, and all go on. What threads do from one barrier to the next is an epoch:
// within it none touches what another one writes.
//
// A section is an iteration of the parallel loops, or what stands before, between or after them.
// One group does not run all iterations: one may follow any earlier one. So the first epoch of a
// section counts as one with the last epoch of every section before.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "loop/program.h"

namespace tang::loop {

struct Number {  // left as it is unless asked: {} is 0
  double r;
  int64_t i;  // integers and bools
};

using Vector = std::array<Number, max_lanes>;

// Which threads of the group touched an element last, and in which section. Stamps grow from epoch
// to epoch; within one they number its threads, and one more stands for several of them.
struct Stamp {
  int64_t at = -1;
  uint32_t section = 0;
};
struct Stamps {
  Stamp writer, reader;
};

class Machine {
 public:
  Machine(const Program& program, const Kernel& kernel, std::span<void* const> buffers,
          std::span<const int64_t> symbols, int64_t most_steps);

  Result<void> run();

 private:
  struct Open {
    size_t start = 0;
    int64_t next = 0, end = 0;
  };
  static constexpr int64_t nobody = -1, several = -2;
  struct Element {
    Number value{};
    int64_t setter = nobody;  // the iteration
  };
  struct Touch {  // iterations
    int64_t writer = nobody, reader = nobody;
  };
  struct Thread {
    int64_t number = 0;
    size_t pc = 0;
    bool waits = false;                        // at a barrier or an exchange
    Vector sent{};                             // what it brings to an exchange
    std::vector<Number> locals;                // by slot
    std::vector<std::vector<Element>> arrays;  // its own, by local
    std::vector<Open> open;
    int64_t iteration = 0, iterations = 0;  // of parallel loops, from 1; 0 outside of them
    uint32_t section = 0;
    int64_t since = 0;  // the epoch in which the section began
  };
  // Where the lanes of a vector in memory lie.
  struct Address {
    int64_t index = 0, stride = 1, first = max_lanes;

    int64_t of(int e) const {
      return static_cast<int64_t>(static_cast<uint64_t>(index) +
                                  static_cast<uint64_t>(e) * static_cast<uint64_t>(stride));
    }
  };

  // Statements and threads: machine.cpp.
  void match_ends();
  void lay_out();
  void fault(const Stmt& s, const std::string& text);
  void go();
  bool meet();
  void apart(const Thread& a, const Thread& b);
  std::string whereabouts(const Thread& t) const;
  void exchange(const Stmt& s);
  size_t step(size_t pc);
  size_t close(size_t pc);
  void pass(bool inside);
  void assign(LocalId to, Value from);

  // Memory: machine_memory.cpp.
  Address address(Value index, Value stride, Value first);
  void write(const Stmt& s);
  void set(const Stmt& s, int64_t at, const Number& value);
  void store(const Stmt& s, int64_t at, const Number& value);
  bool inside(BufferId id, int64_t at, const char* what);
  void share(BufferId id, int64_t at, bool writes);
  void touch(BufferId id, int64_t at, bool writes);
  bool by_another(const Stamp& s) const;
  void meet_in(Stamps& s, const std::string& name, int64_t at, bool writes);
  Number read(const Node& n, int64_t at);
  Number load(const Node& n, int64_t at);
  Number element(const Node& n, int64_t at);
  std::vector<Element>& array(LocalId id) {
    return k_[id].shared ? shared_[index(id)] : me_->arrays[index(id)];
  }

  // Expressions, whose recursion is bounded by max_depth: machine_expr.cpp.
  Number eval(Value v);
  Vector vector(Value v);
  Vector runs(const Node& n);
  Vector rearranged(const Node& n);
  Vector read_vector(const Node& n);
  Number cast(const Node& n, const Number& x) const;
  Number operation(const Node& n, const Number* x) const;
  Number by_name(const Node& n, const Number* x) const;

  const Program& p_;
  const Kernel& k_;
  std::span<void* const> buffers_;
  std::span<const int64_t> symbols_;
  int64_t left_;
  const bool parallel_, group_;  // the kernel has parallel loops, several threads
  std::vector<int64_t> counts_;  // elements, by buffer
  std::vector<size_t> end_of_;   // of a for or if: its end
  std::vector<uint32_t> slots_;  // of a local among a thread's
  std::vector<Thread> threads_;
  Thread* me_ = nullptr;                      // whose turn it is
  std::vector<std::vector<Element>> shared_;  // by local
  std::vector<std::vector<Stamps>> stamps_;   // of shared arrays, by local
  std::vector<std::vector<Stamps>> met_;      // of a group, by buffer that owns memory
  std::vector<std::vector<Touch>> touched_;   // of a parallel kernel, by buffer that owns memory
  int64_t epoch_ = 0;                         // its first thread's stamp
  std::vector<int64_t> last_;                 // epoch of a section that has ended
  const Stmt* now_ = nullptr;
  std::string fault_;
};

}  // namespace tang::loop
