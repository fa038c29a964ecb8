#include "run/threads.h"

#include <algorithm>
#include <csignal>
#include <sched.h>

namespace tang {

namespace {

constexpr int spins = 4000;  // some 20 to 100 microseconds: longer than the end of most kernels
constexpr size_t least_stack = size_t{8} << 20;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Until `x` is no longer `old`.
void wait_while(const std::atomic<uint32_t>& x, uint32_t old) {
  for (int k = 0; k < spins; ++k) {
    if (x.load(std::memory_order_acquire) != old) return;
    pause();
  }
  while (x.load(std::memory_order_acquire) == old) x.wait(old, std::memory_order_acquire);
}

}  // namespace

void Barrier::wait() {
  const uint32_t round = round_.load(std::memory_order_acquire);
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    left_.store(parts_, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    round_.notify_all();
  } else {
    wait_while(round_, round);
  }
}

void* ThreadPool::main(void* thread) {
  const Thread& self = *static_cast<const Thread*>(thread);
  ThreadPool& pool = *self.pool;
  for (uint32_t run = 0;; ++run) {
    wait_while(pool.run_, run);
    if (pool.work_ == nullptr) return nullptr;
    pool.work_(pool.context_, self.part, pool.parts_, *pool.barrier_);
    if (pool.going_.fetch_sub(1, std::memory_order_acq_rel) == 1) pool.going_.notify_one();
  }
}

// Fewer threads than wanted are no error.
void ThreadPool::start() {
  started_ = true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  size_t stack = 0;
  pthread_attr_getstacksize(&attributes, &stack);
  pthread_attr_setstacksize(&attributes, std::max(stack, least_stack));
  threads_.resize(static_cast<size_t>(std::max(1, wanted_) - 1));
  size_t made = 0;
  for (Thread& t : threads_) {
    t.pool = this;
    t.part = static_cast<int64_t>(made) + 1;
    if (pthread_create(&t.id, &attributes, main, &t) != 0) break;
    ++made;
  }
  threads_.resize(made);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ThreadPool::run(Work work, void* context) {
  const std::unique_lock<std::mutex> alone(busy_, std::try_to_lock);
  if (alone && !started_) start();
  if (!alone || threads_.empty()) {
    Barrier barrier(1);
    return work(context, 0, 1, barrier);
  }
  parts_ = static_cast<int64_t>(threads_.size()) + 1;
  Barrier barrier(static_cast<uint32_t>(parts_));
  work_ = work, context_ = context, barrier_ = &barrier;
  going_.store(static_cast<uint32_t>(threads_.size()), std::memory_order_relaxed);
  run_.fetch_add(1, std::memory_order_release);
  run_.notify_all();
  work(context, 0, parts_, barrier);
  for (uint32_t left = going_.load(std::memory_order_acquire); left != 0;
       left = going_.load(std::memory_order_acquire))
    wait_while(going_, left);
}

ThreadPool::~ThreadPool() {
  work_ = nullptr;
  run_.fetch_add(1, std::memory_order_release);
  run_.notify_all();
  for (const Thread& t : threads_) pthread_join(t.id, nullptr);
}

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace tang
