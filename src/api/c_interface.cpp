// The C interface over the C++ API.
#include <charconv>
#include <new>
#include <tang/tang.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/tang.h"
#include "base/version.h"
#include "ir/bind.h"

struct tang_error {
  std::string id, message;
  int exit_code = 0;
};

struct tang_program {
  tang::Program program;
  std::vector<tang_port> inputs, outputs;
};

namespace tang {

namespace {

int fail(const Diagnostic& d, std::string message, tang_error** error) {
  const int code =
      d.exit == Exit::ok ? static_cast<int>(Exit::bad_input) : static_cast<int>(d.exit);
  if (error) *error = new (std::nothrow) tang_error{d.id, std::move(message), code};
  return code;
}

int fail(const Diagnostic& d, tang_error** error) { return fail(d, render(d, nullptr), error); }

// No exception leaves the library: standard containers throw where memory ends.
template <class Call>
int guarded(tang_error** error, Call call) {
  if (error) *error = nullptr;
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory("tang", "more bytes than there are"), error);
  }
}

Result<int64_t> number(std::string_view key, std::string_view text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc() && end == text.data() + text.size()) return value;
  return error("E0801", fmt::format("option `{}`: `{}` is no integer", key, text));
}

Result<void> set_math(CompileSettings& s, std::string_view value) {
  for (const auto& [name, math] :
       {std::pair("ieee", MathMode::ieee), {"real", MathMode::real}, {"fast", MathMode::fast}})
    if (value == name) return s.math = math, Result<void>();
  return error("E0801", fmt::format("option `math`: there is no mode `{}`", value),
               "modes are ieee, real, fast");
}

Result<void> set(CompileSettings& s, const std::string& key, const std::string& value) {
  static constexpr std::string_view param = "param.";
  const std::pair<const char*, std::string*> texts[] = {
      {"device", &s.device}, {"cache_dir", &s.cache_dir}, {"cc", &s.cc},
      {"path", &s.path},     {"temp_dir", &s.temp_dir},   {"webgpu_library", &s.webgpu_library}};
  for (const auto& [name, place] : texts)
    if (key == name) return *place = value, Result<void>();
  if (key == "math") return set_math(s, value);
  if (key != "threads" && !key.starts_with(param))
    return error(
        "E0801", fmt::format("there is no option `{}`", key),
        "options are device, threads, cache_dir, cc, path, temp_dir, webgpu_library, math, "
        "param.NAME");
  const auto n = number(key, value);
  if (!n) return tl::unexpected(n.error());
  if (key == "threads")
    s.threads = static_cast<int>(std::clamp<int64_t>(*n, 1, 1024));
  else
    s.params[key.substr(param.size())] = *n;
  return {};
}

std::vector<tang_port> ports(const std::vector<Program::Port>& from) {
  std::vector<tang_port> result;
  for (const Program::Port& p : from) {
    // Names of formats are literals.
    result.push_back({p.name.c_str(), name(p.format).data(), dlpack_type(p.format),
                      static_cast<int32_t>(p.shape.size()), p.shape.data(),
                      p.into.empty() ? nullptr : p.into.c_str()});
  }
  return result;
}

int compile_text(const char* text, std::span<const tang_option> options, tang_program** program,
                 tang_error** error) {
  CompileSettings settings;
  for (const tang_option& o : options)
    if (auto ok = set(settings, o.key ? o.key : "", o.value ? o.value : ""); !ok)
      return fail(ok.error(), error);
  if (settings.device == "best") settings.device = best_device();
  const Source source("program", text);
  auto graph = parse(source);
  if (!graph) return fail(graph.error().front(), render(graph.error(), &source), error);
  auto compiled = compile(*graph, settings);
  if (!compiled) return fail(compiled.error(), render(compiled.error(), &source), error);
  auto* made = new tang_program{std::move(*compiled), {}, {}};
  made->inputs = ports(made->program.inputs());
  made->outputs = ports(made->program.outputs());
  *program = made;
  return 0;
}

RunOptions run_options(const tang_run_options* o) {
  return o ? RunOptions{o->stream, o->workspace, o->workspace_bytes} : RunOptions{};
}

template <class Tensor>
Result<std::vector<TensorView>> views(std::string_view what, std::span<Tensor* const> tensors) {
  std::vector<TensorView> result;
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (!tensors[k]) return tang::error("E0718", fmt::format("{} {} is null", what, k));
    auto view = TensorView::from(*tensors[k]);
    if (!view) return tl::unexpected(view.error());
    result.push_back(std::move(*view));
  }
  return result;
}

int run_views(const tang_program& p, const Result<std::vector<TensorView>>& in,
              const Result<std::vector<TensorView>>& out, const tang_run_options* options,
              tang_error** error) {
  if (!in) return fail(in.error(), error);
  if (!out) return fail(out.error(), error);
  const auto ran = p.program.run_in_order(*in, *out, run_options(options));
  return ran ? 0 : fail(ran.error(), error);
}

// Tensors that the run made; deleted unless it succeeds.
class Made {
 public:
  ~Made() {
    for (const auto& [place, tensor] : made_) tensor->deleter(tensor);
  }
  DLManagedTensorVersioned* make(DLManagedTensorVersioned** place, Array array) {
    made_.emplace_back(place, to_dlpack(std::move(array)));
    return made_.back().second;
  }
  void hand_over() {
    for (const auto& [place, tensor] : made_) *place = tensor;
    made_.clear();
  }

 private:
  std::vector<std::pair<DLManagedTensorVersioned**, DLManagedTensorVersioned*>> made_;
};

int run_managed(const tang_program& p, std::span<DLManagedTensorVersioned* const> inputs,
                std::span<DLManagedTensorVersioned*> outputs, const tang_run_options* options,
                tang_error** error) {
  Made made;
  std::vector<DLManagedTensorVersioned*> out(outputs.begin(), outputs.end());
  for (size_t k = 0; k < out.size() && k < p.program.outputs().size(); ++k) {
    if (out[k]) continue;
    auto array = make_array(p.program.outputs()[k].format, p.program.outputs()[k].shape);
    if (!array) return fail(array.error(), error);
    out[k] = made.make(&outputs[k], std::move(*array));
  }
  const int code =
      run_views(p, views("input", inputs),
                views("output", std::span<DLManagedTensorVersioned* const>(out)), options, error);
  if (code == 0) made.hand_over();
  return code;
}

const tang_port* at(const std::vector<tang_port>& ports, size_t number) {
  return number < ports.size() ? &ports[number] : nullptr;
}

}  // namespace

}  // namespace tang

extern "C" {

const char* tang_version(void) { return tang::version.data(); }

const char* tang_error_message(const tang_error* e) { return e ? e->message.c_str() : ""; }
const char* tang_error_id(const tang_error* e) { return e ? e->id.c_str() : ""; }
int tang_error_exit_code(const tang_error* e) { return e ? e->exit_code : 0; }
void tang_error_free(tang_error* e) { delete e; }

int tang_compile(const char* text, const tang_option* options, size_t option_count,
                 tang_program** program, tang_error** error) {
  *program = nullptr;
  return tang::guarded(error, [&] {
    return tang::compile_text(text, {options, option_count}, program, error);
  });
}
void tang_program_free(tang_program* p) { delete p; }

size_t tang_program_input_count(const tang_program* p) { return p->inputs.size(); }
size_t tang_program_output_count(const tang_program* p) { return p->outputs.size(); }
const tang_port* tang_program_input(const tang_program* p, size_t k) {
  return tang::at(p->inputs, k);
}
const tang_port* tang_program_output(const tang_program* p, size_t k) {
  return tang::at(p->outputs, k);
}
const char* tang_program_device(const tang_program* p) { return p->program.device().c_str(); }
int64_t tang_program_workspace_bytes(const tang_program* p) { return p->program.workspace_bytes(); }
int64_t tang_program_peak_bytes(const tang_program* p) { return p->program.peak_bytes(); }

int tang_program_run(const tang_program* p, const DLTensor* const* inputs, size_t input_count,
                     const DLTensor* const* outputs, size_t output_count,
                     const tang_run_options* options, tang_error** error) {
  return tang::guarded(error, [&] {
    return tang::run_views(*p, tang::views("input", std::span(inputs, input_count)),
                           tang::views("output", std::span(outputs, output_count)), options, error);
  });
}

int tang_program_run_managed(const tang_program* p, DLManagedTensorVersioned* const* inputs,
                             size_t input_count, DLManagedTensorVersioned** outputs,
                             size_t output_count, const tang_run_options* options,
                             tang_error** error) {
  return tang::guarded(error, [&] {
    return tang::run_managed(*p, {inputs, input_count}, {outputs, output_count}, options, error);
  });
}

}  // extern "C"
