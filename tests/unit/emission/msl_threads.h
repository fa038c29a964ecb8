// The threads of a group of Metal's as fibers of one thread of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <setjmp.h>
#include <string>
#include <ucontext.h>
#include <vector>

#include "msl/host.h"

namespace tang {

// Between two barriers a thread runs until it waits or ends before the next one does, so that a
// missing barrier shows; from barrier to barrier in turn from the first thread to the last and from
// the last to the first.
class MslThreads {
 public:
  static constexpr int64_t simdgroup = 32;
  static constexpr size_t stack_bytes = 256 << 10;

  MslThreads() = default;
  MslThreads(const MslThreads&) = delete;
  MslThreads& operator=(const MslThreads&) = delete;

  // Runs body(thread) for every thread of a group. Gives what is wrong: a barrier or an exchange
  // that some threads do not reach, an exchange with a lane that is not there, a fault of the
  // kernel's. Empty: nothing.
  std::string run_group(int64_t threads, const std::function<void(unsigned)>& body);

  // For kernels, of the group that runs.
  static msl::Host host();

 private:
  enum class State : uint8_t { ready, exchanging, waiting, ended };
  struct Fiber {
    std::unique_ptr<std::byte[]> stack;
    ucontext_t context;
    jmp_buf at;
    bool started = false;
    State state = State::ready;
    int line = 0;
    unsigned value = 0, mask = 0;
  };

  void start_anew(int64_t threads);
  void resume(int64_t thread);
  void leave(State state, int line);  // of the running thread, until it is resumed
  void run_lanes(int64_t first, int64_t last, bool forward);
  void exchange_lanes(int64_t first, int64_t last);
  void wrong(std::string what);
  static void run_fiber();

  std::vector<std::unique_ptr<Fiber>> fibers_;
  int64_t running_ = 0;
  jmp_buf home_;
  const std::function<void(unsigned)>* body_ = nullptr;
  std::string wrong_;
};

}  // namespace tang
