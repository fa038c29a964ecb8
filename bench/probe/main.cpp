// tang-probe: the instruction tables against the hardware.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "probe/question.h"
#include "probe/run.h"

namespace tang::probe {
namespace {

int fail(const Diagnostic& d) {
  std::cerr << "tang-probe: " << d.message << "\n";
  return static_cast<int>(d.exit);
}

// A file that stays as it is keeps its time, and what is made from it.
void write_if_new(const std::string& file, const std::string& text) {
  std::ifstream in(file, std::ios::binary);
  if (std::string(std::istreambuf_iterator<char>(in), {}) == text) return;
  std::ofstream(file, std::ios::binary) << text;
}

int emit(const Plan& plan, const std::string& folder) {
  for (size_t from = 0; from < plan.kernels.size(); from += kernels_per_file) {
    const size_t to = std::min(plan.kernels.size(), from + kernels_per_file);
    const std::vector<Kernel> some(plan.kernels.begin() + static_cast<int64_t>(from),
                                   plan.kernels.begin() + static_cast<int64_t>(to));
    const std::string file = fmt::format("{}/rows_{:02}.cu", folder, from / kernels_per_file);
    write_if_new(file, file_text(some));
  }
  fmt::print("{} kernels, {} cases, {} questions\n", plan.kernels.size(), plan.cases.size(),
             questions().size());
  return 0;
}

// The first case of each row, with the number of its cases.
int list(const Plan& plan) {
  for (size_t k = 0; k < plan.cases.size();) {
    const Row* row = plan.kernel(plan.cases[k]).row;
    size_t end = k;
    while (end < plan.cases.size() && plan.kernel(plan.cases[end]).row == row) ++end;
    fmt::print("{:5} {} x{}\n", k, row->name, end - k);
    k = end;
  }
  for (size_t k = 0; k < questions().size(); ++k)
    fmt::print("{:5} {}\n", plan.cases.size() + k, questions()[k].name);
  return 0;
}

int main_of(int argc, char** argv) {
  CLI::App app("The instruction tables against the hardware");
  app.require_subcommand(1);
  RunOptions o;
  auto* emits = app.add_subcommand("emit", "write the kernels as CUDA sources");
  auto* runs = app.add_subcommand("run", "run all cases, write a JSON line for each");
  auto* cases = app.add_subcommand("cases", "run cases in this process (a child of run)");
  auto* lists = app.add_subcommand("list", "the rows and how many cases each has");
  for (CLI::App* a : {emits, runs, cases}) a->add_option("dir", o.folder)->required();
  runs->add_option("--out", o.out, "file of the results")->required();
  runs->add_option("--jobs", o.jobs, "processes");
  runs->add_option("--limit", o.limit_s, "seconds that a case may take");
  for (CLI::App* a : {runs, cases}) {
    a->add_option("--from", o.from, "first case");
    a->add_option("--to", o.to, "case after the last");
    a->add_option("--only", o.only, "part of a row's name");
  }
  CLI11_PARSE(app, argc, argv);
  const Result<Tables>& tables = shipped_tables();
  if (!tables) return fail(tables.error());
  const Plan plan = make_plan(*tables);
  if (emits->parsed()) return emit(plan, o.folder);
  if (lists->parsed()) return list(plan);
  if (cases->parsed()) {
    const auto r = run_here(plan, o);
    // A device that hangs would keep the driver's own end waiting.
    if (!r) std::_Exit(fail(r.error()));
    return 0;
  }
  const auto failed = run(plan, o);
  if (!failed) return fail(failed.error());
  return *failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tang::probe

int main(int argc, char** argv) { return tang::probe::main_of(argc, argv); }
