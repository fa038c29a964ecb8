// A row of the instruction tables as a CUDA kernel that runs it once.
#pragma once

#include <array>

#include "probe/args.h"
#include "target/table.h"

namespace tang::probe {

// Kernels of the same name are the same.
struct Kernel {
  const Row* row = nullptr;
  Sizes sizes;
  std::array<int, operands_most> trans{};        // {a.trans} of each operand
  std::array<int, operands_most> sign{1, 1, 1};  // {a.sign}

  std::string name() const;
  uint32_t threads() const;
  uint32_t blocks() const;  // of its one cluster
};

// A word of registers in C: its type, and its bytes.
struct Word {
  std::string type;
  char constraint = 'r';
  int64_t bytes = 4;
};
Word word(Format format);

// Whether the row's boxes come through a tensor map.
bool has_map(const Row& row);
// Registers of an operand, in one thread.
int64_t register_count(const Row& row, const Operand& operand, const Sizes& sizes);

std::string kernel_text(const Kernel& kernel);
// A file of kernels.
std::string file_text(const std::vector<Kernel>& kernels);

}  // namespace tang::probe
