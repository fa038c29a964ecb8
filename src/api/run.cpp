// Runs of compiled programs.
#include <fmt/format.h>

#include "api/compiled.h"
#include "api/layout.h"

namespace tang {

namespace {

Declared declared(const Program::Port& p) { return {p.name, p.format, p.shape}; }

struct Layouts {
  std::vector<Layout> inputs, outputs;
};

Result<void> check_apart(const Program::Port& a, const Layout& x, const Program::Port& b,
                         const Layout& y) {
  if (!x.row_major() || !y.row_major() || !x.shares_bytes(y)) return {};
  return error("E0719", fmt::format("the outputs `{}` and `{}` share memory", a.name, b.name),
               "give each output memory of its own");
}

Result<Layouts> check(const std::vector<Program::Port>& in, std::span<const TensorView> inputs,
                      const std::vector<Program::Port>& out, std::span<const TensorView> outputs) {
  Layouts l;
  for (size_t k = 0; k < in.size(); ++k) {
    auto layout = input_layout(declared(in[k]), inputs[k]);
    if (!layout) return tl::unexpected(layout.error());
    l.inputs.push_back(std::move(*layout));
  }
  for (size_t k = 0; k < out.size(); ++k) {
    auto layout = output_layout(declared(out[k]), outputs[k]);
    if (!layout) return tl::unexpected(layout.error());
    for (size_t j = 0; j < k; ++j)
      if (auto ok = check_apart(out[j], l.outputs[j], out[k], *layout); !ok)
        return tl::unexpected(ok.error());
    l.outputs.push_back(std::move(*layout));
  }
  return l;
}

// Outputs lie apart from read-only inputs; of two tensors with gaps nobody can say in short.
Result<void> check_read_only(const std::vector<Program::Port>& in,
                             std::span<const TensorView> inputs,
                             const std::vector<Program::Port>& out, const Layouts& l) {
  for (size_t k = 0; k < in.size(); ++k)
    for (size_t j = 0; j < out.size(); ++j)
      if (inputs[k].read_only && (l.inputs[k].row_major() || l.outputs[j].row_major()) &&
          l.inputs[k].shares_bytes(l.outputs[j]))
        return error("E0721",
                     fmt::format("the output `{}` lies in memory of the input `{}`, which is "
                                 "read-only",
                                 out[j].name, in[k].name),
                     "give the output memory of its own");
  return {};
}

tl::unexpected<Diagnostic> bad_workspace(std::string message) {
  return error("E0719", std::move(message), "Program::workspace_bytes says what is needed");
}

// Memory for the tensors that kernels cannot use where they lie, and the pointers they get.
class Places {
 public:
  Result<void*> of(const Layout& l, bool as_it_is) {
    if (as_it_is) return static_cast<void*>(l.begin);
    auto memory = Buffer::allocate(static_cast<size_t>(l.bytes()));
    if (!memory)
      return tl::unexpected(
          out_of_memory("a copy of a tensor", fmt::format("{} bytes", l.bytes())));
    copies_.push_back(std::move(*memory));
    return static_cast<void*>(copies_.back().data());
  }

 private:
  std::vector<Buffer> copies_;
};

// Workspace that goes back when the run is done.
class Workspace {
 public:
  Workspace(std::mutex& mutex, std::vector<Buffer>& idle) : mutex_(mutex), idle_(idle) {}
  ~Workspace() {
    if (own_.size() == 0) return;
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(own_));
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  Result<void*> take(int64_t bytes, const RunOptions& o) {
    if (bytes == 0) return nullptr;
    if (o.workspace) {
      if (o.workspace_bytes < bytes)
        return bad_workspace(
            fmt::format("the workspace has {} bytes of {}", o.workspace_bytes, bytes));
      if (reinterpret_cast<uintptr_t>(o.workspace) % Buffer::alignment != 0)
        return bad_workspace("the workspace is not aligned to 64 bytes");
      return o.workspace;
    }
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        own_ = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (own_.size() == 0) {
      auto made = Buffer::allocate(static_cast<size_t>(bytes));
      if (!made)
        return tl::unexpected(out_of_memory("the workspace", fmt::format("{} bytes", bytes)));
      own_ = std::move(*made);
    }
    return static_cast<void*>(own_.data());
  }

 private:
  std::mutex& mutex_;
  std::vector<Buffer>& idle_;
  Buffer own_;
};

bool same_memory(const Layout& a, const Layout& b) {
  return a.begin == b.begin && a.row_major() && b.row_major();
}

}  // namespace

Result<void> Program::Compiled::run_on_host(std::span<const TensorView> in,
                                            std::span<const TensorView> out,
                                            const RunOptions& options) const {
  auto l = check(inputs, in, outputs, out);
  if (!l) return tl::unexpected(l.error());
  if (auto ok = check_read_only(inputs, in, outputs, *l); !ok) return ok;
  Places places;
  std::vector<void*> in_at(in.size(), nullptr), out_at;
  for (size_t k = 0; k < out.size(); ++k) {
    // An output on an input is computed beside, but for the input that it goes into.
    bool apart = l->outputs[k].direct();
    for (size_t j = 0; j < in.size(); ++j)
      if (l->outputs[k].shares_bytes(l->inputs[j]))
        apart = apart && into[k] == j && same_memory(l->outputs[k], l->inputs[j]);
    const auto at = places.of(l->outputs[k], apart);
    if (!at) return tl::unexpected(at.error());
    out_at.push_back(*at);
    if (!into[k]) continue;
    in_at[*into[k]] = *at;
    if (*at != l->inputs[*into[k]].begin) l->inputs[*into[k]].gather(static_cast<std::byte*>(*at));
  }
  for (size_t k = 0; k < in.size(); ++k) {
    if (in_at[k] || l->inputs[k].elements == 0) continue;
    const auto at = places.of(l->inputs[k], l->inputs[k].direct());
    if (!at) return tl::unexpected(at.error());
    in_at[k] = *at;
    if (*at != l->inputs[k].begin) l->inputs[k].gather(static_cast<std::byte*>(*at));
  }
  std::vector<void*> arguments = in_at;
  arguments.insert(arguments.end(), out_at.begin(), out_at.end());
  Workspace workspace(mutex, idle);
  const auto scratch = workspace.take(streams ? 0 : workspace_bytes, options);
  if (!scratch) return tl::unexpected(scratch.error());
  const auto ran = executable->run(arguments, symbols, *scratch);
  if (!ran) return tl::unexpected(ran.error());
  for (size_t k = 0; k < out.size(); ++k)
    if (out_at[k] != l->outputs[k].begin)
      l->outputs[k].scatter(static_cast<const std::byte*>(out_at[k]));
  return {};
}

Result<void> Program::Compiled::run_on_stream(std::span<const TensorView> in,
                                              std::span<const TensorView> out,
                                              const RunOptions& options) const {
  auto l = check(inputs, in, outputs, out);
  if (!l) return tl::unexpected(l.error());
  if (auto ok = check_read_only(inputs, in, outputs, *l); !ok) return ok;
  std::vector<void*> arguments;
  std::optional<int> number;
  const auto add = [&](const Port& p, const TensorView& t, const Layout& x) -> Result<void> {
    if (!x.row_major())
      return error("E0719", fmt::format("`{}` lies on the device and is not row-major", p.name),
                   "copy it to row-major memory there");
    if (t.device.device_type == kDLCUDA) {
      if (number && *number != t.device.device_id)
        return error("E0720", fmt::format("`{}` lies on device {}, and other tensors on device {}",
                                          p.name, t.device.device_id, *number));
      number = t.device.device_id;
    }
    arguments.push_back(x.begin);
    return {};
  };
  for (size_t k = 0; k < in.size(); ++k)
    if (auto ok = add(inputs[k], in[k], l->inputs[k]); !ok) return ok;
  for (size_t k = 0; k < out.size(); ++k) {
    if (auto ok = add(outputs[k], out[k], l->outputs[k]); !ok) return ok;
    for (size_t j = 0; j < in.size(); ++j) {
      const bool same = into[k] == j && same_memory(l->outputs[k], l->inputs[j]);
      if (into[k] == j && !same && l->outputs[k].elements > 0)
        return error("E0719",
                     fmt::format("`{}` goes into `{}`, and has other memory on the device",
                                 outputs[k].name, inputs[j].name),
                     "give both the same memory");
      if (!same && l->outputs[k].shares_bytes(l->inputs[j]))
        return error("E0719",
                     fmt::format("the output `{}` shares memory with the input `{}`",
                                 outputs[k].name, inputs[j].name),
                     "give the output memory of its own");
    }
  }
  if (options.workspace_bytes < workspace_bytes)
    return bad_workspace(fmt::format("runs on the device need {} bytes of workspace there, not {}",
                                     workspace_bytes, options.workspace_bytes));
  return executable->enqueue({arguments, number.value_or(0), options.workspace, options.stream},
                             symbols);
}

}  // namespace tang
