#include "probe/memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "probe/values.h"
#include "target/canonical.h"

namespace tang::probe {

namespace {

constexpr std::byte poison{0xcb};

int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

// Puts the low bits of an element at a byte.
void put(std::vector<std::byte>& to, int64_t at, uint64_t bits, int64_t size) {
  std::memcpy(to.data() + at, &bits, static_cast<size_t>(size));
}

// Where an operand in shared memory lies: bytes from the image's first to each of its elements.
struct Placed {
  std::vector<std::vector<int64_t>> bytes;  // of each instance
  std::array<uint32_t, 128> offsets{};      // that threads give
  uint64_t descriptor = 0;
};

class Builder {
 public:
  Builder(const Plan& plan, const Case& c)
      : plan_(plan), c_(c), kernel_(plan.kernel(c)), row_(*kernel_.row), v_(make_values(plan, c)) {}

  Result<Memory> memory() {
    m_.args.status = area("status", 4);
    put(m_.before, 0, 0, 4);
    for (size_t i = 0; i < row_.operands.size(); ++i) {
      const Space s = row_.operands[i].spaces[0];
      const Result<void> done = s == Space::reg      ? add_registers(i)
                                : s == Space::global ? add_global(i)
                                                     : add_shared(i);
      if (!done) return tl::unexpected(done.error());
    }
    m_.after = m_.before;
    add_images();
    for (const auto& [to, bits, size] : results_) put(m_.after, to, bits, size);
    set_numbers();
    return std::move(m_);
  }

 private:
  Format format(size_t i) const { return plan_.format(c_, row_.operands[i]); }
  int64_t size(size_t i) const { return info(format(i)).bits / 8; }
  bool is_result(size_t i) const { return row_.computes.result && *row_.computes.result == i; }
  Point box(size_t i) const { return row_.box(row_.operands[i], c_.sizes); }

  uint64_t area(std::string name, int64_t bytes, int64_t row_bytes = 0, int64_t word_bytes = 4) {
    const int64_t from = static_cast<int64_t>(m_.before.size());
    m_.before.resize(static_cast<size_t>(from + round_up(bytes, 256)), poison);
    m_.areas.push_back({std::move(name), from, bytes, row_bytes, word_bytes});
    return static_cast<uint64_t>(from);
  }

  // ---- registers --------------------------------------------------------------------------------

  Result<void> add_registers(size_t i) {
    const Operand& o = row_.operands[i];
    const auto p = row_.holds(o, c_.sizes);
    if (!p) return tl::unexpected(p.error());
    const int64_t word_bytes = word(o.formats[0]).bytes;
    const int64_t thread_bytes = word_bytes * p->count(Level::reg);
    const int64_t bytes = thread_bytes * kernel_.threads();
    m_.args.registers[i] = area("registers of " + o.name, bytes, thread_bytes, word_bytes);
    if (is_result(i))
      m_.args.registers_out = area(o.name + " in registers", bytes, thread_bytes, word_bytes);
    for (int64_t t = 0; t < instances(row_); ++t)
      for (int64_t k = 0; k < p->positions(); ++k) {
        const Position at = p->position(k);
        const int64_t n = number_of(box(i), p->coordinates(at));
        const int64_t thread =
            t + 32 * at[static_cast<size_t>(Level::warp)] + at[static_cast<size_t>(Level::lane)];
        const int64_t byte = thread * thread_bytes +
                             at[static_cast<size_t>(Level::reg)] * word_bytes +
                             at[static_cast<size_t>(Level::elem)] * size(i);
        put(m_.before, static_cast<int64_t>(m_.args.registers[i]) + byte, v_.before[i][t][n],
            size(i));
        if (is_result(i))
          add_result(static_cast<int64_t>(m_.args.registers_out) + byte, n, v_.result[t][n],
                     size(i));
      }
    return {};
  }

  // ---- global memory ----------------------------------------------------------------------------

  // Threads that run a row by themselves have their bytes in another order than their own.
  static int64_t slot(int64_t thread) { return (thread * 5 + 3) % 32; }

  uint64_t offsets(const std::array<uint32_t, 128>& list) {
    const uint64_t at = area("offsets", sizeof list);
    std::memcpy(m_.before.data() + at, list.data(), sizeof list);
    return at;
  }

  Result<void> add_global(size_t i) {
    if (has_map(row_)) return add_tensor(i);
    const Operand& o = row_.operands[i];
    const int64_t bytes = element_count(box(i)) * size(i), pitch = round_up(bytes, o.align);
    const bool many = instances(row_) > 1;
    m_.args.global[i] = area(o.name, pitch * 32);
    std::array<uint32_t, 128> list{};
    for (int64_t t = 0; t < instances(row_); ++t) {
      const int64_t from = many ? slot(t) * pitch : 0;
      list[t] = static_cast<uint32_t>(from);
      for (int64_t k = 0; k < element_count(box(i)); ++k)
        add_element(i, t, k, static_cast<int64_t>(m_.args.global[i]) + from + k * size(i));
    }
    m_.args.offsets[i] = offsets(list);
    return {};
  }

  void add_element(size_t i, int64_t t, int64_t k, int64_t byte) {
    put(m_.before, byte, v_.before[i][t][k], size(i));
    if (is_result(i)) add_result(byte, k, v_.result[t][k], size(i));
  }

  void add_result(int64_t byte, int64_t number, uint64_t bits, int64_t size) {
    results_.push_back({byte, bits, size});
    if (static_cast<int64_t>(m_.result_at.size()) <= number) m_.result_at.resize(number + 1, -1);
    m_.result_at[number] = byte;
  }

  Result<void> add_tensor(size_t i) {
    const Operand& o = row_.operands[i];
    MapFields map;
    map.format = format(i);
    map.nan_fill = c_.nan_fill;
    for (const Lie& lie : c_.lies) map.span = std::max(map.span, lie.span);
    std::vector<int64_t> strides{size(i)};
    int64_t pitch = round_up(c_.extents[0] * size(i), 16) + 16;
    for (size_t a = 0; a < c_.extents.size(); ++a) {
      map.extents.push_back(static_cast<uint64_t>(c_.extents[a]));
      map.box.push_back(static_cast<uint32_t>(c_.sizes[a]));
      m_.args.coordinates[a] = static_cast<int32_t>(c_.at[a]);
      if (a + 1 == c_.extents.size()) break;
      map.strides.push_back(static_cast<uint64_t>(pitch));
      strides.push_back(pitch);
      pitch *= c_.extents[a + 1];
    }
    map.base = area(o.name, pitch);
    m_.map = map;
    fill_tensor(i, static_cast<int64_t>(map.base), strides);
    return {};
  }

  // Whether the row touches the element of the box: elements inside, and those that a store does
  // not leave out.
  bool touched(size_t i, const Point& x) const {
    for (size_t a = 0; a < x.size(); ++a) {
      const int64_t at = c_.at[a] + x[a];
      const int64_t in_group = row_.operands[i].clips && a == 0 ? 16 / size(i) : 1;
      if (at < 0 || at >= round_up(c_.extents[a], in_group)) return false;
    }
    return true;
  }

  // All elements of the tensor from the same values as the box, which is then put into it.
  void fill_tensor(size_t i, int64_t base, const std::vector<int64_t>& strides) {
    const auto byte = [&](const Point& x) {
      int64_t at = base;
      for (size_t a = 0; a < x.size(); ++a) at += x[a] * strides[a];
      return at;
    };
    const std::vector<uint64_t>& some = v_.before[i][0];
    for (int64_t k = 0; k < element_count(c_.extents); ++k)
      put(m_.before, byte(point_of(c_.extents, k)), some[(k * 7 + 5) % some.size()], size(i));
    for (int64_t k = 0; k < element_count(box(i)); ++k) {
      Point x = point_of(box(i), k);
      if (!touched(i, x)) continue;
      for (size_t a = 0; a < x.size(); ++a) x[a] += c_.at[a];
      add_element(i, 0, k, byte(x));
    }
  }

  // ---- shared memory ----------------------------------------------------------------------------

  Result<void> add_shared(size_t i) {
    Placed placed;
    image_bytes_ = round_up(image_bytes_, smem_align);
    const Result<void> done = row_.operands[i].addresses          ? place_rows(i, placed)
                              : !row_.operands[i].layouts.empty() ? place_layout(i, placed)
                                                                  : place_plain(i, placed);
    if (!done) return done;
    int64_t end = image_bytes_;
    for (const std::vector<int64_t>& list : placed.bytes)
      for (int64_t b : list) end = std::max(end, b + size(i));
    image_bytes_ = round_up(end + 256, 256);
    m_.args.offsets[i] = offsets(placed.offsets);
    m_.args.descriptors[i] = placed.descriptor;
    shared_.emplace_back(i, std::move(placed));
    return {};
  }

  Result<void> place_plain(size_t i, Placed& placed) {
    const int64_t count = element_count(box(i));
    const int64_t pitch = round_up(count * size(i), row_.operands[i].align);
    for (int64_t t = 0; t < instances(row_); ++t) {
      const int64_t from = image_bytes_ + (instances(row_) > 1 ? slot(31 - t) * pitch : 0);
      placed.offsets[t] = static_cast<uint32_t>(from);
      placed.bytes.emplace_back();
      for (int64_t k = 0; k < count; ++k) placed.bytes.back().push_back(from + k * size(i));
    }
    return {};
  }

  // Rows of bytes at addresses that lanes give.
  Result<void> place_rows(size_t i, Placed& placed) {
    const Operand& o = row_.operands[i];
    const auto p = row_.addresses(o, c_.sizes);
    if (!p) return tl::unexpected(p.error());
    for (int64_t lane = 0; lane < 32; ++lane)
      placed.offsets[lane] = static_cast<uint32_t>(image_bytes_ + slot(lane) * 16);
    placed.bytes.emplace_back(element_count(box(i)), 0);
    for (int64_t k = 0; k < p->positions(); ++k) {
      const Position at = p->position(k);
      Point x = p->coordinates(at);
      for (int64_t e = 0; e < o.bytes_per_address / size(i); ++e) {
        x.back() = e;
        placed.bytes[0][number_of(box(i), x)] =
            placed.offsets[at[static_cast<size_t>(Level::lane)]] + e * size(i);
      }
    }
    return {};
  }

  // Byte offsets of a descriptor for a tile without gaps.
  struct Offsets {
    int64_t leading = 16, stride = 16;
  };

  Result<Offsets> packed(const Layout& layout, const Lie& lie, size_t i) const {
    Offsets result;
    const auto open = layout_storage(layout, box(i), size(i), lie.span, -1, -2);
    if (!open) return tl::unexpected(open.error());
    int64_t next = 8 * std::max<int64_t>(lie.span, 16);
    // The folded axis steps first.
    for (uint32_t axis : {1u, 0u})
      for (const StorageDigit& d : open->digits) {
        if (d.of.axis != axis || d.bytes >= 0) continue;
        (d.bytes == -1 ? result.leading : result.stride) = next;
        next *= (box(i)[axis] + d.of.stride - 1) / d.of.stride;
      }
    return result;
  }

  Result<void> place_layout(size_t i, Placed& placed) {
    const Lie& lie = c_.lies[i];
    const Layout& layout = plan_.tables->layouts[lie.layout];
    const bool is_matrix = row_.scope == Scope::warpgroup;
    Offsets offsets;
    if (is_matrix) {
      const auto found = packed(layout, lie, i);
      if (!found) return tl::unexpected(found.error());
      offsets = *found;
    }
    auto s = layout_storage(layout, box(i), size(i), lie.span, offsets.leading, offsets.stride);
    if (!s) return tl::unexpected(s.error());
    s->swizzle = span_swizzle(lie.span);
    s->origin = lie.shift;
    placed.bytes.emplace_back();
    for (int64_t k = 0; k < element_count(box(i)); ++k)
      placed.bytes[0].push_back(image_bytes_ + s->address(point_of(box(i), k)));
    placed.offsets.fill(static_cast<uint32_t>(image_bytes_ + lie.shift));
    const uint64_t mode = lie.span == 0 ? 0 : lie.span == 128 ? 1 : lie.span == 64 ? 2 : 3;
    placed.descriptor = static_cast<uint64_t>(image_bytes_ + lie.shift) >> 4 |
                        static_cast<uint64_t>(offsets.leading >> 4) << 16 |
                        static_cast<uint64_t>(offsets.stride >> 4) << 32 | mode << 62;
    return {};
  }

  // The images before and after, once all operands have their places.
  void add_images() {
    m_.args.shared_bytes = static_cast<uint32_t>(image_bytes_);
    std::vector<std::byte> in(image_bytes_, poison);
    for (const auto& [i, placed] : shared_)
      for (size_t t = 0; t < placed.bytes.size(); ++t)
        for (size_t k = 0; k < placed.bytes[t].size(); ++k)
          put(in, placed.bytes[t][k], v_.before[i][t][k], size(i));
    std::vector<std::byte> out = in;
    for (const auto& [i, placed] : shared_)
      if (is_result(i)) finish(i, placed, out);
    m_.args.shared_in = area("image of shared memory", image_bytes_);
    std::copy(in.begin(), in.end(), m_.before.begin() + static_cast<int64_t>(m_.args.shared_in));
    m_.args.shared_out = area("shared memory", image_bytes_ * kernel_.blocks());
    m_.after = m_.before;
    for (uint32_t block = 0; block < kernel_.blocks(); ++block) {
      const std::vector<std::byte>& image = receives(block) ? out : in;
      std::copy(image.begin(), image.end(),
                m_.after.begin() + static_cast<int64_t>(m_.args.shared_out) +
                    static_cast<int64_t>(block) * image_bytes_);
    }
  }

  bool receives(uint32_t block) const {
    for (const Operand& o : row_.operands)
      if (o.spaces[0] == Space::cluster_shared && !o.multicast) return block == 1;
    return true;
  }

  void finish(size_t i, const Placed& placed, std::vector<std::byte>& out) const {
    for (size_t t = 0; t < placed.bytes.size(); ++t)
      for (size_t k = 0; k < placed.bytes[t].size(); ++k)
        put(out, placed.bytes[t][k], filled(i, t, k), size(i));
  }

  // The result's element, or what is read in its stead.
  uint64_t filled(size_t i, size_t t, size_t k) const {
    if (has_map(row_)) {
      if (touched(i, point_of(box(i), static_cast<int64_t>(k)))) return v_.result[t][k];
      return c_.nan_fill ? uint64_t{0x7ff77ff7} : 0;
    }
    const bool inside = c_.bytes == 0 || static_cast<int64_t>(k) * size(i) < c_.bytes;
    return inside ? v_.result[t][k] : 0;
  }

  void set_numbers() {
    m_.shared_bytes = m_.args.shared_bytes + 64;
    m_.args.barrier = m_.args.shared_bytes;
    m_.args.keep = v_.keep;
    m_.args.by = static_cast<int32_t>(c_.by);
    const size_t last = row_.operands.size() - 1;
    const int64_t bytes = element_count(box(last)) * size(last);
    m_.args.bytes = static_cast<uint32_t>(c_.bytes > 0 ? c_.bytes : bytes);
    m_.args.expect = static_cast<uint32_t>(bytes);
  }

  struct Put {
    int64_t at;
    uint64_t bits;
    int64_t size;
  };

  const Plan& plan_;
  const Case& c_;
  const Kernel& kernel_;
  const Row& row_;
  Values v_;
  Memory m_;
  int64_t image_bytes_ = 0;
  std::vector<std::pair<size_t, Placed>> shared_;
  std::vector<Put> results_;  // elements outside the image that the row writes
};

std::string describe(const Area& a, int64_t at, uint64_t found, uint64_t wanted) {
  const int64_t k = (at - a.from) / a.word_bytes * a.word_bytes;
  std::string place = a.row_bytes > 0 ? fmt::format("thread {} register {}", k / a.row_bytes,
                                                    k % a.row_bytes / a.word_bytes)
                                      : fmt::format("byte {}", k);
  return fmt::format("{}, {}: {:0{w}x}, not {:0{w}x}", a.name, place, found, wanted,
                     fmt::arg("w", 2 * a.word_bytes));
}

}  // namespace

void Memory::relocate(uint64_t base) {
  args.status += base;
  for (int i = 0; i < operands_most; ++i) {
    args.registers[i] += base;
    args.global[i] += base;
    args.offsets[i] += base;
  }
  args.registers_out += base;
  args.shared_in += base;
  args.shared_out += base;
  if (map) map->base += base;
}

std::string Memory::difference(const std::vector<std::byte>& found) const {
  if (found.size() == after.size() && std::memcmp(found.data(), after.data(), found.size()) == 0)
    return {};
  int64_t count = 0, first = -1;
  for (size_t k = 0; k < std::min(found.size(), after.size()); ++k)
    if (found[k] != after[k]) {
      ++count;
      if (first < 0) first = static_cast<int64_t>(k);
    }
  if (first < 0) return "sizes of memory differ";
  Area a;
  for (const Area& other : areas)
    if (other.from <= first) a = other;
  const int64_t at = a.from + (first - a.from) / a.word_bytes * a.word_bytes;
  uint64_t is = 0, wanted = 0;
  std::memcpy(&is, found.data() + at, static_cast<size_t>(a.word_bytes));
  std::memcpy(&wanted, after.data() + at, static_cast<size_t>(a.word_bytes));
  return fmt::format("{} bytes differ, first {}", count, describe(a, first, is, wanted));
}

Result<Memory> make_memory(const Plan& plan, const Case& c) { return Builder(plan, c).memory(); }

}  // namespace tang::probe
