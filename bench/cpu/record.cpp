#include "cpu/record.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "cli/text.h"

namespace tang::bench_cpu {
namespace {

nlohmann::ordered_json number(const std::optional<double>& x) {
  if (!x || !std::isfinite(*x)) return nullptr;
  return std::strtod(fmt::format("{:.6g}", *x).c_str(), nullptr);
}

std::string optional_text(const std::optional<double>& x) {
  return x ? fmt::format("{:.2f}", *x) : "";
}

}  // namespace

std::optional<bool> Record::pass() const {
  if (!ok()) return false;
  if (!gate) return std::nullopt;
  return ratio() >= *gate || (fraction_gate && fraction && *fraction >= *fraction_gate);
}

nlohmann::ordered_json to_json(const Record& r) {
  nlohmann::ordered_json j = {
      {"schema", 1},  {"suite", r.suite},         {"case", r.name}, {"threads", r.threads},
      {"ok", r.ok()}, {"error", number(r.error)}, {"tol", r.tol}};
  if (!r.failure.empty()) {
    j["failure"] = r.failure;
  } else {
    const auto& [peer, timing] = r.peers[r.judged];
    j["tang_ms"] = number(r.tang.median_ms);
    j["tang_min_ms"] = number(r.tang.min_ms);
    j["peer"] = peer;
    j["peer_ms"] = number(timing.median_ms);
    j["peer_min_ms"] = number(timing.min_ms);
    j["ratio"] = number(r.ratio());
    j["fraction"] = number(r.fraction);
    j["gate"] = number(r.gate);
    j["fraction_gate"] = number(r.fraction_gate);
    j["pass"] = r.pass() ? nlohmann::ordered_json(*r.pass()) : nullptr;
    if (r.yardstick_gbs) j["yardstick_gb_s"] = number(r.yardstick_gbs);
    if (r.tang.p999_ms > 0) {
      j["tang_p999_ms"] = number(r.tang.p999_ms);
      j["peer_p999_ms"] = number(timing.p999_ms);
    }
    auto others = nlohmann::ordered_json::array();
    for (size_t k = 0; k < r.peers.size(); ++k)
      if (k != r.judged)
        others.push_back({{"peer", r.peers[k].first}, {"ms", number(r.peers[k].second.median_ms)}});
    j["others"] = others;
    j["clock"] = r.clock == ClockKind::cpu ? "cpu" : "wall";
    j["tang_threads"] = r.tang_threads;
    j["rounds"] = r.tang.rounds;
    j["tang_spread"] = number(r.tang.spread);
    j["peer_spread"] = number(timing.spread);
  }
  j["load"] = number(r.load);
  j["device"] = processor_name();
  j["date"] = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  j["commit"] = version_commit;
  return j;
}

std::string table_of(std::vector<Record> records) {
  const auto key = [](const Record& r) { return r.failure.empty() ? r.ratio() : 0; };
  std::stable_sort(records.begin(), records.end(),
                   [&](const Record& a, const Record& b) { return key(a) < key(b); });
  std::vector<std::vector<std::string>> rows = {
      {"suite", "case", "threads", "tang", "peer", "", "ratio", "gate", "fraction", "error", ""}};
  for (const Record& r : records) {
    if (!r.failure.empty()) {
      rows.push_back({r.suite, r.name, fmt::format("{}", r.threads), r.failure});
      continue;
    }
    const auto& [peer, timing] = r.peers[r.judged];
    const auto pass = r.pass();
    rows.push_back({r.suite, r.name, fmt::format("{}", r.threads), cli::duration(r.tang.median_ms),
                    cli::duration(timing.median_ms), peer, fmt::format("{:.3f}", r.ratio()),
                    optional_text(r.gate), optional_text(r.fraction),
                    fmt::format("{:.0e}", r.error),
                    !pass   ? ""
                    : *pass ? "pass"
                            : "FAIL"});
  }
  return cli::table(rows, "llrrrlrrrrl");
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::map<std::string, std::string> first;
  for (std::string line; std::getline(file, line);)
    if (const size_t colon = line.find(':'); colon != std::string::npos && colon + 2 <= line.size())
      first.emplace(line.substr(0, line.find_first_of("\t:")), line.substr(colon + 2));
  return fmt::format("{} family {} model {}", first["model name"], first["cpu family"],
                     first["model"]);
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

double largest_error(const std::vector<float>& out, const std::vector<double>& reference) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (out.size() != reference.size() || out.empty()) return nan;
  double error = 0, largest = 0;
  for (size_t k = 0; k < out.size(); ++k) {
    const double distance = std::abs(static_cast<double>(out[k]) - reference[k]);
    if (!std::isfinite(distance)) return nan;
    error = std::max(error, distance);
    largest = std::max(largest, std::abs(reference[k]));
  }
  return largest > 0 ? error / largest : error;
}

}  // namespace tang::bench_cpu
