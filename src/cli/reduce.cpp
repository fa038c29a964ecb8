// tang reduce: each candidate is checked in a process of its own, so that one that crashes or hangs
// is a failure like another.
#include "verify/reduce.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/device_check.h"

namespace tang::cli {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How a check ended, as one process tells another.
struct Verdict {
  std::string
      failure;  // "" if it passed; "c derived kernel", "error E0999", "signal 11", "timeout"
  std::optional<Diagnostic> refused;  // the check could not be made
};

// The way a device's check fails. A replaced kernel keeps its name, so it is part of the way.
std::string failure_of(const Session& s, const DeviceCheck& c) {
  const bool derived = c.naive.ok();
  const Fault& f = derived ? *c.derived.fault : *c.naive.fault;
  std::string kernel = f.kernel.empty() ? "output" : "kernel";
  for (const std::string& word : s.options.replace)
    if (word.starts_with(f.kernel + "=")) kernel += " " + f.kernel;
  return fmt::format("{} {} {}", c.device, derived ? "derived" : "naive", kernel);
}

// Wrong results and defects of tang are what reduce is for; other errors are the user's to mend.
bool is_failure(const Diagnostic& d) {
  return d.exit == Exit::wrong_result || d.id == "E0998" || d.id == "E0999";
}

// Elements of the tensors that a replaced kernel mentions. It was written for these sizes and might
// leave smaller buffers, so candidates keep them.
using Sizes = std::map<std::string, int64_t>;

bool mentions(const std::string& text, const std::string& name) {
  const auto inside = [&](size_t k) {
    return k < text.size() && (std::isalnum(static_cast<unsigned char>(text[k])) || text[k] == '_');
  };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    if (!(at > 0 && inside(at - 1)) && !inside(at + name.size())) return true;
  return false;
}

int64_t elements(const Graph& g, TensorId t) {
  int64_t n = 1;
  for (int64_t extent : bound_shape(g, t)) n *= extent;
  return n;
}

Sizes replaced_sizes(const Session& s) {
  Sizes sizes;
  for (const std::string& word : s.options.replace) {
    const auto text = read_file(word.substr(word.find('=') + 1), 1 << 26);
    if (!text) continue;
    for (size_t k = 0; k < s.naive.tensors.size(); ++k)
      if (mentions(*text, s.naive.tensors[k].name))
        sizes[s.naive.tensors[k].name] = elements(s.naive, static_cast<TensorId>(k));
  }
  return sizes;
}

bool keeps(const Graph& g, const Sizes& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [&](const auto& entry) {
    const auto t = g.find_tensor(entry.first);
    return !t || elements(g, *t) == entry.second;
  });
}

Verdict check_here(const Session& parent, const Graph& g,
                   const std::map<std::string, Array>& arrays,
                   const std::vector<std::string>& devices) {
  Options o = parent.options;
  o.quiet = true;
  o.schedule_out.clear();
  Environment e = parent.environment;
  e.use_cache = false;
  Session s(std::move(o), std::move(e));
  Verdict verdict;
  auto done = s.adopt(g);
  if (done) {
    s.give(arrays);
    done = check_devices(s, devices, [&](const DeviceCheck& c) {
      if (!c.ok() && verdict.failure.empty()) verdict.failure = failure_of(s, c);
    });
  }
  if (done || !verdict.failure.empty()) return verdict;
  const Diagnostic& d = done.error().at(0);
  if (is_failure(d)) return {"error " + d.id, std::nullopt};
  return {"", d};
}

std::string encode(const Verdict& v) {
  nlohmann::json value = {{"failure", v.failure}};
  if (v.refused)
    value["refused"] = {v.refused->id, v.refused->message, v.refused->hint,
                        static_cast<int>(v.refused->exit)};
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<Verdict> decode(const std::string& text) {
  const auto value = nlohmann::json::parse(text, nullptr, false);
  if (!value.is_object()) return std::nullopt;
  Verdict v{value["failure"], std::nullopt};
  if (value.contains("refused")) {
    const auto& r = value["refused"];
    v.refused = error(r[0], r[1], r[2], static_cast<Exit>(r[3].get<int>())).value();
  }
  return v;
}

// Everything the other end writes until it closes; nothing once `end` has passed.
std::optional<std::string> read_until(int descriptor, Clock::time_point end) {
  std::string text;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now()).count();
    pollfd ready = {descriptor, POLLIN, 0};
    const int n = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(std::min<int64_t>(left, 60000)));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (Clock::now() >= end) return std::nullopt;
      continue;
    }
    char chunk[4096];
    const ssize_t got = read(descriptor, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(chunk, static_cast<size_t>(got));
  }
}

// The check in a child, that is killed when the time is up.
Verdict check_apart(const std::function<Verdict()>& check, milliseconds limit) {
  int pipes[2];
  if (pipe(pipes) != 0) return check();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    close(pipes[0]), close(pipes[1]);
    return check();
  }
  if (child == 0) {
    close(pipes[0]);
    setpgid(0, 0);  // so that a compiler it started ends with it
    const std::string text = encode(check());
    for (size_t at = 0; at < text.size();) {
      const ssize_t n = write(pipes[1], text.data() + at, text.size() - at);
      if (n <= 0) break;
      at += static_cast<size_t>(n);
    }
    _exit(0);
  }
  close(pipes[1]);
  const auto text = read_until(pipes[0], Clock::now() + limit);
  close(pipes[0]);
  if (!text && kill(-child, SIGKILL) != 0) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!text) return {"timeout", std::nullopt};
  if (WIFSIGNALED(status)) return {fmt::format("signal {}", WTERMSIG(status)), std::nullopt};
  return decode(*text).value_or(Verdict{fmt::format("exit {}", WEXITSTATUS(status)), std::nullopt});
}

std::string again(const Options& o) {
  const std::string devices = fmt::format("{}", fmt::join(o.devices, ","));
  return "tang check FILE" + (devices.empty() ? "" : " --device " + devices) + input_arguments(o);
}

}  // namespace

Outcome<void> reduce_command(Session& s) {
  const auto devices = s.devices(true);
  if (!devices) return fail(devices.error());
  if (auto ok = s.load(true); !ok) return ok;
  const std::map<std::string, Array> arrays = s.given_arrays();
  const auto check = [&](const Graph& g, milliseconds limit) {
    return check_apart([&] { return check_here(s, g, arrays, *devices); }, limit);
  };
  const milliseconds budget(static_cast<int64_t>(1000 * s.options.budget));
  const auto begin = Clock::now();
  const Verdict first = check(s.naive, budget);
  if (first.refused) return fail(*first.refused);
  if (first.failure.empty())
    return fail(error("E0808", fmt::format("{}: the program passes check", s.options.file),
                      "there is nothing to reduce; give the options that make check fail")
                    .value());
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
  const milliseconds limit =
      first.failure == "timeout" ? milliseconds(2000) : std::max(milliseconds(5000), 4 * took);
  s.log("", fmt::format("fails: {}", first.failure));
  const Sizes sizes = replaced_sizes(s);
  const auto fails = [&](const Graph& g) {
    return keeps(g, sizes) && check(g, limit).failure == first.failure;
  };
  const Reduced r = reduce(s.naive, fails, {.budget = budget});
  s.log("", fmt::format("{} definitions of {}, {} candidates tried{}\nagain: {}",
                        r.graph.order().size(), s.naive.order().size(), r.trials,
                        r.exhausted ? "" : "; the budget ended the search (--budget)",
                        again(s.options)));
  if (s.options.json)
    s.print_json({{"schema", 1},
                  {"text", r.text},
                  {"failure", first.failure},
                  {"candidates", r.trials},
                  {"complete", r.exhausted}});
  else
    s.out += r.text;
  return {};
}

}  // namespace tang::cli
