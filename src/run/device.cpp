#include "run/device.h"

#include <fmt/format.h>

#include "base/array.h"

namespace tang {

namespace {

// The host's memory is the device's: nothing is copied.
class HostResident : public Resident {
 public:
  HostResident(const Executable& executable, std::span<void* const> buffers,
               std::span<const int64_t> symbols, Buffer workspace)
      : executable_(executable),
        buffers_(buffers.begin(), buffers.end()),
        symbols_(symbols.begin(), symbols.end()),
        workspace_(std::move(workspace)) {}

  Result<double> run(int64_t rounds) override {
    double ms = 0;
    for (int64_t k = 0; k < rounds; ++k) {
      const auto times = executable_.run(buffers_, symbols_, workspace_.data());
      if (!times) return tl::unexpected(times.error());
      ms += times->total_ms;
    }
    return ms;
  }
  Result<void> upload(size_t) override { return {}; }
  Result<void> download(size_t) override { return {}; }
  Result<void> download_outputs() override { return {}; }

 private:
  const Executable& executable_;
  std::vector<void*> buffers_;
  std::vector<int64_t> symbols_;
  Buffer workspace_;
};

}  // namespace

Result<std::unique_ptr<Resident>> Executable::resident(std::span<void* const> buffers,
                                                       std::span<const int64_t> symbols) const {
  const auto bytes = workspace_bytes(symbols);
  if (!bytes) return tl::unexpected(bytes.error());
  auto workspace = Buffer::allocate(static_cast<size_t>(*bytes));
  if (!workspace)
    return tl::unexpected(out_of_memory("the workspace", fmt::format("{} bytes", *bytes)));
  return std::make_unique<HostResident>(*this, buffers, symbols, std::move(*workspace));
}

}  // namespace tang
