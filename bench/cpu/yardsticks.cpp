#include "cpu/yardsticks.h"

#include <cstring>
#include <omp.h>

namespace tang::bench_cpu {
namespace {

using Lanes = float __attribute__((vector_size(32)));

// Eight sums side by side, so that loads and not additions decide.
float sum(const Lanes* values, int64_t count) {
  Lanes s[8] = {};
  int64_t k = 0;
  for (; k + 8 <= count; k += 8)
    for (int64_t lane = 0; lane < 8; ++lane) s[lane] += values[k + lane];
  for (; k < count; ++k) s[0] += values[k];
  float total = 0;
  for (const Lanes& lane : s)
    for (int e = 0; e < 8; ++e) total += lane[e];
  return total;
}

}  // namespace

std::unique_ptr<Contender> copier(int64_t bytes, int threads) {
  auto from = floats(bytes / 4), to = floats(bytes / 4);
  std::memset(from->data(), 1, from->size());
  return local(
      [from, to, threads] {
        const size_t size = from->size(), part = size / static_cast<size_t>(threads) / 64 * 64;
        if (threads == 1) {
          std::memcpy(to->data(), from->data(), size);
          return;
        }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int k = 0; k < threads; ++k) {
          const size_t begin = static_cast<size_t>(k) * part;
          std::memcpy(to->data() + begin, from->data() + begin,
                      k + 1 == threads ? size - begin : part);
        }
      },
      to);
}

std::unique_ptr<Contender> reader(int64_t bytes) {
  auto from = floats(bytes / 4), out = floats(1);
  std::memset(from->data(), 0, from->size());
  return local(
      [from, out] {
        *data(*out) = sum(reinterpret_cast<const Lanes*>(from->data()),
                          static_cast<int64_t>(from->size() / sizeof(Lanes)));
      },
      out);
}

std::unique_ptr<Contender> yardstick(const Yardstick& y, int threads) {
  switch (y.kind) {
    case Yardstick::Kind::copy:
      return copier(y.bytes, threads);
    case Yardstick::Kind::read:
      return reader(y.bytes);
    case Yardstick::Kind::none:
      break;
  }
  return nullptr;
}

double moved_by(const Yardstick& y) {
  return static_cast<double>(y.bytes) * (y.kind == Yardstick::Kind::copy ? 2 : 1);
}

}  // namespace tang::bench_cpu
