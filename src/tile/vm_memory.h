// Memories of the virtual machine: what they hold, and for each place who touched it last.
//
// An *agent* is whatever touches memory by itself: a warp, the matrix unit for one copy of a role,
// the copy unit for one slot of a channel, the bulk stores of one warp. An agent's accesses are
// numbered; a Clock says how many of each agent's are known to have happened before. Two accesses
// of which one writes must be ordered by clocks; a write by a warp that the asynchronous proxy
// reads must also have been fenced by its writer (hopper.md section 2.3). The lanes of a warp are
// ordered by what the warp waits for alone: one lane's write and another's read of it have a
// barrier between them. These are conditions on what the program orders and do not depend on how
// this run happened to be scheduled.
#pragma once

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

constexpr int32_t several_lanes = -1;

// Someone about to touch memory.
struct View {
  Agent agent = 0;
  uint32_t now = 0;               // the access's number
  const Clock* knows = nullptr;   // what happened before it
  const Clock* fenced = nullptr;  // writes of warps that the async proxy may see
  bool async = false;
  uint64_t part = 1;             // of the kernel, that runs beside others (GlobalMemory)
  uint32_t synced = UINT32_MAX;  // the agent's accesses up to this are ordered before all its lanes
  int32_t lane = several_lanes;  // of a warp
};

struct Access {
  Agent agent = 0;
  uint32_t number = 0;
  int32_t lane = several_lanes;
};

// Who wrote one place last and who has read it since.
class Accesses {
 public:
  // Whether something orders the last write, or all reads since, before this access.
  bool write_before(const View& view) const { return !written_ || before(view, write_); }
  bool reads_before(const View& view) const;
  void read(const View& view);
  void write(const View& view);
  bool written() const { return written_; }
  const Access& writer() const { return write_; }

 private:
  static bool before(const View& view, const Access& a) {
    if (a.agent != view.agent) return (*view.knows)[a.agent] >= a.number;
    return a.number <= view.synced || (a.lane == view.lane && a.lane != several_lanes);
  }

  Access write_;
  bool written_ = false;
  std::vector<Access> reads_;  // one an agent
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
  struct Cell {
    Accesses accesses;
    bool written_async = false;
  };

  bool fits(int64_t address, int64_t bytes, const char* what);
  void check_order(const View& view, const Cell& cell, int64_t address, bool writes);
  void fault(std::string text);

  std::vector<std::byte> bytes_;
  std::vector<Cell> cells_;
  std::string fault_;
};

// Who touched the elements of one global memory: parts of a kernel that run side by side, workers
// or trips of parallel loops. Nothing orders parts, so what one writes is its own; within a part
// the accesses of agents are ordered as in shared memory.
class GlobalMemory {
 public:
  GlobalMemory() = default;
  // `written`: it has values before the kernel runs. `meets`: the kernel both reads and writes it,
  // so that agents of a part may meet there.
  GlobalMemory(int64_t elements, Format format, bool written, bool meets);
  // What is wrong with an access by a part (from 1 on); empty if nothing is.
  std::string read(int64_t at, const View& view);
  std::string write(int64_t at, const View& view);
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
  struct Meeting {
    uint64_t part = 0;
    Accesses accesses;
  };
  Cell& cell(int64_t at) { return cells_[static_cast<size_t>(at / in_byte_)]; }
  std::string meet(int64_t at, const View& view, bool writes);

  int64_t in_byte_ = 1;
  std::vector<Cell> cells_;
  std::vector<Meeting> meetings_;  // by cell; none where agents cannot meet
  std::vector<uint8_t> written_;
};

}  // namespace tang::tile
