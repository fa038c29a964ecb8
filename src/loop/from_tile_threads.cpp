// Threads of a group: the digits of a thread's number, and folds over them.
#include <algorithm>
#include <bit>

#include "loop/from_tile_impl.h"

namespace tang::loop {

namespace {

constexpr int64_t lanes_of_warp = 32;
constexpr size_t bits_at_once = 4;       // of threads that are folded through memory
constexpr int64_t elements_at_once = 8;  // of a thread that are there

// Registers that go through memory at once, of so many lanes and components.
int64_t registers_at_once(int64_t lanes, size_t components) {
  return std::max<int64_t>(1, elements_at_once / (lanes * static_cast<int64_t>(components)));
}

}  // namespace

int64_t TileLowering::thread_stride(const Digit& d) {
  return d.level == Level::lane ? d.stride : d.stride * lanes_of_warp;
}

// Names the digits that placements use: they are coordinates of forms like the indices of loops.
void TileLowering::number_threads() {
  if (threads_ == 1) return;
  for (const tile::NamedPlacement& p : k_.placements)
    for (const Digit& d : p.placement.digits) {
      const std::pair<int64_t, int64_t> key(thread_stride(d), d.extent);
      if (!is_thread(d) || digits_.contains(key)) continue;
      Value v = b.thread();
      if (key.first > 1) v = b.div(v, b.integer(key.first));
      if (key.first * key.second < threads_) v = b.mod(v, b.integer(key.second));
      const auto dim = static_cast<DimId>(k_.indices.size() + digits_.size());
      digits_[key] = dim;
      index_[dim] = b.let("at", v);
      extents_[dim] = key.second;
    }
}

// Shared arrays for folds through memory, each as large as the largest fold wants.
void TileLowering::declare_scratch() {
  std::map<std::pair<size_t, Type>, int64_t> counts;
  for (const tile::Op& op : k_.ops) {
    if (op.kind != tile::OpKind::reduce) continue;
    const std::vector<int64_t> bits = folded_bits(op);
    if (bits.empty() || bits.back() < subgroup_) continue;
    for (size_t c = 0; c < op.results.size(); ++c) {
      const tile::Type& type = k_[op.results[c]].type;
      int64_t& count = counts[{c, compute_type(type.format)}];
      const int64_t width = lanes(type.placement);
      count = std::max(count, threads_ * width *
                                  std::min(static_cast<int64_t>(registers(type.placement)),
                                           registers_at_once(width, op.results.size())));
    }
  }
  for (const auto& [key, count] : counts) scratch_[key] = b.array("fold", key.second, count, true);
}

// Of threads that hold the same, whether this one is the first; nothing if none do.
std::optional<Value> TileLowering::leads(const tile::NamedPlacement& at) {
  std::optional<Value> all;
  for (const Digit& d : at.placement.digits) {
    if (!is_thread(d) || d.use != Use::replica) continue;
    const Value digit = index_.at(digits_.at({thread_stride(d), d.extent}));
    const Value one = b.eq(digit, b.integer(0));
    all = all ? b.logical_and(*all, one) : one;
  }
  return all;
}

// The bits of a thread's number that a reduction folds, least first.
std::vector<int64_t> TileLowering::folded_bits(const tile::Op& op) const {
  const tile::NamedPlacement& from = k_[k_[op.args[0]].type.placement];
  std::vector<int64_t> bits;
  for (const Digit& d : from.placement.digits) {
    if (!is_thread(d) || d.use != Use::index) continue;
    const DimId axis = from.axes[d.terms[0].axis];
    if (std::find(op.over.begin(), op.over.end(), axis) == op.over.end()) continue;
    for (int64_t bit = 1; bit < d.extent; bit *= 2) bits.push_back(bit * thread_stride(d));
  }
  std::sort(bits.begin(), bits.end());
  return bits;
}

// Folds what threads hold along the summed axes; all of them get the result. Threads of a warp
// exchange values if the machine lets them, others go through shared memory, some bits at a time.
void TileLowering::across_threads(const tile::Op& op, std::vector<std::vector<Value>>& results) {
  if (threads_ == 1) return;
  std::vector<int64_t> bits = folded_bits(op);
  const tile::Monoid& m = k_[op.monoid];
  size_t done = 0;
  while (done < bits.size() && bits[done] < subgroup_) exchange(m, results, bits[done++]);
  for (; done < bits.size(); done += bits_at_once)
    through_memory(m, results,
                   std::span(bits).subspan(done, std::min(bits_at_once, bits.size() - done)));
}

void TileLowering::exchange(const tile::Monoid& m, std::vector<std::vector<Value>>& results,
                            int64_t bit) {
  for (size_t r = 0; r < results[0].size(); ++r) {
    std::vector<Value> mine, other;
    for (std::vector<Value>& component : results) {
      mine.push_back(b.let("mine", component[r]));
      other.push_back(b.exchange("other", mine.back(), bit));
    }
    const std::vector<Value> next = combined(m, mine, other);
    for (size_t c = 0; c < results.size(); ++c) results[c][r] = next[c];
  }
}

// Every thread writes what it has, some registers at a time, and reads what the threads have whose
// numbers differ in these bits.
void TileLowering::through_memory(const tile::Monoid& m, std::vector<std::vector<Value>>& results,
                                  std::span<const int64_t> bits) {
  const int width = b.lanes(results[0][0]);
  const auto registers = static_cast<int64_t>(results[0].size());
  const int64_t most = registers_at_once(width, results.size());
  std::vector<Array> arrays;
  for (size_t c = 0; c < results.size(); ++c)
    arrays.push_back(scratch_.at({c, b.type(results[c][0])}));
  // The thread's number with zeros at these bits.
  Value first{};
  for (int64_t from = 0; from < registers; from += most) {
    const int64_t to = std::min(registers, from + most);
    const auto place = [&](Value thread, int64_t r, int64_t e) {
      return b.add(thread, b.integer(((r - from) * width + e) * threads_));
    };
    b.barrier();
    for (size_t c = 0; c < results.size(); ++c)
      for (int64_t r = from; r < to; ++r)
        for (int64_t e = 0; e < width; ++e) {
          const Value x = results[c][static_cast<size_t>(r)];
          b.set(arrays[c], place(b.thread(), r, e), width == 1 ? x : b.lane(x, e));
        }
    b.barrier();
    if (from == 0) {
      first = b.thread();
      for (const int64_t bit : bits) {
        const Value one = b.mod(b.div(b.thread(), b.integer(bit)), b.integer(2));
        first = b.sub(first, b.mul(one, b.integer(bit)));
      }
      first = b.let("first", first);
    }
    for (int64_t r = from; r < to; ++r) {
      std::vector<std::vector<Value>> terms;
      for (int64_t n = 0; n < int64_t{1} << bits.size(); ++n) {
        int64_t offset = 0;
        for (size_t k = 0; k < bits.size(); ++k) offset += (n >> k & 1) * bits[k];
        std::vector<Value> term;
        for (size_t c = 0; c < results.size(); ++c) {
          std::vector<Value> parts;
          for (int64_t e = 0; e < width; ++e)
            parts.push_back(
                b.let("part", b.at(arrays[c], place(b.add(first, b.integer(offset)), r, e))));
          term.push_back(joined(std::move(parts)));
        }
        terms.push_back(std::move(term));
      }
      const std::vector<Value> all = tree(m, std::move(terms));
      for (size_t c = 0; c < results.size(); ++c) results[c][static_cast<size_t>(r)] = all[c];
    }
  }
}

}  // namespace tang::loop
