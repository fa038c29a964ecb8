#undef _FORTIFY_SOURCE  // its longjmp goes to frames of the same stack only
#include "msl_threads.h"

#include <algorithm>

#include <fmt/format.h>

namespace tang {

namespace {

MslThreads* group = nullptr;  // that runs

}  // namespace

void MslThreads::wrong(std::string what) {
  if (wrong_.empty()) wrong_ = std::move(what);
}

void MslThreads::start_anew(int64_t threads) {
  while (std::ssize(fibers_) < threads) {
    fibers_.push_back(std::make_unique<Fiber>());
    fibers_.back()->stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
  }
  for (int64_t k = 0; k < threads; ++k) {
    Fiber& f = *fibers_[static_cast<size_t>(k)];
    f.state = State::ready;
    if (f.started) continue;
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.get();
    f.context.uc_stack.ss_size = stack_bytes;
    f.context.uc_link = nullptr;
    makecontext(&f.context, run_fiber, 0);
  }
}

// A fiber that has ended runs the next group's thread when it is resumed.
void MslThreads::run_fiber() {
  for (;;) {
    (*group->body_)(static_cast<unsigned>(group->running_));
    group->leave(State::ended, 0);
  }
}

void MslThreads::resume(int64_t thread) {
  running_ = thread;
  Fiber& f = *fibers_[static_cast<size_t>(thread)];
  if (_setjmp(home_) != 0) return;
  if (f.started) _longjmp(f.at, 1);
  f.started = true;
  setcontext(&f.context);
}

void MslThreads::leave(State state, int line) {
  Fiber& f = *fibers_[static_cast<size_t>(running_)];
  f.state = state;
  f.line = line;
  if (_setjmp(f.at) == 0) _longjmp(home_, 1);
}

void MslThreads::exchange_lanes(int64_t first, int64_t last) {
  const Fiber& one = *fibers_[static_cast<size_t>(first)];
  std::vector<unsigned> values;
  for (int64_t k = first; k < last; ++k) {
    const Fiber& f = *fibers_[static_cast<size_t>(k)];
    if (f.state != State::exchanging || f.line != one.line || f.mask != one.mask)
      return wrong(fmt::format("line {}: lanes of a simdgroup do not all exchange values",
                               std::max(f.line, one.line)));
    values.push_back(f.value);
  }
  for (int64_t k = first; k < last; ++k) {
    Fiber& f = *fibers_[static_cast<size_t>(k)];
    const size_t from = static_cast<size_t>(k - first) ^ f.mask;
    if (from >= values.size())
      return wrong(fmt::format("line {}: no lane {} to exchange with", f.line, from));
    f.value = values[from];
    f.state = State::ready;
  }
}

void MslThreads::run_lanes(int64_t first, int64_t last, bool forward) {
  while (wrong_.empty()) {
    bool exchanging = false;
    for (int64_t k = first; k < last; ++k) {
      const int64_t thread = forward ? k : first + last - 1 - k;
      const Fiber& f = *fibers_[static_cast<size_t>(thread)];
      if (f.state == State::ready) resume(thread);
      if (!wrong_.empty()) return;
      exchanging = exchanging || f.state == State::exchanging;
    }
    if (!exchanging) return;
    exchange_lanes(first, last);
  }
}

std::string MslThreads::run_group(int64_t threads, const std::function<void(unsigned)>& body) {
  group = this;
  body_ = &body;
  wrong_.clear();
  start_anew(threads);
  const int64_t count = (threads + simdgroup - 1) / simdgroup;
  for (bool forward = true; wrong_.empty(); forward = !forward) {
    for (int64_t k = 0; k < count; ++k) {
      const int64_t first = (forward ? k : count - 1 - k) * simdgroup;
      run_lanes(first, std::min(first + simdgroup, threads), forward);
    }
    if (!wrong_.empty()) break;
    const Fiber& one = *fibers_[0];
    for (int64_t k = 0; k < threads; ++k) {
      const Fiber& f = *fibers_[static_cast<size_t>(k)];
      if (f.state != one.state || f.line != one.line)
        wrong(fmt::format("line {}: threads of a group do not all reach a barrier",
                          std::max(f.line, one.line)));
    }
    if (one.state == State::ended) break;
    for (int64_t k = 0; k < threads; ++k) fibers_[static_cast<size_t>(k)]->state = State::ready;
  }
  // The threads of a group that is left are given up where they are.
  if (!wrong_.empty())
    for (const auto& f : fibers_) f->started = false;
  return wrong_;
}

msl::Host MslThreads::host() {
  const auto barrier = [](int line) { group->leave(State::waiting, line); };
  const auto exchange = [](int line, unsigned value, unsigned mask) {
    Fiber& f = *group->fibers_[static_cast<size_t>(group->running_)];
    f.value = value;
    f.mask = mask;
    group->leave(State::exchanging, line);
    return f.value;
  };
  const auto fault = [](const char* what, int line) {
    group->wrong(fmt::format("line {}: {}, of thread {}", line, what, group->running_));
    group->leave(State::ended, line);
  };
  return {barrier, exchange, fault};
}

}  // namespace tang
