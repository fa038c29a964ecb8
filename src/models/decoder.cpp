#include "models/decoder.h"

#include <algorithm>
#include <cstring>

#include "eval/oracle.h"
#include "ir/bind.h"
#include "ir/softmax.h"
#include "verify/variant.h"

namespace tang {

namespace {

using What = LlamaStep::Input::What;

bool is_cache(const LlamaStep::Input& input) {
  return input.what == What::key_cache || input.what == What::value_cache;
}

Result<Array> cache_of(const LlamaShape& s) {
  return make_array(Format::f32, {s.context, s.kv_heads, s.head()});
}

class DeviceDecoder : public Decoder {
 public:
  DeviceDecoder(const LlamaCheckpoint& checkpoint, std::unique_ptr<Executable> program)
      : checkpoint_(checkpoint), program_(std::move(program)) {}

  Result<void> allocate(const LlamaStep& step) {
    const LlamaShape& s = checkpoint_.shape();
    auto logits = make_array(Format::f32, {s.vocab});
    if (!logits) return tl::unexpected(logits.error());
    logits_ = std::move(*logits);
    for (const LlamaStep::Input& input : step.inputs) {
      if (is_cache(input)) {
        auto cache = cache_of(s);
        if (!cache) return tl::unexpected(cache.error());
        caches_.push_back(std::move(*cache));
      }
      buffers_.push_back(memory_of(input));
    }
    for (size_t k = 0; k < step.inputs.size(); ++k)
      if (step.inputs[k].what == What::token || step.inputs[k].what == What::position)
        changing_.push_back(k);
    logits_place_ = step.inputs.size();
    place_outputs();
    const auto bytes = program_->workspace_bytes({});
    if (!bytes) return tl::unexpected(bytes.error());
    auto workspace = Buffer::allocate(static_cast<size_t>(*bytes));
    if (!workspace) return tl::unexpected(out_of_memory("the workspace", std::to_string(*bytes)));
    workspace_ = std::move(*workspace);
    if (auto done = prepare(); !done) return done;
    auto resident = program_->resident(buffers_, {});
    if (!resident) return tl::unexpected(resident.error());
    resident_ = std::move(*resident);
    return {};
  }

  Result<std::span<const float>> step(int32_t token, int32_t position) override {
    token_ = token;
    position_ = position;
    for (const size_t k : changing_)
      if (auto sent = resident_->upload(k); !sent) return tl::unexpected(sent.error());
    if (const auto ran = resident_->run(); !ran) return tl::unexpected(ran.error());
    if (auto got = resident_->download(logits_place_); !got) return tl::unexpected(got.error());
    return std::span(reinterpret_cast<const float*>(logits_.data.data()),
                     static_cast<size_t>(logits_.elements()));
  }

 private:
  // Devices take pointers to change; a program writes no input that is not an output's `into`.
  void* memory_of(const LlamaStep::Input& input) {
    if (input.what == What::token) return &token_;
    if (input.what == What::position) return &position_;
    if (is_cache(input)) return caches_.back().data.data();
    return const_cast<float*>(checkpoint_.weight(input.kind, input.layer).data());
  }

  // The logits, then the caches in the memory of the inputs they go into.
  void place_outputs() {
    const LoopProgram& p = program_->program();
    const std::vector<loop::BufferId> arguments = p.arguments();
    for (size_t k = buffers_.size(); k < arguments.size(); ++k) {
      const auto into = std::find(arguments.begin(), arguments.end(), p.storage(arguments[k]));
      if (p[arguments[k]].role == loop::Role::prepared) break;
      buffers_.push_back(p[arguments[k]].into
                             ? buffers_[static_cast<size_t>(into - arguments.begin())]
                             : logits_.data.data());
    }
  }

  // What is packed of the weights, once.
  Result<void> prepare() {
    const LoopProgram& p = program_->program();
    const std::vector<loop::BufferId> arguments = p.arguments();
    for (size_t k = buffers_.size(); k < arguments.size(); ++k) {
      const loop::Buffer& b = p[arguments[k]];
      auto array = make_array(b.format, {b.count.constant().value_or(0)});
      if (!array) return tl::unexpected(array.error());
      prepared_.push_back(std::move(*array));
      buffers_.push_back(prepared_.back().data.data());
    }
    const auto done = program_->prepare(buffers_, {}, workspace_.data());
    return done ? Result<void>() : tl::unexpected(done.error());
  }

  const LlamaCheckpoint& checkpoint_;
  std::unique_ptr<Executable> program_;
  int32_t token_ = 0, position_ = 0;
  Array logits_;
  std::vector<Array> caches_, prepared_;
  std::vector<void*> buffers_;
  std::vector<size_t> changing_;  // places of the token and its position
  size_t logits_place_ = 0;
  Buffer workspace_;
  std::unique_ptr<Resident> resident_;  // weights and caches stay where the device has them
};

class OracleDecoder : public Decoder {
 public:
  explicit OracleDecoder(const LlamaStep& step) : graph_(softmax_reading(step.graph)) {}

  Result<void> allocate(const LlamaCheckpoint& checkpoint, const LlamaStep& step) {
    for (const LlamaStep::Input& input : step.inputs) {
      auto array = array_of(checkpoint, input);
      if (!array) return tl::unexpected(array.error());
      arrays_.push_back(std::move(*array));
    }
    const std::vector<TensorId> ids = inputs_of(graph_);
    for (size_t k = 0; k < ids.size(); ++k) {
      arrays_[k].shape = bound_shape(graph_, ids[k]);
      given_[ids[k]] = &arrays_[k];
    }
    return {};
  }

  Result<std::span<const float>> step(int32_t token, int32_t position) override {
    arrays_[0].set_integer(0, token);
    arrays_[1].set_integer(0, position);
    OracleOptions options;
    options.extent = OracleOptions::Extent::full;
    const auto values = evaluate(graph_, {}, given_, options);
    if (!values) return tl::unexpected(values.error());
    for (const Output& o : graph_.outputs) {
      auto array = encode(values->at(o.tensor), graph_[o.tensor].storage());
      if (!array) return tl::unexpected(array.error());
      Array& to = o.into == TensorId::none ? logits_ : *const_cast<Array*>(given_[o.into]);
      to.data = std::move(array->data);
    }
    return std::span(reinterpret_cast<const float*>(logits_.data.data()),
                     logits_.data.size() / sizeof(float));
  }

 private:
  static Result<Array> array_of(const LlamaCheckpoint& checkpoint, const LlamaStep::Input& input) {
    if (is_cache(input)) return cache_of(checkpoint.shape());
    if (input.what != What::weight) return make_array(Format::i32, {});
    const std::span<const float> weight = checkpoint.weight(input.kind, input.layer);
    auto array = make_array(Format::f32, {static_cast<int64_t>(weight.size())});
    if (array) std::memcpy(array->data.data(), weight.data(), weight.size_bytes());
    return array;
  }

  Graph graph_;
  std::vector<Array> arrays_;  // of the inputs, in program order: token, position, …
  Array logits_;
  Given given_;
};

}  // namespace

Result<std::unique_ptr<Decoder>> device_decoder(const LlamaCheckpoint& checkpoint,
                                                const LlamaStep& step,
                                                std::unique_ptr<Executable> program) {
  auto decoder = std::make_unique<DeviceDecoder>(checkpoint, std::move(program));
  if (auto ready = decoder->allocate(step); !ready) return tl::unexpected(ready.error());
  return decoder;
}

Result<std::unique_ptr<Decoder>> oracle_decoder(const LlamaCheckpoint& checkpoint,
                                                const LlamaStep& step) {
  auto decoder = std::make_unique<OracleDecoder>(step);
  if (auto ready = decoder->allocate(checkpoint, step); !ready)
    return tl::unexpected(ready.error());
  return decoder;
}

}  // namespace tang
