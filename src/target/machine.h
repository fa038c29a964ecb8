// What a machine can do: limits that a schedule keeps to, and rates that it is chosen by. Facts
// alone; which schedule follows from them is for `schedule` and `tune` to say.
//
//   machine nvidia.sm90a
//     kind gpu
//     features sm80 sm89 sm90 sm90a
//     cores 132
//     …
//     formats f32 f64 bf16 …            computed in directly; others are converted
//     peak bf16 4096, f32 256           operations a core does a cycle; a multiply-add is two
//
// The records are src/target/machines.def, embedded at build time and read at first use.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/format.h"

namespace tang {

struct Row;

// A number that is 0 is not known, or there is no such thing.
struct Machine {
  enum class Kind : uint8_t { cpu, gpu };
  struct Peak {
    Format format = Format::f32;
    int64_t operations = 0;  // a core and cycle
  };

  std::string name;
  Kind kind = Kind::cpu;
  std::vector<std::string> features;
  std::vector<Format> formats;
  std::vector<Peak> peaks;

  int64_t vector_bytes = 0;    // the widest register (cpu) or access (gpu) of a thread
  int64_t registers = 0;       // a thread's: vectors (cpu), of 4 bytes (gpu)
  int64_t core_registers = 0;  // of 4 bytes, for all threads of a core
  int64_t lanes = 1;           // threads of a warp
  int64_t threads = 1;         // of a block, at most
  int64_t core_threads = 1;    // of a core at a time, at most
  int64_t cores = 0;           // multiprocessors; 0: as many as the system says
  int64_t cluster = 0;         // blocks, at most, that any machine of the kind runs together
  int64_t shared_bytes = 0;    // of a block, at most
  int64_t buffers = 0;         // of a kernel, at most
  int64_t core_shared_bytes = 0;
  int64_t banks = 0, bank_bytes = 0;  // of shared memory
  int64_t barriers = 0;               // named ones of a block
  int64_t line_bytes = 64;
  int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;
  int64_t clock_mhz = 0;
  // Bytes a cycle: of one core from its first level, of all from the second, of all from memory.
  int64_t l1_rate = 0, l2_rate = 0, memory_rate = 0;

  bool has(std::string_view feature) const;
  bool computes(Format format) const;
  // 0 if the format is not computed in.
  int64_t peak(Format format) const;
  // The machine has what the row needs.
  bool runs(const Row& row) const;
};

// Errors: E0111 with `file` and line.
Result<std::vector<Machine>> read_machines(std::string_view text, const std::string& file);

// The shipped records.
const Result<std::vector<Machine>>& shipped_machines();
// One of them, "nvidia.sm90a", or one with less: "nvidia.sm90a@256,16384,1,8" has groups of 256
// threads and 16384 bytes at most, warps of 1, and 8 buffers a kernel. Error E0910 lists the names.
Result<const Machine*> find_machine(std::string_view name);
// The name of a machine with at most so much; `buffers` replaces the machine's.
std::string limited(const Machine& machine, int64_t threads, int64_t shared_bytes, int64_t lanes,
                    int64_t buffers);

}  // namespace tang
