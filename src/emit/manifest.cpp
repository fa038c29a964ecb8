#include <algorithm>

#include "emit/c_source.h"
#include "emit/gpu_source.h"
#include "emit/parts.h"

namespace tang {

namespace {

using Json = nlohmann::ordered_json;
using loop::Buffer;
using loop::BufferId;
using loop::Kernel;
using loop::Program;

// A number where it is known, otherwise the polynomial as a string.
Json extent(const Program& program, const Poly& poly) {
  if (const auto value = poly.constant()) return *value;
  return poly.text([&](ParamId p) { return program.symbols[index(p)]; });
}

Json describe(const Program& program, BufferId id) {
  const Buffer& b = program[id];
  Json row = {{"name", b.name},
              {"role", name(b.role)},
              {"format", name(b.format)},
              {"elements", extent(program, b.count)}};
  if (b.into) row["into"] = program[*b.into].name;
  return row;
}

Json touched(const Program& program, const Kernel& kernel) {
  Json rows = Json::array();
  for (size_t k = 0; k < program.buffers.size(); ++k) {
    const BufferId id = static_cast<BufferId>(k);
    const auto in = [&](const std::vector<BufferId>& list) {
      return std::find(list.begin(), list.end(), id) != list.end();
    };
    const bool reads = in(kernel.reads), writes = in(kernel.writes);
    if (!reads && !writes) continue;
    Json row = describe(program, id);
    row["access"] = reads && writes ? "read_write" : writes ? "write" : "read";
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

nlohmann::ordered_json manifest(const LoopProgram& program, const std::string& file,
                                const std::string& header) {
  Json buffers = Json::array(), workspace = Json::array(), kernels = Json::array();
  for (BufferId id : program.arguments()) buffers.push_back(describe(program, id));
  for (size_t k = 0; k < program.buffers.size(); ++k) {
    const BufferId id = static_cast<BufferId>(k);
    if (program[id].role == loop::Role::workspace) workspace.push_back(describe(program, id));
  }
  for (const Kernel& kernel : program.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"file", file},
                       {"entry", "tang_run"},
                       {"bindings", touched(program, kernel)},
                       {"grid", {1, 1, 1}},
                       {"limits", Json::object()}});
  }
  Json files = {file};
  if (!header.empty()) files.push_back(header);
  Json all = {{"schema", 1},
              {"target", "c"},
              {"files", files},
              {"entry", "tang_run"},
              {"workspace_entry", "tang_workspace"},
              {"buffers", buffers},
              {"symbols", program.symbols},
              {"workspace", workspace},
              {"kernels", kernels}};
  if (!program.prepares.empty()) {
    Json prepares = Json::array();
    for (const Kernel& kernel : program.prepares)
      prepares.push_back({{"name", kernel.name}, {"bindings", touched(program, kernel)}});
    all["prepare_entry"] = "tang_prepare";
    all["prepares"] = prepares;
  }
  if (has_parts(program)) all["part_entry"] = "tang_run_part";
  return all;
}

nlohmann::ordered_json manifest(const LoopProgram& program, const GpuSource& source,
                                const std::vector<std::string>& files) {
  Json all = manifest(program, "", "");
  all["target"] = name(source.dialect);
  all["files"] = files;
  for (const char* entry : {"entry", "workspace_entry", "prepare_entry", "part_entry", "prepares"})
    all.erase(entry);
  const auto describe_all = [&](const std::vector<Kernel>& kernels,
                                const std::vector<size_t>& functions) {
    Json rows = Json::array();
    for (size_t k = 0; k < kernels.size(); ++k) {
      const GpuFunction& f = source.functions[functions[k]];
      Json bound = Json::array(), symbols = Json::array();
      for (const BufferId id : tang::bindings(program, kernels[k]))
        bound.push_back(describe(program, id));
      for (const ParamId p : f.symbols) symbols.push_back(program.symbols[index(p)]);
      Json grid = nullptr;  // of the sizes of a run
      if (program.symbols.empty()) grid = {trips(kernels[k], {}, 1024), 1, 1};
      rows.push_back({{"name", kernels[k].name},
                      {"file", files[functions[k]]},
                      {"entry", source.dialect == Dialect::glsl ? "main" : f.entry},
                      {"bindings", bound},
                      {"symbols", symbols},
                      {"grid", grid},
                      {"limits", {{"threads", f.threads}, {"shared_bytes", f.shared_bytes}}}});
    }
    return rows;
  };
  all["kernels"] = describe_all(program.kernels, source.kernels);
  if (!program.prepares.empty()) all["prepares"] = describe_all(program.prepares, source.prepares);
  return all;
}

}  // namespace tang
