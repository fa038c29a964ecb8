// What the dialects whose memory is words spell alike: glsl and wgsl.
#pragma once

#include <functional>
#include <string>

#include "emit/gpu_dialect.h"

namespace tang {

// Where an element of a few bits lies: a word, and how far its bits are shifted in it.
struct Part {
  std::string word, mask, shift;
};
Part part(const std::string& at, int bits,
          const std::function<std::string(const std::string&)>& as_word);

GpuText pair(int64_t value, std::string_view type);

// Decimal where that is exact and short, otherwise from its bits.
GpuText real_by_bits(double value);

}  // namespace tang
