#include "target/canonical.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tang {

namespace {

// Stand for offsets that are not known yet; no digit of a layout has such bytes otherwise.
constexpr int64_t unknown_leading = -1, unknown_stride = -2;
// A descriptor has 14 bits for an offset in units of 16 bytes.
constexpr int64_t offset_unit = 16, offset_end = 16 << 14;

Names layout_names(const Layout& layout, const Point& box, int64_t element, int64_t span,
                   int64_t leading, int64_t stride) {
  return [=, axes = layout.axes](std::string_view name) -> std::optional<int64_t> {
    if (name == "size") return element;
    if (name == "T") return 16 / element;
    if (name == "span") return span;
    if (name == "S") return span / element;
    if (name == "lbo") return leading;
    if (name == "sbo") return stride;
    for (size_t a = 0; a < axes.size(); ++a)
      if (axes[a] == name) return box[a];
    return std::nullopt;
  };
}

// One tile compared with one layout.
class Comparison {
 public:
  Comparison(const Layout& layout, Storage storage, const Point& at, const Point& box,
             int64_t element, int64_t span)
      : layout_(layout), storage_(std::move(storage)), at_(at), box_(box), element_(element) {
    found.span = span;
    storage_.swizzle = {};
    found.start = storage_.address(at);
  }

  // Empty if the tile lies so.
  std::string fault() {
    const auto open =
        layout_storage(layout_, box_, element_, found.span, unknown_leading, unknown_stride);
    if (!open) return open.error().message;
    if (found.start % offset_unit != 0) return fmt::format("it starts at byte {}", found.start);
    if (std::string wrong = run_fault(*open); !wrong.empty()) return wrong;
    for (const StorageDigit& d : open->digits) {
      if (d.bytes != unknown_leading && d.bytes != unknown_stride) continue;
      int64_t& offset = d.bytes == unknown_leading ? found.leading : found.stride;
      if (d.of.stride >= box_[d.of.axis]) continue;
      offset = step(d.of.axis, d.of.stride);
      if (offset < 0 || offset % offset_unit != 0 || offset >= offset_end)
        return fmt::format("{} bytes from {} {} to the next", offset, d.of.stride,
                           layout_.axes[d.of.axis]);
    }
    return difference();
  }

  Canonical found;

 private:
  int64_t step(uint32_t axis, int64_t by) const {
    Point x = at_;
    x[axis] += by;
    return storage_.address(x) - found.start;
  }

  // With a swizzle, what runs through consecutive bytes stays inside one span.
  std::string run_fault(const Storage& open) const {
    for (const StorageDigit& d : open.digits)
      if (d.of.axis == layout_.major && d.of.extent == 0 && d.bytes == element_ && found.span > 0 &&
          box_[layout_.major] * element_ > found.span)
        return fmt::format("{} {} are wider than {} bytes", box_[layout_.major],
                           layout_.axes[layout_.major], found.span);
    return {};
  }

  // The first element that lies elsewhere.
  std::string difference() const {
    const auto closed =
        layout_storage(layout_, box_, element_, found.span, found.leading, found.stride);
    if (!closed) return closed.error().message;
    int64_t total = 1;
    for (int64_t e : box_) total *= e;
    for (int64_t k = 0; k < total; ++k) {
      Point x(box_.size());
      int64_t rest = k;
      for (size_t a = box_.size(); a-- > 0; rest /= box_[a]) x[a] = rest % box_[a];
      Point there = at_;
      for (size_t a = 0; a < x.size(); ++a) there[a] += x[a];
      const int64_t is = storage_.address(there) - found.start, wanted = closed->address(x);
      if (is != wanted)
        return fmt::format("element ({}) is {} bytes from the first, not {}", fmt::join(x, ", "),
                           is, wanted);
    }
    return {};
  }

  const Layout& layout_;
  Storage storage_;  // without its swizzle
  const Point& at_;
  const Point& box_;
  int64_t element_;
};

// The bytes of the span that a swizzle permutes, if it is one of those with a span.
std::optional<int64_t> span_of(const Swizzle& swizzle) {
  if (swizzle.bits == 0) return 0;
  for (int64_t span : {32, 64, 128})
    if (swizzle == span_swizzle(span)) return span;
  return std::nullopt;
}

}  // namespace

Result<Storage> layout_storage(const Layout& layout, const Point& box, int64_t element,
                               int64_t span, int64_t leading, int64_t stride) {
  return parse_storage(layout.text, layout.axes,
                       layout_names(layout, box, element, span, leading, stride));
}

Result<Canonical> canonical(const Tables& tables, const Operand& operand, const Storage& storage,
                            const Point& at, const Point& box, int64_t element) {
  const auto span = span_of(storage.swizzle);
  if (!span)
    return error("E0910", "the swizzle is none of 32, 64 or 128 bytes", "", Exit::target_limit);
  if (storage.align % storage.swizzle.period() != 0)
    return error("E0910",
                 fmt::format("the tile is aligned to {} bytes and its swizzle repeats every {}",
                             storage.align, storage.swizzle.period()),
                 "", Exit::target_limit);
  std::vector<std::string> reasons;
  for (uint32_t l : operand.layouts) {
    const Layout& layout = tables.layouts[l];
    if (std::find(layout.spans.begin(), layout.spans.end(), *span) == layout.spans.end()) continue;
    Comparison c(layout, storage, at, box, element, *span);
    const std::string wrong = c.fault();
    if (!wrong.empty()) {
      reasons.push_back(fmt::format("{}: {}", layout.name, wrong));
      continue;
    }
    c.found.layout = l;
    c.found.major = layout.major;
    return c.found;
  }
  if (reasons.empty()) reasons.push_back(fmt::format("there is none with a span of {}", *span));
  return error(
      "E0910",
      fmt::format("operand `{}` may not lie so: {}", operand.name, fmt::join(reasons, "; ")), "",
      Exit::target_limit);
}

}  // namespace tang
