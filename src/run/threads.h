// Threads that run the parts of a program together.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <pthread.h>
#include <vector>

namespace tang {

// All of `parts` threads wait until the last arrives. Short waits spin, longer ones sleep.
class Barrier {
 public:
  explicit Barrier(uint32_t parts) : parts_(parts), left_(parts) {}
  void wait();

 private:
  const uint32_t parts_;
  alignas(64) std::atomic<uint32_t> left_;
  alignas(64) std::atomic<uint32_t> round_{0};
};

// The threads are started by the first run that needs them, sleep between runs, and end with the
// pool. No signal is delivered to them; their stacks have room for a kernel's arrays.
class ThreadPool {
 public:
  using Work = void (*)(void* context, int64_t part, int64_t parts, Barrier& barrier);

  explicit ThreadPool(int threads) : wanted_(threads) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls `work` for every part, part 0 on the calling thread, and returns when all have returned.
  // There are as many parts as threads could be started, and one while another run is going on.
  void run(Work work, void* context);

 private:
  struct Thread {
    ThreadPool* pool = nullptr;
    int64_t part = 0;
    pthread_t id{};
  };
  static void* main(void* thread);
  void start();

  const int wanted_;
  std::mutex busy_;
  bool started_ = false;
  std::vector<Thread> threads_;  // parts from 1 on

  // The run at hand, written before `run_` changes.
  Work work_ = nullptr;
  void* context_ = nullptr;
  int64_t parts_ = 1;
  Barrier* barrier_ = nullptr;
  alignas(64) std::atomic<uint32_t> run_{0};
  alignas(64) std::atomic<uint32_t> going_{0};  // threads that have not finished it
};

// The processors that this process may use, at least 1.
int processors();

}  // namespace tang
