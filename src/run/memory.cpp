#include "run/memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tang {

namespace {

using loop::BufferId;
using loop::Role;

// Saturating, so that a sum of impossible sizes stays impossible.
void add_bytes(int64_t& total, int64_t bytes) {
  if (__builtin_add_overflow(total, bytes, &total)) total = INT64_MAX;
}

int64_t bytes_of(const loop::Buffer& b, std::span<const int64_t> symbols) {
  const auto count = b.count.evaluate(symbols);
  return count ? bytes_for(b.format, *count).value_or(INT64_MAX) : INT64_MAX;
}

bool has_into(const LoopProgram& p, size_t input) {
  return std::any_of(p.buffers.begin(), p.buffers.end(), [&](const loop::Buffer& b) {
    return b.into && loop::index(*b.into) == input;
  });
}

}  // namespace

Result<ProgramMemory> ProgramMemory::make(const LoopProgram& program,
                                          std::span<const int64_t> symbols,
                                          const std::vector<Array*>& inputs, Workspace workspace,
                                          int64_t joined_bytes) {
  const bool separate = workspace == Workspace::separate;
  const auto owns = [&](size_t k) {
    const loop::Buffer& b = program.buffers[k];
    if (b.role == Role::input) return separate && has_into(program, k);
    if (b.role == Role::output) return !b.into;
    if (b.role == Role::prepared) return true;
    return separate;
  };
  int64_t total = separate ? 0 : joined_bytes;
  std::string largest = "the workspace";
  int64_t most = total;
  for (size_t k = 0; k < program.buffers.size(); ++k) {
    if (!owns(k)) continue;
    const int64_t bytes = bytes_of(program.buffers[k], symbols);
    add_bytes(total, bytes);
    if (bytes > most) {
      most = bytes;
      largest = fmt::format("`{}`", program.buffers[k].name);
    }
  }
  if (total > memory_limit())
    return tl::unexpected(out_of_memory(fmt::format("this program, {} most of all,", largest),
                                        fmt::format("{} bytes", total)));
  ProgramMemory m;
  m.arrays_.assign(program.buffers.size(), nullptr);
  m.poisoned_.assign(program.buffers.size(), false);
  size_t input = 0;
  for (size_t k = 0; k < program.buffers.size(); ++k) {
    const loop::Buffer& b = program.buffers[k];
    Array* given = b.role == Role::input ? inputs[input++] : nullptr;
    if (owns(k)) {
      auto array = make_array(b.format, {b.count.evaluate(symbols).value_or(-1)});
      if (!array) return tl::unexpected(array.error());
      if (given) {
        array->shape = given->shape;
        if (given->data.size() > 0)
          std::memcpy(array->data.data(), given->data.data(), given->data.size());
      }
      m.arrays_[k] = &(m.owned_[static_cast<uint32_t>(k)] = std::move(*array));
    } else {
      m.arrays_[k] = b.into ? m.arrays_[loop::index(*b.into)] : given;
    }
  }
  if (!separate && joined_bytes > 0) {
    auto block = Buffer::allocate(static_cast<size_t>(joined_bytes));
    if (!block)
      return tl::unexpected(out_of_memory("the workspace", fmt::format("{} bytes", joined_bytes)));
    m.block_ = std::move(*block);
    m.workspace_ = m.block_.data();
  }
  for (Array* a : m.arrays_) m.buffers_.push_back(a ? a->data.data() : nullptr);
  for (BufferId id : program.arguments()) m.arguments_.push_back(m.buffers_[loop::index(id)]);
  for (size_t k = 0; k < program.buffers.size(); ++k)
    m.poisoned_[k] = owns(k) && program.buffers[k].role != Role::input;
  return m;
}

int ProgramMemory::poison_byte(Format format) { return kind(format) == Kind::real ? 0xff : 0xa5; }

void ProgramMemory::poison() {
  for (size_t k = 0; k < arrays_.size(); ++k)
    if (poisoned_[k] && arrays_[k]->data.size() > 0)
      std::memset(arrays_[k]->data.data(), poison_byte(arrays_[k]->format),
                  arrays_[k]->data.size());
}

int64_t ProgramMemory::unwritten(BufferId id) const {
  const size_t k = loop::index(id);
  if (!poisoned_[k]) return -1;
  const Array& a = *arrays_[k];
  const int width = info(a.format).bits / 8;
  if (width == 0) return -1;
  const auto byte = static_cast<std::byte>(poison_byte(a.format));
  int64_t count = 0;
  for (int64_t e = 0; e < a.elements(); ++e) {
    const std::byte* at = a.data.data() + e * width;
    count += std::all_of(at, at + width, [&](std::byte x) { return x == byte; });
  }
  return count;
}

}  // namespace tang
