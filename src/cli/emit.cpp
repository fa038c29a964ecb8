// tang emit: sources and a manifest.
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "cli/commands.h"
#include "emit/c_source.h"

namespace tang::cli {

namespace {

// Only targets with limits can exceed them; the C target meets every limits file that is well
// formed.
Outcome<void> check_limits(const std::string& path) {
  const auto text = read_file(path, 1 << 24);
  if (!text) return fail(text.error());
  const auto limits = parse_json(*text, path, "E0807");
  if (!limits) return fail(limits.error());
  static const std::vector<std::string> numbers = {"threads",       "shared_bytes", "buffers",
                                                   "binding_bytes", "groups",       "subgroup"};
  if (!limits->is_object())
    return fail(error("E0807", fmt::format("{}: limits are an object", path)).value());
  for (const auto& [name, value] : limits->items()) {
    const bool number = std::find(numbers.begin(), numbers.end(), name) != numbers.end();
    if (!number && name != "f16")
      return fail(error("E0807", fmt::format("{}: there is no limit `{}`", path, name),
                        fmt::format("limits are {}, f16", fmt::join(numbers, ", ")))
                      .value());
    if (number ? !value.is_number_unsigned() : !value.is_boolean())
      return fail(error("E0807", fmt::format("{}: limit `{}` is {}", path, name, value.dump()),
                        number ? "it is an integer from 0 on" : "it is true or false")
                      .value());
  }
  return {};
}

std::string stem_of(const Session& s) {
  if (s.options.file == "-") return "program";
  const std::string stem = std::filesystem::path(s.options.file).stem().string();
  return stem.empty() ? "program" : stem;
}

Outcome<void> check_target(const Session& s) {
  static const std::vector<std::string> planned = {"cuda", "opencl", "glsl", "wgsl", "msl"};
  const std::string& target = s.options.target;
  if (target == "c") return {};
  if (std::find(planned.begin(), planned.end(), target) != planned.end())
    return fail(
        error("E0806", fmt::format("target `{}` is not built yet", target), "use --target c")
            .value());
  return fail(error("E0802", fmt::format("there is no target `{}`", target),
                    "targets are c, cuda, opencl, glsl, wgsl, msl")
                  .value());
}

}  // namespace

Outcome<void> emit_command(Session& s) {
  const Options& o = s.options;
  if (auto ok = check_target(s); !ok) return ok;
  if (o.output_dir.empty())
    return fail(error("E0801", "emit needs a directory to write into", "add -o DIR").value());
  if (!o.limits.empty())
    if (auto ok = check_limits(o.limits); !ok) return ok;
  if (auto ok = s.load(false); !ok) return ok;
  Graph g = s.naive;
  if (!o.naive) {
    auto d = s.derive_program();
    if (!d) return fail(d.error());
    g = std::move(d->derived);
  }
  auto v = s.lower_program(g, o.naive);
  if (!v) return fail(v.error());
  const std::string stem = stem_of(s), file = stem + ".c", header = stem + ".h";
  const std::string source = c_source(v->program());
  if (s.passed("emit", [&] { return source; })) return stop();
  const auto record = manifest(v->program(), file, header);
  std::error_code failed;
  std::filesystem::create_directories(o.output_dir, failed);
  if (failed)
    return fail(error("E0708", fmt::format("{}: the directory cannot be made: {}", o.output_dir,
                                           failed.message()))
                    .value());
  const std::vector<std::pair<std::string, std::string>> files = {
      {file, source},
      {header, c_header(v->program(), stem)},
      {"manifest.json", record.dump(2) + "\n"}};
  nlohmann::json names = nlohmann::json::array();
  for (const auto& [name, text] : files) {
    const std::string path = o.output_dir + "/" + name;
    if (auto done = write_file(path, text); !done) return fail(done.error());
    names.push_back(name);
    if (!o.json) s.out += path + "\n";
  }
  if (!o.json) return {};
  nlohmann::json kernels = nlohmann::json::array();
  for (const loop::Kernel& k : v->program().kernels)
    kernels.push_back({{"name", k.name}, {"file", file}, {"entry", "tang_run"}});
  s.print_json({{"schema", 1},
                {"target", o.target},
                {"files", names},
                {"kernels", kernels},
                {"allocations", allocations_json(*v)}});
  return {};
}

}  // namespace tang::cli
