// What a schedule file says of kernels, by name: the fields that it pins. Nothing is resolved yet;
// planning looks names up and keeps to the laws (schedule/legal.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tang {

struct BlockPin {
  std::string dim;
  int64_t step = 1;
};

struct PanelPin {
  std::string axis;  // its name or its number
  int64_t width = 0;
};

struct StagePin {
  std::string tensor;
  int64_t level = 0;
  std::optional<std::vector<std::string>> axes;  // names or numbers, slowest first
  std::optional<PanelPin> panel;
  bool padded = false;
  int64_t phases = 1;
  bool prepared = false;
};

struct TilePin {
  std::string dim;
  int64_t registers = 1;
  int64_t elements = 1;
};

// A field without a value is planned, given those with one.
struct KernelPins {
  std::string kernel;
  std::optional<std::vector<std::string>> inlined;
  std::optional<std::vector<KernelPins>> rows;
  std::optional<std::vector<BlockPin>> blocks;
  std::optional<std::vector<StagePin>> stages;
  std::optional<std::vector<std::string>> points, reduce;
  std::optional<std::vector<TilePin>> tile;
  std::optional<bool> pivot, contract, kept;
  std::optional<int64_t> threads;
  std::optional<std::vector<std::string>> streamed;
  std::optional<std::string> machine;

  // What is pinned of a definition that is computed by rows; nullptr: nothing.
  const KernelPins* row(const std::string& name) const {
    if (rows)
      for (const KernelPins& k : *rows)
        if (k.kernel == name) return &k;
    return nullptr;
  }
};

struct Pins {
  std::string source;  // the file, for messages
  std::vector<KernelPins> kernels;

  const KernelPins* find(const std::string& name) const {
    for (const KernelPins& k : kernels)
      if (k.kernel == name) return &k;
    return nullptr;
  }
};

}  // namespace tang
