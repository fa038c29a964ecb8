// tang emit: sources and a manifest.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "cli/commands.h"
#include "emit/c_source.h"
#include "emit/gpu_source.h"
#include "ir/bind.h"

namespace tang::cli {

namespace {

std::string stem_of(const Session& s) {
  if (s.options.file == "-") return "program";
  const std::string stem = std::filesystem::path(s.options.file).stem().string();
  return stem.empty() ? "program" : stem;
}

Outcome<void> check_target(const Session& s) {
  const std::string& target = s.options.target;
  if (target == "c" || parse_dialect(target)) return {};
  return fail(error("E0802", fmt::format("there is no target `{}`", target),
                    "targets are c, cuda, opencl, glsl, wgsl, msl")
                  .value());
}

// What a limits file says, over the least that devices of the target offer; the C target meets
// every limits file that is well formed.
Outcome<Capability> capability_of(const Session& s) {
  const Capability base = least(parse_dialect(s.options.target).value_or(Dialect::opencl));
  if (s.options.limits.empty()) return base;
  const auto text = read_file(s.options.limits, 1 << 24);
  if (!text) return fail(text.error());
  auto limits = with_limits(base, *text, s.options.limits);
  if (!limits) return fail(limits.error());
  return std::move(*limits);
}

struct Emitted {
  std::vector<std::pair<std::string, std::string>> files;  // by name
  nlohmann::ordered_json record;
  std::vector<std::pair<std::string, std::string>> kernels;  // file and entry of each
};

Emitted emit_c(const Variant& v, const std::string& stem) {
  const std::string file = stem + ".c", header = stem + ".h";
  Emitted e;
  e.record = manifest(v.program(), file, header);
  e.files = {{file, c_source(v.program())}, {header, c_header(v.program(), stem)}};
  for (size_t k = 0; k < v.program().kernels.size(); ++k) e.kernels.emplace_back(file, "tang_run");
  return e;
}

// Indices need 64 bits at the sizes given; at sizes that are not, they may, where there are any.
bool is_wide(const Variant& v, const Capability& capability) {
  constexpr int64_t most = int64_t{1} << 30;
  const std::vector<loop::Buffer>& buffers = v.program().buffers;
  return std::any_of(buffers.begin(), buffers.end(), [&](const loop::Buffer& b) {
    const auto count = bound_value(v.graph, b.count);
    return count ? *count >= most : capability.wide_addresses;
  });
}

Outcome<Emitted> emit_groups(Session& s, const Variant& v, const Capability& capability) {
  auto source = gpu_source(v.program(), {capability, is_wide(v, capability)});
  if (!source) return fail(source.error());
  for (const Diagnostic& d : warnings(v.program(), capability)) s.warn(d);
  Emitted e;
  std::vector<std::string> names;
  for (const GpuFunction& f : source->functions) {
    names.push_back(f.entry + std::string(suffix(source->dialect)));
    e.files.emplace_back(names.back(), f.source);
  }
  e.record = manifest(v.program(), *source, names);
  for (const auto& kernel : e.record.at("kernels"))
    e.kernels.emplace_back(kernel.at("file"), kernel.at("entry"));
  return e;
}

}  // namespace

Outcome<void> emit_command(Session& s) {
  const Options& o = s.options;
  if (auto ok = check_target(s); !ok) return ok;
  if (o.output_dir.empty())
    return fail(error("E0801", "emit needs a directory to write into", "add -o DIR").value());
  const auto capability = capability_of(s);
  if (!capability) return fail(capability.error());
  if (o.target != "c")
    if (auto ok = s.plan_for(*capability); !ok) return ok;
  if (auto ok = s.load(false); !ok) return ok;
  Graph g = s.naive;
  if (!o.naive) {
    auto d = s.derive_program();
    if (!d) return fail(d.error());
    g = std::move(d->derived);
  }
  auto v = s.lower_program(g, o.naive);
  if (!v) return fail(v.error());
  auto emitted =
      o.target == "c" ? Outcome<Emitted>(emit_c(*v, stem_of(s))) : emit_groups(s, *v, *capability);
  if (!emitted) return fail(emitted.error());
  const auto all = [&] {
    std::string text;
    for (const auto& [name, source] : emitted->files)
      if (!name.ends_with(".h")) text += source;
    return text;
  };
  if (s.passed("emit", all)) return stop();
  std::error_code failed;
  std::filesystem::create_directories(o.output_dir, failed);
  if (failed)
    return fail(error("E0708", fmt::format("{}: the directory cannot be made: {}", o.output_dir,
                                           failed.message()))
                    .value());
  emitted->files.emplace_back("manifest.json", emitted->record.dump(2) + "\n");
  nlohmann::json names = nlohmann::json::array();
  for (const auto& [name, text] : emitted->files) {
    const std::string path = o.output_dir + "/" + name;
    if (auto done = write_file(path, text); !done) return fail(done.error());
    names.push_back(name);
    if (!o.json) s.out += path + "\n";
  }
  if (!o.json) return {};
  nlohmann::json kernels = nlohmann::json::array();
  for (size_t k = 0; k < emitted->kernels.size(); ++k)
    kernels.push_back({{"name", v->program().kernels[k].name},
                       {"file", emitted->kernels[k].first},
                       {"entry", emitted->kernels[k].second}});
  s.print_json({{"schema", 1},
                {"target", o.target},
                {"files", names},
                {"kernels", kernels},
                {"allocations", allocations_json(*v)}});
  return {};
}

}  // namespace tang::cli
