#include "emit/workspace.h"

#include <algorithm>

namespace tang {

namespace {

using loop::BufferId;

bool fits_before(const Extent& end, const Extent& begin) {
  if (end.constant > begin.constant) return false;
  for (size_t k = 0; k < end.count.size(); ++k) {
    if (end.count[k] > begin.count[k]) return false;
  }
  return true;
}

Extent larger(const Extent& a, const Extent& b) {
  Extent result = a;
  result.constant = std::max(a.constant, b.constant);
  for (size_t k = 0; k < b.count.size(); ++k) {
    result.count[k] = std::max(a.count[k], b.count[k]);
  }
  return result;
}

// Buffers of equal size count as one, so that one can take the other's place.
size_t size_class(const loop::Program& program, size_t buffer) {
  const auto& wanted = program.buffers[buffer];
  for (size_t k = 0; k < buffer; ++k) {
    const auto& b = program.buffers[k];
    const bool alike = b.role == loop::Role::workspace && b.count == wanted.count &&
                       info(b.format).bits == info(wanted.format).bits;
    if (alike) return k;
  }
  return buffer;
}

Extent after(const loop::Program& program, Extent offset, BufferId id) {
  const auto& buffer = program[id];
  if (const auto count = buffer.count.constant()) {
    offset.constant += std::max<int64_t>(0, aligned_bytes(buffer.format, *count));
  } else {
    ++offset.count[size_class(program, index(id))];
  }
  return offset;
}

std::vector<WorkspacePlan::Place> lifetimes(const loop::Program& program) {
  std::vector<WorkspacePlan::Place> places;
  const auto touch = [&](BufferId id, size_t kernel) {
    if (program[id].role != loop::Role::workspace) return;
    for (auto& p : places) {
      if (p.buffer == id) {
        p.last = kernel;
        return;
      }
    }
    places.push_back({id, kernel, kernel, {}, {}});
  };
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    for (BufferId id : program.kernels[k].writes) touch(id, k);
    for (BufferId id : program.kernels[k].reads) touch(id, k);
  }
  return places;
}

}  // namespace

int64_t aligned_bytes(Format format, int64_t count) {
  const auto bytes = bytes_for(format, count);
  if (!bytes || *bytes > INT64_MAX - 63) return -1;
  return (*bytes + 63) / 64 * 64;
}

WorkspacePlan plan_workspace(const loop::Program& program) {
  WorkspacePlan plan;
  plan.places = lifetimes(program);
  const Extent zero{0, std::vector<int64_t>(program.buffers.size(), 0)};
  for (size_t n = 0; n < plan.places.size(); ++n) {
    auto& place = plan.places[n];
    std::vector<const WorkspacePlan::Place*> conflicts;
    for (size_t k = 0; k < n; ++k) {
      if (plan.places[k].last >= place.first) conflicts.push_back(&plan.places[k]);
    }
    std::vector<Extent> candidates = {zero};
    Extent top = zero;
    for (const auto* c : conflicts) {
      candidates.push_back(c->end);
      top = larger(top, c->end);
    }
    candidates.push_back(top);  // above all of them: always free
    for (const Extent& offset : candidates) {
      const Extent end = after(program, offset, place.buffer);
      const bool free = std::all_of(conflicts.begin(), conflicts.end(), [&](const auto* c) {
        return fits_before(end, c->offset) || fits_before(c->end, offset);
      });
      if (!free) continue;
      place.offset = offset;
      place.end = end;
      break;
    }
  }
  return plan;
}

WorkspaceSizes measure(const loop::Program& program, const WorkspacePlan& plan,
                       const std::vector<int64_t>& symbols) {
  const auto value = [&](const Extent& e) {
    int64_t total = e.constant;
    for (size_t k = 0; k < e.count.size(); ++k) {
      if (e.count[k] == 0) continue;
      const auto& b = program.buffers[k];
      total += e.count[k] * aligned_bytes(b.format, b.count.evaluate(symbols).value_or(0));
    }
    return total;
  };
  WorkspaceSizes sizes;
  for (const auto& p : plan.places) {
    sizes.offsets.push_back(value(p.offset));
    sizes.total = std::max(sizes.total, value(p.end));
  }
  return sizes;
}

}  // namespace tang
