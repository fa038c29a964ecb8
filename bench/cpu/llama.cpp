// Text from a small model: tang's decoder against llama2.c, each a program of its own.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cpu/case.h"
#include "run/compiler.h"

namespace tang::bench_cpu {
namespace {

constexpr int new_tokens = 200;
constexpr size_t compared = 300;  // characters of the text

// What a run said: milliseconds a token, and the text.
struct Run {
  double ms = 0;
  std::string text;
};

class ProgramContender : public Contender {
 public:
  using Read = std::function<Outcome<Run>(const std::string&)>;
  ProgramContender(std::vector<std::string> command, Read read)
      : command_(std::move(command)), read_(std::move(read)) {}

  // One run makes many tokens: as many calls as one likes. Both programs read a wall clock.
  Outcome<double> time(int64_t calls, ClockKind) override {
    const ProcessResult result = run_process(command_, "/usr/bin:/bin", "/tmp");
    if (result.status != 0)
      return tl::unexpected(fmt::format("{}: {}", command_[0], result.output));
    auto run = read_(result.output);
    if (!run) return tl::unexpected(run.error());
    text_ = std::move(run->text);
    return static_cast<double>(calls) * run->ms;
  }
  Outcome<std::vector<double>> samples(int64_t) override {
    return tl::unexpected<std::string>("a program does not time single tokens");
  }
  // Texts are equal or not: characters as numbers.
  Outcome<std::vector<float>> output() override {
    std::vector<float> all;
    for (const char c : text_.substr(0, compared)) all.push_back(static_cast<float>(c));
    return all;
  }

 private:
  std::vector<std::string> command_;
  Read read_;
  std::string text_;
};

Outcome<Run> read_tang(const std::string& output) {
  const size_t begin = output.find("{\"");
  const auto json =
      begin == std::string::npos
          ? nlohmann::json()
          : nlohmann::json::parse(output.substr(begin, output.find('\n', begin) - begin), nullptr,
                                  false);
  if (!json.is_object() || json.value("tokens_per_s", 0.0) <= 0)
    return tl::unexpected("tang generate said " + output);
  return Run{1e3 / json["tokens_per_s"].get<double>(), json["text"].get<std::string>()};
}

// The text, then "achieved tok/s: 1234.5".
Outcome<Run> read_llama(const std::string& output) {
  const std::string mark = "achieved tok/s: ";
  const size_t at = output.find(mark);
  if (at == std::string::npos) return tl::unexpected("llama2.c said " + output);
  const double speed = std::strtod(output.c_str() + at + mark.size(), nullptr);
  return Run{1e3 / speed, output.substr(0, at)};
}

}  // namespace

std::vector<Case> llama_suite(const SuiteOptions& options) {
  if (options.llama.empty()) return {};
  const auto maker = [](std::vector<std::string> command, ProgramContender::Read read) {
    return Outcome<std::unique_ptr<Contender>>(
        std::make_unique<ProgramContender>(std::move(command), std::move(read)));
  };
  Case c;
  c.suite = "llama";
  c.name = "stories260K, a token";
  c.gate = 1.5;
  c.tol = 0;
  c.one_thread = true;
  c.tang = [options, maker] {
    return maker(
        {options.tang, "generate", "--model", options.model, "--tokenizer", options.tokenizer,
         "--prompt", "", "--steps", fmt::format("{}", new_tokens), "--json"},
        read_tang);
  };
  c.peers = {{"llama2.c run.c", [options, maker](const Inputs&, int) {
                return maker({options.llama, options.model, "-z", options.tokenizer, "-t", "0",
                              "-n", fmt::format("{}", new_tokens)},
                             read_llama);
              }}};
  return {c};
}

}  // namespace tang::bench_cpu
