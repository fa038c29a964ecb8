// Memories of the virtual machine. Shared memory: bytes, and for each who touched it last.
//
// An *agent* is whatever touches memory by itself: a warp, the matrix unit for one copy of a role,
// the copy unit for one slot of a channel, the bulk stores of one warp. An agent's accesses are
// numbered; a Clock says how many of each agent's are known to have happened before. Two accesses
// of which one writes must be ordered by clocks; a write by a warp that the asynchronous proxy
// reads must also have been fenced by its writer (hopper.md section 2.3). Both are conditions on
// what the program orders and do not depend on how this run happened to be scheduled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/format.h"

namespace tang::tile {

using Agent = uint32_t;
using Clock = std::vector<uint32_t>;  // by agent
void join(Clock& into, const Clock& other);

// Someone about to touch memory.
struct View {
  Agent agent = 0;
  uint32_t now = 0;               // the access's number
  const Clock* knows = nullptr;   // what happened before it
  const Clock* fenced = nullptr;  // writes of warps that the async proxy may see
  bool async = false;
};

class SharedMemory {
 public:
  explicit SharedMemory(int64_t bytes);

  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  // Reads and writes check range, alignment, initialisation and order. The first fault is kept.
  double load(const View& view, int64_t address, Format format);
  void store(const View& view, int64_t address, Format format, double value);
  // "race: …", empty if there is none; taken out.
  std::string take_fault();

 private:
  struct Access {
    Agent agent = 0;
    uint32_t number = 0;
  };
  struct Cell {
    Access write;
    bool initialised = false, written_async = false;
    uint8_t readers = 0;
    std::array<Access, 12> read;
  };

  bool fits(int64_t address, int64_t bytes, const char* what);
  void check_order(const View& view, const Cell& cell, int64_t address, bool writes);
  void fault(std::string text);

  std::vector<std::byte> bytes_;
  std::vector<Cell> cells_;
  std::string fault_;
};

// Who touched the elements of one global memory: parts of a kernel that run side by side, workers
// or trips of parallel loops. Nothing orders parts, so what one writes is its own.
class GlobalMemory {
 public:
  GlobalMemory() = default;
  // `written`: it has values before the kernel runs.
  GlobalMemory(int64_t elements, Format format, bool written);
  // What is wrong with an access by the part (from 1 on); empty if nothing is.
  std::string read(int64_t at, uint64_t part);
  std::string write(int64_t at, uint64_t part);
  // Atomic: parts may add to the same element.
  std::string add(int64_t at, uint64_t part);
  // The first element that nobody has written.
  std::optional<int64_t> unwritten() const;

 private:
  static constexpr uint64_t several = UINT64_MAX;
  struct Cell {  // smaller elements share a byte, and so a cell
    uint64_t writer = 0, reader = 0;
    bool added = false;  // by all that wrote
  };
  Cell& cell(int64_t at) { return cells_[static_cast<size_t>(at / in_byte_)]; }

  int64_t in_byte_ = 1;
  std::vector<Cell> cells_;
  std::vector<uint8_t> written_;
};

}  // namespace tang::tile
