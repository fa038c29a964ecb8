// Devices run loop programs.
//
// A device compiles a verified loop program into an Executable; the caller owns all memory. Buffers
// are passed as pointers in the order of Program::arguments() (inputs, then outputs, then what is
// prepared; an `into` output repeats its input's pointer), sizes as the values of the program's
// symbols. Nothing here reads the environment or prints: settings come in as options, and what the
// user should know goes out as warnings.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "loop/program.h"

namespace tang {

struct RunTimes {
  double total_ms = 0;
};

// A program's arguments where its device keeps them, for many runs: decode loops, benchmarks. Used
// by one thread at a time. The caller's pointers stay valid as long as it does; where the device
// has memory of its own, what they point to changes by downloads alone and is read by uploads.
class Resident {
 public:
  virtual ~Resident() = default;

  // Runs all kernels, `rounds` times in a row. Gives milliseconds of all rounds together, transfers
  // left out.
  virtual Result<double> run(int64_t rounds = 1) = 0;
  // The same of one kernel, on what earlier kernels left; workspace is not that of run() on every
  // device.
  virtual Result<double> run_kernel(size_t kernel, int64_t rounds = 1) = 0;

  // Copies an argument, by its place in Program::arguments(), to the device or back.
  virtual Result<void> upload(size_t argument) = 0;
  virtual Result<void> download(size_t argument) = 0;
  // Downloads all outputs.
  virtual Result<void> download_outputs() = 0;
};

// Memory of the device and a stream that belong to the caller.
struct StreamRun {
  std::span<void* const> buffers;  // addresses in that memory, as Program::arguments() orders them
  int device = 0;                  // its number among the driver's
  void* workspace = nullptr;       // of stream_workspace_bytes, in that memory
  void* stream = nullptr;          // the driver's handle, a CUstream; null: the default one
};

// A compiled program. Thread-safe: runs share nothing but the buffers the caller passes, and the
// device's threads, which serve one run at a time; others do without.
class Executable {
 public:
  virtual ~Executable() = default;

  // Bytes of workspace at these sizes. E0701 for a size that is negative or too large.
  virtual Result<int64_t> workspace_bytes(std::span<const int64_t> symbols) const = 0;

  // Fills the prepared buffers, once for all runs with these constants and sizes; nothing where
  // nothing is prepared.
  virtual Result<RunTimes> prepare(std::span<void* const> buffers, std::span<const int64_t> symbols,
                                   void* workspace) const = 0;

  // Runs all kernels. `workspace` has workspace_bytes bytes, aligned to 64; null if that is 0.
  virtual Result<RunTimes> run(std::span<void* const> buffers, std::span<const int64_t> symbols,
                               void* workspace) const = 0;

  // Runs one kernel; `buffers` holds a pointer for every buffer of the program by BufferId,
  // workspace included (null where the kernel does not touch it). Gives milliseconds.
  virtual Result<double> run_kernel(size_t kernel, std::span<void* const> buffers,
                                    std::span<const int64_t> symbols) const = 0;

  // Places the arguments of run() for many runs, with workspace of its own, and uploads them; what
  // is prepared is filled already. The executable outlives it.
  virtual Result<std::unique_ptr<Resident>> resident(std::span<void* const> buffers,
                                                     std::span<const int64_t> symbols) const;

  // Bytes of workspace of enqueue() at these sizes; afterwards enqueue() compiles nothing. E0923
  // where the device does not run on memory of the caller.
  virtual Result<int64_t> stream_workspace_bytes(std::span<const int64_t> symbols) const;
  // Puts all kernels on the caller's stream and returns; what they compute is there when the stream
  // has come so far. Waits for nothing and allocates nothing on the device: the stream may be in
  // capture. The executable, the memory and the workspace, which no other stream uses meanwhile,
  // outlive the kernels and what was captured. What is prepared is filled already. E0719 for
  // addresses that are no multiples of 16, E0720 for another device.
  virtual Result<void> enqueue(const StreamRun& run, std::span<const int64_t> symbols) const;

  virtual const LoopProgram& program() const = 0;
};

struct CompileOptions {
  std::string cache_dir;  // compiled objects by content; made if missing
  bool use_cache = true;
  std::string cc;  // a compiler by path or name; empty: cc, gcc or clang
  std::string path = "/usr/local/bin:/usr/bin:/bin";  // where to look, colon-separated
  std::string temp_dir = "/tmp";
  int threads = 1;  // that share parallel kernels; they give the same bits for any number
  // Speed only: the source is right under any standard-conforming flags.
  std::vector<std::string> flags = {"-std=gnu11", "-O3", "-march=native", "-fno-math-errno",
                                    "-ffp-contract=off"};
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;

  // Failures of the cache become warnings, one at most.
  virtual Result<std::unique_ptr<Executable>> compile(const LoopProgram& program,
                                                      const CompileOptions& options,
                                                      Diagnostics& warnings) = 0;
};

}  // namespace tang
