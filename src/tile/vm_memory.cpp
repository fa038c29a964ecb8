#include "tile/vm_memory.h"

#include <algorithm>

#include <fmt/format.h>

namespace tang::tile {

void join(Clock& into, const Clock& other) {
  for (size_t a = 0; a < into.size(); ++a) into[a] = std::max(into[a], other[a]);
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
  const auto before = [&](const Access& a) {
    return a.agent == view.agent || (*view.knows)[a.agent] >= a.number;
  };
  if (cell.initialised && !before(cell.write))
    fault(fmt::format("race: {} of byte {} is not ordered after its last write",
                      writes ? "a write" : "a read", address));
  if (writes)
    for (size_t k = 0; k < cell.readers; ++k)
      if (!before(cell.read[k]))
        fault(fmt::format("race: a write of byte {} is not ordered after a read of it", address));
  if (cell.initialised && view.async && !cell.written_async &&
      (*view.fenced)[cell.write.agent] < cell.write.number)
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
    if (!cell.initialised) fault(fmt::format("uninitialised: byte {} is read", b));
    check_order(view, cell, b, false);
    size_t k = 0;
    while (k < cell.readers && cell.read[k].agent != view.agent) ++k;
    if (k == cell.read.size()) k = 0;
    cell.read[k] = {view.agent, view.now};
    cell.readers = std::max<uint8_t>(cell.readers, static_cast<uint8_t>(k + 1));
  }
  return load_element(format, bytes_.data() + address, 0);
}

void SharedMemory::store(const View& view, int64_t address, Format format, double value) {
  const int64_t bytes = info(format).bits / 8;
  if (!fits(address, bytes, "a write")) return;
  for (int64_t b = address; b < address + bytes; ++b) {
    Cell& cell = cells_[static_cast<size_t>(b)];
    check_order(view, cell, b, true);
    cell.write = {view.agent, view.now};
    cell.initialised = true;
    cell.written_async = view.async;
    cell.readers = 0;
  }
  store_element(format, bytes_.data() + address, 0, value);
}

GlobalMemory::GlobalMemory(int64_t elements, Format format, bool written)
    : in_byte_(info(format).bits > 0 && info(format).bits < 8 ? 8 / info(format).bits : 1),
      cells_(static_cast<size_t>((elements + in_byte_ - 1) / in_byte_)),
      written_(static_cast<size_t>(elements), written) {}

std::string GlobalMemory::read(int64_t at, uint64_t part) {
  Cell& c = cell(at);
  if (!written_[static_cast<size_t>(at)])
    return fmt::format("uninitialised: element {} is read", at);
  if (c.writer != 0 && c.writer != part)
    return fmt::format("race: element {} is read by one part and written by another", at);
  c.reader = c.reader == 0 || c.reader == part ? part : several;
  return {};
}

std::string GlobalMemory::write(int64_t at, uint64_t part) {
  Cell& c = cell(at);
  written_[static_cast<size_t>(at)] = 1;
  if (c.reader != 0 && c.reader != part)
    return fmt::format("race: element {} is written by one part and read by another", at);
  if (c.writer != 0 && c.writer != part)
    return fmt::format("race: element {} is written by two parts", at);
  c.writer = part;
  c.added = false;
  return {};
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
