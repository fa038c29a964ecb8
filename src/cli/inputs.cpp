// Arrays from files: --in NAME=FILE[:MEMBER] and --in FILE.
#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/session.h"
#include "front/array_file.h"

namespace tang::cli {

namespace {

struct Spec {
  std::string name;  // empty: every member that names an input
  std::string path;
  std::optional<std::string> member;
};

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

Spec spec_of(const std::string& word) {
  Spec spec{"", word, std::nullopt};
  const size_t at = word.find('=');
  const auto letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  if (at != std::string::npos && at > 0 &&
      std::all_of(word.begin(), word.begin() + static_cast<long>(at), letter)) {
    spec.name = word.substr(0, at);
    spec.path = word.substr(at + 1);
  }
  const size_t colon = spec.path.rfind(':');
  if (!spec.name.empty() && colon != std::string::npos && !exists(spec.path)) {
    spec.member = spec.path.substr(colon + 1);
    spec.path.resize(colon);
  }
  return spec;
}

std::string input_names(const Graph& g) {
  std::vector<std::string> names;
  for (TensorId t : inputs_of(g)) names.push_back(g[t].name);
  return names.empty() ? "the program has no inputs"
                       : fmt::format("the inputs are `{}`", fmt::join(names, "`, `"));
}

}  // namespace

Outcome<void> Session::read_inputs(Bindings& bindings) {
  const std::vector<TensorId> ids = inputs_of(naive);
  given_.resize(ids.size());
  const auto position = [&](const std::string& name) -> std::optional<size_t> {
    for (size_t k = 0; k < ids.size(); ++k)
      if (naive[ids[k]].name == name) return k;
    return std::nullopt;
  };
  const auto take = [&](size_t k, Array array) -> Outcome<void> {
    const Tensor& t = naive[ids[k]];
    if (given_[k])
      return fail(
          error("E0801", fmt::format("input `{}` is given twice", t.name), "give it once").value());
    bindings.shapes[t.name] = array.shape;
    auto fitted = convert(std::move(array), t.storage(), t.name);
    if (!fitted) return fail(fitted.error());
    given_[k] = std::move(*fitted);
    return {};
  };
  for (const std::string& word : options.in) {
    const Spec spec = spec_of(word);
    if (spec.name.empty()) {
      auto file = ArrayFile::open(spec.path);
      if (!file) return fail(file.error());
      bool any = false;
      for (const ArrayFile::Member& m : file->members()) {
        const auto k = position(m.name);
        if (!k) continue;
        any = true;
        auto array = m.load();
        if (!array) return fail(array.error());
        if (auto taken = take(*k, std::move(*array)); !taken) return taken;
      }
      if (!any)
        return fail(error("E0707",
                          fmt::format("{}: no member of the file names an input", spec.path),
                          input_names(naive) + "; write --in NAME=FILE")
                        .value());
      continue;
    }
    const auto k = position(spec.name);
    if (!k)
      return fail(error("E0707",
                        fmt::format("--in {}: the program has no input `{}`", word, spec.name),
                        input_names(naive))
                      .value());
    if (file_type(spec.path) == FileType::raw) {
      if (!exists(spec.path))
        return fail(error("E0701", fmt::format("{}: there is no such file", spec.path)).value());
      raw_.emplace_back(ids[*k], spec.path);
      continue;
    }
    auto array = read_array(spec.path, spec.member);
    if (!array) return fail(array.error());
    if (auto taken = take(*k, std::move(*array)); !taken) return taken;
  }
  return {};
}

}  // namespace tang::cli
