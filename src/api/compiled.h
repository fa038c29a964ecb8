// What a Program holds.
#pragma once

#include <mutex>

#include "api/opened.h"
#include "api/program.h"

namespace tang {

struct Program::Compiled {
  std::string device_name;
  std::shared_ptr<OpenDevice> device;
  std::unique_ptr<Executable> executable;  // goes before its device
  std::vector<int64_t> symbols;
  std::vector<Port> inputs, outputs;
  std::vector<std::optional<size_t>> into;  // by output: the input whose memory it takes
  bool streams = false;                     // runs on memory of the device
  int64_t workspace_bytes = 0;              // of such runs, otherwise of the host's
  int64_t peak_bytes = 0;

  // Workspace that no run uses, for the next.
  mutable std::mutex mutex;
  mutable std::vector<Buffer> idle;

  Result<void> run_on_host(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                           const RunOptions& options) const;
  Result<void> run_on_stream(std::span<const TensorView> inputs,
                             std::span<const TensorView> outputs, const RunOptions& options) const;
};

}  // namespace tang
