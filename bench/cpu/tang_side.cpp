#include "cpu/tang_side.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "base/files.h"
#include "emit/c_source.h"
#include "eval/random_inputs.h"
#include "front/elaborate.h"
#include "front/render.h"
#include "ir/bind.h"
#include "rewrite/pipeline.h"
#include "run/compiler.h"
#include "run/device.h"
#include "run/memory.h"
#include "run/threads.h"
#include "verify/variant.h"

namespace tang::bench_cpu {
namespace {

tl::unexpected<std::string> failed(const Diagnostic& d) {
  return tl::unexpected(fmt::format("{}: {}", d.id, d.message));
}
tl::unexpected<std::string> failed(const Diagnostics& d) {
  return d.empty() ? tl::unexpected<std::string>("unknown") : failed(d.front());
}

// The emitted C of `v` as an open shared object; null and an error otherwise.
Outcome<void*> compile(const Variant& v, const std::string& folder) {
  const CompileOptions options;
  const std::string source = folder + "/program.c", object = folder + "/program.so";
  if (auto ok = write_file(source, c_source(v.program())); !ok) return failed(ok.error());
  const auto cc = find_compiler(options.cc, options.path, options.temp_dir);
  if (!cc) return failed(cc.error());
  const auto ok = compile_c(*cc, options.flags, source, object, options.path, folder);
  if (!ok) return failed(ok.error());
  void* library = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return tl::unexpected(fmt::format("{}: {}", object, dlerror()));
  // The name is the next program's: the loader knows objects by their file.
  std::remove(object.c_str());
  return library;
}

}  // namespace

struct TangProgram::State {
  Graph graph;  // as written
  std::vector<int64_t> symbols;
  Variant variant;
  void* library = nullptr;
  int (*run)(void* const*, const int64_t*, void*) = nullptr;
  int (*prepare)(void* const*, const int64_t*, void*) = nullptr;  // null: nothing is
  int (*run_part)(void* const*, const int64_t*, void*, int64_t, int64_t, void (*)(void*),
                  void*) = nullptr;  // null: one thread runs it
  size_t (*workspace)(const int64_t*) = nullptr;
  int threads = 1;
  std::unique_ptr<ThreadPool> pool;
};

TangProgram::TangProgram(std::unique_ptr<State> state) : state_(std::move(state)) {}

TangProgram::~TangProgram() {
  if (state_->library != nullptr) dlclose(state_->library);
}

Outcome<std::unique_ptr<TangProgram>> TangProgram::make(const std::string& text,
                                                        const std::string& folder, int threads,
                                                        const std::vector<std::string>& constants) {
  auto graph = parse(text);
  if (!graph) return failed(graph.error());
  if (const Diagnostics bad = bind(*graph, {}); !bad.empty()) return failed(bad);
  auto state = std::make_unique<State>();
  for (const Param& p : graph->params) state->symbols.push_back(p.bound.value_or(0));
  Derivation derivation = derive(*graph, {.keep_texts = false});
  auto variant = make_variant(derivation.derived, {.threads = threads, .constants = constants});
  if (!variant) return failed(variant.error());
  state->graph = std::move(*graph);
  state->variant = std::move(*variant);
  auto library = compile(state->variant, folder);
  if (!library) return tl::unexpected(library.error());
  state->library = *library;
  state->run = reinterpret_cast<decltype(state->run)>(dlsym(*library, "tang_run"));
  state->prepare = reinterpret_cast<decltype(state->prepare)>(dlsym(*library, "tang_prepare"));
  state->workspace =
      reinterpret_cast<decltype(state->workspace)>(dlsym(*library, "tang_workspace"));
  if (threads > 1)
    state->run_part = reinterpret_cast<decltype(state->run_part)>(dlsym(*library, "tang_run_part"));
  if (state->run_part) {
    state->threads = threads;
    state->pool = std::make_unique<ThreadPool>(threads);
  }
  if (!state->run || !state->workspace)
    return tl::unexpected<std::string>("the emitted C lacks its entries");
  return std::unique_ptr<TangProgram>(new TangProgram(std::move(state)));
}

int TangProgram::threads() const { return state_->threads; }

Outcome<Inputs> TangProgram::draw(const std::map<std::string, double>& scales) const {
  Inputs inputs;
  for (const TensorId t : inputs_of(state_->graph)) {
    auto array = random_input(state_->graph, t, state_->symbols, 0);
    if (!array) return failed(array.error());
    const std::string& name = state_->graph[t].name;
    if (const auto scale = scales.find(name); scale != scales.end())
      for (int64_t k = 0; k < array->elements(); ++k) array->set(k, array->at(k) * scale->second);
    inputs.push_back({name, std::move(*array)});
  }
  return inputs;
}

Outcome<std::unique_ptr<Contender>> TangProgram::contender(const Inputs& inputs) const {
  const LoopProgram& program = state_->variant.program();
  const auto room = state_->workspace(state_->symbols.data());
  if (room == SIZE_MAX) return tl::unexpected<std::string>("a size is too large");
  auto workspace = std::make_shared<Buffer>();
  if (room > 0) {
    auto buffer = Buffer::allocate(room);
    if (!buffer) return tl::unexpected<std::string>("no memory for the workspace");
    *workspace = std::move(*buffer);
  }
  // Outputs after inputs; only the first is looked at, the others need their memory.
  auto arguments = std::make_shared<std::vector<void*>>();
  for (const Input& input : inputs)
    arguments->push_back(const_cast<std::byte*>(input.array.data.data()));
  std::vector<std::shared_ptr<Buffer>> outputs;
  const auto order = program.arguments();
  for (size_t k = inputs.size(); k < order.size(); ++k) {
    const loop::Buffer& buffer = program[order[k]];
    const auto bytes = bytes_for(buffer.format, buffer.count.evaluate(state_->symbols).value_or(0));
    outputs.push_back(floats((bytes.value_or(0) + 3) / 4));
    arguments->push_back(outputs.back()->data());
  }
  if (state_->prepare)
    state_->prepare(arguments->data(), state_->symbols.data(), workspace->data());
  auto call = [s = state_.get(), arguments, outputs, workspace] {
    if (!s->run_part) {
      s->run(arguments->data(), s->symbols.data(), workspace->data());
      return;
    }
    const auto part = [&](int64_t n, int64_t parts, tang::Barrier& barrier) {
      const auto wait = [](void* context) { static_cast<tang::Barrier*>(context)->wait(); };
      s->run_part(arguments->data(), s->symbols.data(), workspace->data(), n, parts, wait,
                  &barrier);
    };
    s->pool->run(
        [](void* context, int64_t n, int64_t parts, tang::Barrier& barrier) {
          (*static_cast<decltype(part)*>(context))(n, parts, barrier);
        },
        const_cast<void*>(static_cast<const void*>(&part)));
  };
  return local(call, outputs.front());
}

}  // namespace tang::bench_cpu
