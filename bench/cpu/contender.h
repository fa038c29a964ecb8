// The sides of a race: tang and its peers.
//
// A contender computes a case's output from the case's inputs, the same each time. It times itself,
// because some live in other processes; nothing but the calls lies between its clock readings.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "base/array.h"

namespace tang::bench_cpu {

// Errors are sentences: whoever runs the races reads them.
template <class T>
using Outcome = tl::expected<T, std::string>;

// Which clock races go by. `cpu` counts what the calling thread computes and leaves out the time
// that a crowded machine gives to others; it is for contenders with one thread.
enum class ClockKind : uint8_t { wall, cpu };

class Stopwatch {
 public:
  explicit Stopwatch(ClockKind kind = ClockKind::wall) : kind_(kind), begin_(now()) {}
  double ms() const { return now() - begin_; }

 private:
  double now() const {
    timespec t;
    clock_gettime(kind_ == ClockKind::cpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
  }
  ClockKind kind_;
  double begin_;
};

class Contender {
 public:
  virtual ~Contender() = default;

  // Milliseconds of `calls` calls, one after the other.
  virtual Outcome<double> time(int64_t calls, ClockKind clock) = 0;
  // Wall milliseconds of each of `calls` calls, clock readings included.
  virtual Outcome<std::vector<double>> samples(int64_t calls) = 0;
  // What the last call computed, row-major.
  virtual Outcome<std::vector<float>> output() = 0;
};

// A contender of this process. `Call` computes into `out`, both of which it keeps.
template <class Call>
class LocalContender : public Contender {
 public:
  LocalContender(Call call, std::shared_ptr<Buffer> out) : call_(std::move(call)), out_(out) {}

  Outcome<double> time(int64_t calls, ClockKind clock) override {
    const Stopwatch watch(clock);
    for (int64_t k = 0; k < calls; ++k) call_();
    return watch.ms();
  }
  Outcome<std::vector<double>> samples(int64_t calls) override {
    std::vector<double> all(static_cast<size_t>(calls));
    for (double& ms : all) {
      const Stopwatch watch;
      call_();
      ms = watch.ms();
    }
    return all;
  }
  Outcome<std::vector<float>> output() override {
    const auto* begin = reinterpret_cast<const float*>(out_->data());
    return std::vector<float>(begin, begin + out_->size() / sizeof(float));
  }

 private:
  Call call_;
  std::shared_ptr<Buffer> out_;
};

template <class Call>
std::unique_ptr<Contender> local(Call call, std::shared_ptr<Buffer> out) {
  return std::make_unique<LocalContender<Call>>(std::move(call), std::move(out));
}

// Zeroed room for `count` floats.
inline std::shared_ptr<Buffer> floats(int64_t count) {
  auto buffer = Buffer::allocate(static_cast<size_t>(count) * sizeof(float));
  return std::make_shared<Buffer>(buffer ? std::move(*buffer) : Buffer());
}
inline float* data(Buffer& buffer) { return reinterpret_cast<float*>(buffer.data()); }

}  // namespace tang::bench_cpu
