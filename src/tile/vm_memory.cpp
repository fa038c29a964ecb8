#include "tile/vm_memory.h"

#include <algorithm>

#include <fmt/format.h>

namespace tang::tile {

void join(Clock& into, const Clock& other) {
  for (size_t a = 0; a < into.size(); ++a) into[a] = std::max(into[a], other[a]);
}

bool Accesses::reads_before(const View& view) const {
  return std::all_of(reads_.begin(), reads_.end(),
                     [&](const Access& a) { return before(view, a); });
}

void Accesses::read(const View& view) {
  const auto mine = std::find_if(reads_.begin(), reads_.end(),
                                 [&](const Access& a) { return a.agent == view.agent; });
  if (mine == reads_.end()) {
    reads_.push_back({view.agent, view.now, view.lane});
    return;
  }
  // Reads that a write by one of the lanes may find unordered.
  const bool alone = mine->lane == view.lane || mine->number <= view.synced;
  *mine = {view.agent, view.now, alone ? view.lane : several_lanes};
}

void Accesses::write(const View& view) {
  write_ = {view.agent, view.now, view.lane};
  written_ = true;
  reads_.clear();
}

SharedMemory::SharedMemory(int64_t bytes)
    : bytes_(static_cast<size_t>(bytes)), cells_(static_cast<size_t>(bytes)) {}

void SharedMemory::fault(std::string text) {
  if (fault_.empty()) fault_ = std::move(text);
}

std::string SharedMemory::take_fault() {
  std::string text = std::move(fault_);
  fault_.clear();
  return text;
}

bool SharedMemory::fits(int64_t address, int64_t bytes, const char* what) {
  if (address < 0 || address + bytes > size()) {
    fault(fmt::format("out of bounds: {} of bytes {}…{} of {}", what, address, address + bytes - 1,
                      size()));
    return false;
  }
  if (address % bytes != 0) {
    fault(fmt::format("misaligned: {} of {} bytes at {}", what, bytes, address));
    return false;
  }
  return true;
}

void SharedMemory::check_order(const View& view, const Cell& cell, int64_t address, bool writes) {
  const Accesses& a = cell.accesses;
  if (!a.write_before(view))
    fault(fmt::format("race: {} of byte {} is not ordered after its last write",
                      writes ? "a write" : "a read", address));
  if (writes && !a.reads_before(view))
    fault(fmt::format("race: a write of byte {} is not ordered after a read of it", address));
  if (a.written() && view.async && !cell.written_async &&
      (*view.fenced)[a.writer().agent] < a.writer().number)
    fault(
        fmt::format("proxy: byte {} was written through the generic proxy and not fenced before "
                    "an asynchronous access",
                    address));
}

double SharedMemory::load(const View& view, int64_t address, Format format) {
  const int64_t bytes = info(format).bits / 8;
  if (!fits(address, bytes, "a read")) return 0;
  for (int64_t b = address; b < address + bytes; ++b) {
    Cell& cell = cells_[static_cast<size_t>(b)];
    if (!cell.accesses.written()) fault(fmt::format("uninitialised: byte {} is read", b));
    check_order(view, cell, b, false);
    cell.accesses.read(view);
  }
  return load_element(format, bytes_.data() + address, 0);
}

void SharedMemory::store(const View& view, int64_t address, Format format, double value) {
  const int64_t bytes = info(format).bits / 8;
  if (!fits(address, bytes, "a write")) return;
  for (int64_t b = address; b < address + bytes; ++b) {
    Cell& cell = cells_[static_cast<size_t>(b)];
    check_order(view, cell, b, true);
    cell.accesses.write(view);
    cell.written_async = view.async;
  }
  store_element(format, bytes_.data() + address, 0, value);
}

GlobalMemory::GlobalMemory(int64_t elements, Format format, bool written, bool meets)
    : in_byte_(info(format).bits > 0 && info(format).bits < 8 ? 8 / info(format).bits : 1),
      cells_(static_cast<size_t>((elements + in_byte_ - 1) / in_byte_)),
      meetings_(meets ? cells_.size() : 0),
      written_(static_cast<size_t>(elements), written) {}

// What agents of one part do without order.
std::string GlobalMemory::meet(int64_t at, const View& view, bool writes) {
  if (meetings_.empty()) return {};
  Meeting& m = meetings_[static_cast<size_t>(at / in_byte_)];
  if (m.part != view.part) m = {view.part, {}};
  const bool ordered = m.accesses.write_before(view) && (!writes || m.accesses.reads_before(view));
  if (writes)
    m.accesses.write(view);
  else
    m.accesses.read(view);
  if (ordered) return {};
  return fmt::format("race: element {} is {} with nothing that orders this after another access",
                     at, writes ? "written" : "read");
}

std::string GlobalMemory::read(int64_t at, const View& view) {
  const uint64_t part = view.part;
  Cell& c = cell(at);
  if (!written_[static_cast<size_t>(at)])
    return fmt::format("uninitialised: element {} is read", at);
  if (c.writer != 0 && c.writer != part)
    return fmt::format("race: element {} is read by one part and written by another", at);
  c.reader = c.reader == 0 || c.reader == part ? part : several;
  return meet(at, view, false);
}

std::string GlobalMemory::write(int64_t at, const View& view) {
  const uint64_t part = view.part;
  Cell& c = cell(at);
  written_[static_cast<size_t>(at)] = 1;
  if (c.reader != 0 && c.reader != part)
    return fmt::format("race: element {} is written by one part and read by another", at);
  if (c.writer != 0 && c.writer != part)
    return fmt::format("race: element {} is written by two parts", at);
  c.writer = part;
  c.added = false;
  return meet(at, view, true);
}

std::string GlobalMemory::add(int64_t at, uint64_t part) {
  Cell& c = cell(at);
  if (!written_[static_cast<size_t>(at)])
    return fmt::format("uninitialised: element {} is added to", at);
  if (c.reader != 0 && c.reader != part)
    return fmt::format("race: element {} is added to by one part and read by another", at);
  if (c.writer != 0 && c.writer != part && !c.added)
    return fmt::format("race: element {} is added to by one part and written by another", at);
  c.added |= c.writer == 0;
  c.writer = c.writer == 0 || c.writer == part ? part : several;
  return {};
}

std::optional<int64_t> GlobalMemory::unwritten() const {
  const auto at = std::find(written_.begin(), written_.end(), 0);
  return at == written_.end() ? std::nullopt : std::optional<int64_t>(at - written_.begin());
}

}  // namespace tang::tile
