// Programs that run: from a graph to kernels on a device, in memory of the caller.
//
//   Result<Program> program = tang::compile(graph, {.device = tang::best_device()});
//   Result<void> ran = program->run({{"q", {q, {8, 512, 64}}}, …}, {{"o", {o, {8, 512, 64}}}});
//
// A program is a good guest. It is thread-safe: runs share nothing but what the caller gives them.
// It says before a run how many bytes of workspace and how many at most it needs. It reads no
// environment, starts no thread that was not asked for, and on the host it runs in the caller's
// memory without a copy where a tensor is row-major and lies as its elements want. On CUDA, tensors
// of the device are used where they lie and kernels go on the caller's stream, which may be in
// capture; other devices, and host tensors on CUDA, are copied to and from.
//
// Inputs are not written, whatever flags they have. One exception is asked for by the caller: an
// output that is declared `into` an input is computed in place if the tensors of both are the same
// memory; otherwise it is written beside, and the input stays as it was.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "api/tensor.h"
#include "expr/simplify.h"
#include "ir/graph.h"

namespace tang {

struct CompileSettings {
  std::string device = "c";                    // "c", "cuda", "opencl", "vulkan" or "webgpu"
  std::map<std::string, int64_t> params = {};  // values of the graph's params
  MathMode math = MathMode::real;
  int threads = 1;             // of the c device, that share large kernels
  std::string cache_dir = {};  // of compiled objects; empty: none
  std::string cc = {};         // the c device's compiler, by path or name; empty: cc, gcc or clang
  std::string path = "/usr/local/bin:/usr/bin:/bin";  // where to look, colon-separated
  std::string temp_dir = "/tmp";
  std::string webgpu_library = {};  // the path of Dawn's; empty: where the loader looks
};

// "cuda" where there is such a device, otherwise "c".
std::string best_device();

struct RunOptions {
  // The CUstream that kernels on device tensors go to; null: the default stream.
  void* stream = nullptr;
  // workspace_bytes() of memory: of the device, aligned to 16, for device tensors, which need it;
  // of the host, aligned to 64, for others, which otherwise have workspace of the program's.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
};

class Program {
 public:
  // An input or an output.
  struct Port {
    std::string name;
    Format format = Format::f32;
    std::vector<int64_t> shape;
    std::string into;  // of an output: the input whose memory it may take; empty: none
  };

  // In the order of the program.
  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  const std::string& device() const;

  // Bytes of RunOptions::workspace.
  int64_t workspace_bytes() const;
  // Bytes of inputs, outputs and workspace together, the most that a run touches at once; copies of
  // tensors that cannot be used where they lie come on top.
  int64_t peak_bytes() const;

  // Runs with all inputs and outputs, by name. With host tensors the outputs are there when it
  // returns; with tensors of the device, when the stream has come so far, and the program, the
  // tensors and the workspace live until then (until a graph captured meanwhile is gone). Every
  // failure is an error: those of drivers (run/gpu_driver.h); E0718 a tensor missing, unknown or
  // twice; E0705 of another type, E0706 of another shape, E0719 in a layout that cannot be used,
  // E0720 on another device, E0721 read-only where it is written; E0903 (exit 5).
  Result<void> run(const std::vector<NamedTensor>& inputs, const std::vector<NamedTensor>& outputs,
                   const RunOptions& options = {}) const;
  // Gives the outputs as arrays, in program order, of host tensors alone.
  Result<std::vector<Array>> run(const std::vector<NamedTensor>& inputs,
                                 const RunOptions& options = {}) const;
  // The same with tensors in the order of the program.
  Result<void> run_in_order(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                            const RunOptions& options = {}) const;

 private:
  friend Result<Program> compile(const Graph& graph, const CompileSettings& settings);
  struct Compiled;
  explicit Program(std::shared_ptr<const Compiled> compiled);
  std::shared_ptr<const Compiled> compiled_;
};

// Derives, plans, lowers and compiles, for sizes that are known: by the graph's params, their
// defaults or `settings`. Errors of bind (ir/bind.h), plan, and the device; E0802 for a device of
// another name.
Result<Program> compile(const Graph& graph, const CompileSettings& settings = {});

}  // namespace tang
