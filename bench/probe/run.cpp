#include "probe/run.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <mutex>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "probe/question.h"

namespace tang::probe {

namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm t{};
  gmtime_r(&now, &t);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", &t);
  return text;
}

// All results, written as they come and once more in order at the end.
class Results {
 public:
  explicit Results(std::string file) : file_(std::move(file)), date_(today()), out_(file_) {}

  void add(size_t number, nlohmann::json j) {
    const std::lock_guard lock(mutex_);
    j["date"] = date_;
    if (j.contains("device")) device_ = j["device"];
    out_ << j.dump() << "\n";
    out_.flush();
    all_[number].push_back(std::move(j));
  }

  // How many failed.
  size_t finish() {
    out_.close();
    std::ofstream out(file_);
    size_t count = 0, failed = 0;
    std::map<std::string, std::pair<size_t, std::string>> by_row;
    for (const auto& [number, list] : all_)
      for (const nlohmann::json& j : list) {
        out << j.dump() << "\n";
        ++count;
        if (j["ok"]) continue;
        ++failed;
        if (j.contains("question")) continue;
        auto& [times, what] = by_row[j["row"]];
        if (times++ == 0)
          what = fmt::format("{} | {} | {}: {}", j.value("major", ""), j.value("swizzle", ""),
                             j.value("operands", ""), j["what"].get<std::string>());
      }
    out << nlohmann::json{{"schema", 1},      {"summary", true},   {"cases", count},
                          {"failed", failed}, {"device", device_}, {"date", date_}}
               .dump()
        << "\n";
    for (const auto& [row, entry] : by_row)
      fmt::print("{} x{}: {}\n", row, entry.first, entry.second);
    for (const auto& [number, list] : all_)
      for (const nlohmann::json& j : list)
        if (j.contains("question"))
          fmt::print("{}{}: {}\n",
                     j["ok"] ? "" : "NOT AS THE TABLE SAYS: ", j["row"].get<std::string>(),
                     j["what"].get<std::string>());
    fmt::print("{} cases, {} failed\n", count, failed);
    return failed;
  }

 private:
  std::string file_, date_, device_;
  std::ofstream out_;
  std::mutex mutex_;
  std::map<size_t, std::vector<nlohmann::json>> all_;
};

struct Child {
  pid_t id = -1;
  int output = -1;
};

Child start(const RunOptions& o, size_t from, size_t to) {
  std::vector<std::string> words{"tang-probe",         "cases", o.folder,          "--from",
                                 std::to_string(from), "--to",  std::to_string(to)};
  if (!o.only.empty()) words.insert(words.end(), {"--only", o.only});
  std::vector<char*> list;
  for (const std::string& w : words) list.push_back(const_cast<char*>(w.c_str()));
  list.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t id = fork();
  if (id == 0) {
    dup2(ends[1], 1);
    execv("/proc/self/exe", list.data());
    _exit(127);
  }
  close(ends[1]);
  return {id, ends[0]};
}

// Follows one child to its end; returns the case to go on with.
class Follower {
 public:
  Follower(const Plan& plan, const RunOptions& options, Results& results)
      : plan_(plan), options_(options), results_(results) {}

  size_t follow(const Child& child, size_t from) {
    current_ = from;
    finished_ = started_ = false;
    std::string rest;
    char buffer[4096];
    bool hangs = false;
    for (;;) {
      pollfd p{child.output, POLLIN, 0};
      const int ready = poll(&p, 1, options_.limit_s * 1000);
      if (ready == 0) {
        hangs = true;
        kill(child.id, SIGKILL);
        break;
      }
      const ssize_t n = read(child.output, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      rest.append(buffer, static_cast<size_t>(n));
      for (size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
        take(rest.substr(0, end));
        rest.erase(0, end + 1);
      }
    }
    close(child.output);
    int status = 0;
    waitpid(child.id, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return options_.to;
    if (!finished_) lost(hangs, status);
    return started_ ? current_ + 1 : options_.to;
  }

 private:
  void take(const std::string& line) {
    size_t number = 0;
    int used = 0;
    if (std::sscanf(line.c_str(), "begin %zu", &number) == 1) {
      current_ = number;
      started_ = true;
      finished_ = false;
    } else if (std::sscanf(line.c_str(), "result %zu %n", &number, &used) == 1) {
      finished_ = true;
      results_.add(number, nlohmann::json::parse(line.substr(static_cast<size_t>(used))));
    }
  }

  void lost(bool hangs, int status) {
    nlohmann::json j;
    const bool question = current_ >= plan_.cases.size();
    j["schema"] = 1;
    j["ok"] = false;
    j["what"] = !started_ ? "the child did not start: no device?"
                : hangs   ? fmt::format("hangs: no end after {} s", options_.limit_s)
                          : fmt::format("the process died with status {}", status);
    if (question) {
      j["question"] = j["row"] = questions()[current_ - plan_.cases.size()].name;
    } else {
      const Case& c = plan_.cases[current_];
      j["row"] = plan_.kernel(c).row->name_at(c.sizes);
      j["sizes"] = plan_.sizes(c);
      j["major"] = plan_.majors(c);
      j["swizzle"] = plan_.swizzles(c);
    }
    results_.add(current_, j);
  }

  const Plan& plan_;
  const RunOptions& options_;
  Results& results_;
  size_t current_ = 0;
  bool started_ = false, finished_ = false;
};

void run_range(const Plan& plan, RunOptions options, size_t from, size_t to, Results& results) {
  options.to = to;
  Follower follower(plan, options, results);
  while (from < to) {
    const Child child = start(options, from, to);
    if (child.id < 0) return;
    from = follower.follow(child, from);
  }
}

}  // namespace

Result<size_t> run(const Plan& plan, const RunOptions& options) {
  const size_t end = std::min(options.to, plan.cases.size() + questions().size());
  const size_t rows_end = std::min(end, plan.cases.size());
  Results results(options.out);
  const size_t from = std::min(options.from, rows_end), jobs = static_cast<size_t>(options.jobs);
  std::vector<std::thread> threads;
  for (size_t j = 0; j < jobs; ++j)
    threads.emplace_back([&, j] {
      const size_t count = rows_end - from;
      run_range(plan, options, from + count * j / jobs, from + count * (j + 1) / jobs, results);
    });
  for (std::thread& t : threads) t.join();
  // One after the other: some are measurements.
  run_range(plan, options, std::max(options.from, plan.cases.size()), end, results);
  return results.finish();
}

}  // namespace tang::probe
