// What a device offers to kernels: the record that emission legalises by and schedules keep to.
//
// A record is the least that every device of its target has, until a driver says what the one at
// hand has, or `--limits FILE` what one that is absent has (language.md "Emission").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "base/format.h"

namespace tang {

// Languages of kernels that groups of threads run.
enum class Dialect : uint8_t { cuda, opencl, glsl, wgsl, msl };
std::string_view name(Dialect dialect);  // "cuda"
std::optional<Dialect> parse_dialect(std::string_view name);
std::string_view suffix(Dialect dialect);  // of source files: ".cu" ".cl" ".comp" ".wgsl" ".metal"

struct Capability {
  Dialect dialect = Dialect::opencl;
  std::string device;        // what the driver calls it; empty: none is open
  std::string architecture;  // "sm_90a", where kernels are compiled for one

  int64_t threads = 256;              // of a group, at most
  int64_t shared_bytes = 16384;       // of a group, at most
  int64_t buffers = 8;                // of a kernel, at most
  int64_t binding_bytes = 128 << 20;  // of one buffer as a kernel sees it, at most
  int64_t groups = 65535;             // of a launch, at most
  int64_t subgroup = 0;               // threads that run together and exchange values; 0: none

  bool f64 = false;  // computed in
  bool i64 = false;  // computed in; otherwise a pair of 32 bits
  bool f16 = false;  // loaded and stored; otherwise moved by bits
  bool narrow_words =
      false;  // memory is addressed in bytes and pairs of them, not words of 32 bits
  bool wide_addresses = false;  // more than 2^31 elements of one buffer
  int64_t vector_bytes = 16;    // the widest access of a thread

  std::string machine;  // the record of machines.def that schedules are chosen by
};

// The least that devices of a dialect offer.
Capability least(Dialect dialect);

// `base` with the fields of a limits file, a JSON object with any of `threads shared_bytes buffers
// binding_bytes groups f16 subgroup`. Errors, exit 2: E0807 with the file and the field.
Result<Capability> with_limits(Capability base, std::string_view json, const std::string& file);

}  // namespace tang
