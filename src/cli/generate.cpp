// tang generate: text from a model whose decode step is one graph, compiled once.
#include "models/generate.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "loop/same.h"
#include "models/tokenizer.h"

namespace tang::cli {

namespace {

constexpr int64_t default_steps = 128;
constexpr int64_t longest_prompt = int64_t{1} << 24;  // bytes

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Model {
  LlamaCheckpoint checkpoint;
  Tokenizer tokenizer;
};

// What a decoder was made from.
struct Made {
  std::unique_ptr<Decoder> decoder;
  size_t kernels = 0;    // of one step
  size_t functions = 0;  // what is compiled for them
  int compiles = 0;
};

Result<void> check_kind(const std::string& path) {
  std::error_code ignored;
  const bool directory = std::filesystem::is_directory(path, ignored);
  char magic[4] = {};
  if (const auto file = InputFile::open(path); !directory && file && file->size() >= 4)
    if (auto read = file->read(0, std::as_writable_bytes(std::span(magic))); !read) return read;
  if (directory || std::memcmp(magic, "GGUF", 4) == 0)
    return error("E0806",
                 fmt::format("{}: {} are not built yet", path,
                             directory ? "directories with safetensors" : "GGUF files"),
                 "give a llama2.c checkpoint");
  return {};
}

Outcome<Model> load_model(const Options& o) {
  if (auto known = check_kind(o.model); !known) return fail(known.error());
  auto checkpoint = LlamaCheckpoint::open(o.model);
  if (!checkpoint) return fail(checkpoint.error());
  if (o.tokenizer.empty())
    return fail(error("E0801", fmt::format("{}: a checkpoint has no tokenizer", o.model),
                      "give the one it was trained with, --tokenizer FILE")
                    .value());
  auto vocabulary = read_tokenizer(o.tokenizer, checkpoint->shape().vocab);
  if (!vocabulary) return fail(vocabulary.error());
  return Model{std::move(*checkpoint), Tokenizer(std::move(*vocabulary))};
}

Outcome<std::vector<int32_t>> read_prompt(const Options& o, const Model& model) {
  std::string text = o.prompt.value_or("");
  if (text == "-") {
    auto read = read_file("/dev/stdin", longest_prompt);
    if (!read) return fail(read.error());
    text = std::move(*read);
  }
  auto tokens = model.tokenizer.encode(text);
  if (!tokens) return fail(tokens.error());
  return std::move(*tokens);
}

// New tokens to make: those asked for, which must fit, or the default as far as it fits.
Outcome<int64_t> steps_of(const Options& o, size_t prompt, const LlamaShape& shape) {
  const auto taken = static_cast<int64_t>(prompt);
  const int64_t room = std::max<int64_t>(0, room_after(taken, shape.context));
  if (taken > shape.context || o.steps.value_or(0) > room)
    return fail(error("E0717",
                      fmt::format("the prompt has {} tokens and leaves room for {} new ones in the "
                                  "model's context of {}{}",
                                  taken, room, shape.context,
                                  o.steps ? fmt::format(", not {}", *o.steps) : ""),
                      room > 0 ? fmt::format("--steps {}", room) : "shorten the prompt")
                    .value());
  return o.steps.value_or(std::min(default_steps, room));
}

Outcome<Made> make_decoder(Session& s, const Model& model, const LlamaStep& step, bool oracle) {
  Made made;
  if (auto ok = s.adopt(step.graph); !ok) return fail(ok.error());
  if (oracle) {
    auto decoder = oracle_decoder(model.checkpoint, step);
    if (!decoder) return fail(decoder.error());
    made.decoder = std::move(*decoder);
    return made;
  }
  Graph g = s.naive;
  if (!s.options.naive) {
    auto derived = s.derive_program();
    if (!derived) return fail(derived.error());
    g = std::move(derived->derived);
  }
  const std::vector<TensorId> ids = inputs_of(s.naive);
  for (size_t k = 0; k < ids.size(); ++k)
    if (step.inputs[k].what == LlamaStep::Input::What::weight)
      s.constants.push_back(s.naive[ids[k]].name);
  const auto v = s.lower_program(g, s.options.naive);
  if (!v) return fail(v.error());
  auto program = s.compile(v->program());
  if (!program) return fail(program.error());
  made.compiles = 1;
  const std::vector<size_t> first = loop::first_of_each(v->program());
  made.kernels = first.size();
  for (size_t k = 0; k < first.size(); ++k) made.functions += first[k] == k;
  auto decoder = device_decoder(model.checkpoint, step, std::move(*program));
  if (!decoder) return fail(decoder.error());
  made.decoder = std::move(*decoder);
  return made;
}

// Writes pieces as they are made. A reader that went away ends the text and is no error.
class Printer {
 public:
  bool write(const std::string& text) {
    errno = 0;
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (written && std::fflush(stdout) == 0) return true;
    failure_ = errno;
    return false;
  }
  std::optional<Diagnostic> failure() const {
    if (failure_ == 0 || failure_ == EPIPE) return std::nullopt;
    return error("E0708", fmt::format("stdout: cannot be written: {}", std::strerror(failure_)))
        .value();
  }
  bool failed() const { return failure_ != 0; }

 private:
  int failure_ = 0;
};

double tokens_per_second(const Generation& g) {
  return g.decode_ms > 0 ? static_cast<double>(g.decode_steps) / g.decode_ms * 1e3 : 0;
}

void print_statistics(Session& s, const Made& made, const Generation& g, size_t prompt,
                      double start_ms) {
  const std::string speed =
      g.decode_steps > 0 ? fmt::format(", {} tokens/s", static_cast<int64_t>(tokens_per_second(g)))
                         : std::string();
  std::string text =
      fmt::format("start {} · prompt {} tokens in {} · {} new tokens in {}{}", duration(start_ms),
                  prompt, duration(g.prefill_ms), g.tokens.size(), duration(g.decode_ms), speed);
  if (made.kernels > 0)
    text += fmt::format(" · {} kernels a step, {} compiled, once", made.kernels, made.functions);
  s.log("", text);
}

}  // namespace

Outcome<void> generate_command(Session& s) {
  const auto begin = Clock::now();
  const auto devices = s.devices(false);
  if (!devices) return fail(devices.error());
  const auto model = load_model(s.options);
  if (!model) return fail(model.error());
  const auto prompt = read_prompt(s.options, *model);
  if (!prompt) return fail(prompt.error());
  const auto steps = steps_of(s.options, prompt->size(), model->checkpoint.shape());
  if (!steps) return fail(steps.error());
  const auto step = llama_step(model->checkpoint.shape());
  if (!step) return fail(step.error());
  const auto made = make_decoder(s, *model, *step, devices->front() == "oracle");
  if (!made) return fail(made.error());
  const double start_ms = since(begin);

  Printer printer;
  std::string text;
  Sampler sampler(s.options.temperature, s.options.seed);
  const auto done =
      generate(*made->decoder, sampler, *prompt, *steps, [&](int32_t previous, int32_t token) {
        const std::string piece = model->tokenizer.piece(previous, token);
        text += piece;
        return s.options.json || printer.write(piece);
      });
  if (!s.options.json && !printer.failed()) printer.write("\n");
  if (!done) return fail(done.error());
  if (const auto failure = printer.failure()) return fail(*failure);
  print_statistics(s, *made, *done, prompt->size(), start_ms);
  if (s.options.json)
    s.print_json({{"schema", 1},
                  {"device", devices->front()},
                  {"text", text},
                  {"tokens", done->tokens},
                  {"prompt_tokens", prompt->size()},
                  {"start_ms", json_number(start_ms)},
                  {"prefill_ms", json_number(done->prefill_ms)},
                  {"decode_ms", json_number(done->decode_ms)},
                  {"tokens_per_s", json_number(tokens_per_second(*done))},
                  {"kernels_per_step", made->kernels},
                  {"functions", made->functions},
                  {"compiles", made->compiles}});
  return {};
}

}  // namespace tang::cli
