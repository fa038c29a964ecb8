#include "front/elaborate.h"

#include <algorithm>

#include <fmt/format.h>

#include "front/elaborator.h"
#include "front/lexer.h"
#include "front/parser.h"
#include "ir/monoids.h"
#include "ir/print.h"
#include "ir/widths.h"

namespace tang {

namespace {

// A text beyond this size is refused: spans are 32-bit, and no program is near it.
constexpr std::size_t kMaxText = std::size_t{1} << 28;

}  // namespace

tl::expected<Graph, Diagnostics> parse(std::string text, std::string file) {
  return parse(Source(std::move(file), std::move(text)));
}

tl::expected<Graph, Diagnostics> parse(const Source& source) {
  Diagnostics errors;
  if (source.text().size() > kMaxText) {
    errors.push_back(diagnose(source, {0, 1}, "E0109", "this program is larger than 256 MiB",
                              "is this the right file?"));
    return tl::unexpected(std::move(errors));
  }
  ast::Module module = parse_syntax(source, errors);
  Graph graph = Elaborator(source, module, errors).run();
  if (errors.empty()) return graph;
  finish_errors(errors);
  return tl::unexpected(std::move(errors));
}

Graph Elaborator::run() {
  collect_names();
  for (const ast::Statement& s : module_.statements) statement(s);
  finish_outputs();
  mark_wide(g_);
  return std::move(g_);
}

void Elaborator::report(Span span, std::string id, std::string message, std::string hint,
                        std::string label) {
  if (!reported_.insert({id, span.begin}).second) return;
  errors_.push_back(diagnose(source_, span, std::move(id), std::move(message), std::move(hint),
                             std::move(label)));
}

std::string Elaborator::spelt(const Tensor& t) const {
  return t.shape.empty() ? t.name : t.name + print_shape(g_, t.shape);
}

// Every name the file declares, so that a use before its definition can say so and fresh names
// avoid names that come later. The first declaration counts.
void Elaborator::collect_names() {
  broken_.insert(module_.broken_names.begin(), module_.broken_names.end());
  auto value = [this](const ast::Name& n) { value_sites_.try_emplace(n.text, n.span); };
  auto operation = [this](const ast::Name& n) { operation_sites_.try_emplace(n.text, n.span); };
  for (const ast::Statement& s : module_.statements) {
    if (const auto* p = std::get_if<ast::Param>(&s.payload)) {
      for (const auto& item : p->items) value(item.name);
    } else if (const auto* d = std::get_if<ast::Dim>(&s.payload)) {
      for (const auto& item : d->items) value(item.name);
    } else if (const auto* i = std::get_if<ast::Input>(&s.payload)) {
      for (const auto& item : i->items) value(item.name);
    } else if (const auto* def = std::get_if<ast::Definition>(&s.payload)) {
      for (const auto& target : def->targets) value(target.name);
    } else if (const auto* grad = std::get_if<ast::Grad>(&s.payload)) {
      for (const auto& seed : grad->seeds) {
        if (!seed.cotangent.text.empty()) value(seed.cotangent);
      }
      for (const auto& result : grad->results) value(result.name);
    } else if (const auto* f = std::get_if<ast::Function>(&s.payload)) {
      operation(f->name);
    } else if (const auto* m = std::get_if<ast::Monoid>(&s.payload)) {
      operation(m->name);
    }
  }
}

void Elaborator::statement(const ast::Statement& s) {
  where_ = s.span;
  base_ = {};
  bound_.clear();
  frame_ = {};
  depth_ = 0;
  steps_ = 0;
  std::visit([this](const auto& payload) { declare(payload); }, s.payload);
}

void Elaborator::declare(const ast::Param& s) {
  for (const auto& item : s.items) {
    ExprId value = ExprId::none;
    if (item.value != ast::kNoNode) {
      value = param_value(item.value);
      if (value == ExprId::none) {
        mark_broken(item.name);
        continue;
      }
    }
    if (!is_free_value(item.name)) continue;
    ParamId id = g_.add_param(std::string(item.name.text), value);
    declare_value(item.name, Symbol::What::param, index(id));
  }
}

void Elaborator::declare(const ast::Dim& s) {
  for (const auto& item : s.items) {
    std::optional<Poly> size = extent(item.extent);
    if (!size || !check_extent(item.name, item.extent, *size)) {
      mark_broken(item.name);
      continue;
    }
    if (!is_free_value(item.name)) continue;
    DimId id = g_.add_dim(std::string(item.name.text), *size);
    declare_value(item.name, Symbol::What::dim, index(id));
  }
}

// A format applies to the items before it that have none.
void Elaborator::declare(const ast::Input& s) {
  ast::Name format;
  std::vector<ast::Name> formats(s.items.size());
  for (std::size_t k = s.items.size(); k-- > 0;) {
    if (!s.items[k].format.text.empty()) format = s.items[k].format;
    formats[k] = format;
  }
  for (std::size_t k = 0; k < s.items.size(); ++k) input_item(s.items[k], formats[k]);
}

void Elaborator::input_item(const ast::Input::Item& item, const ast::Name& format) {
  Tensor t;
  t.name = std::string(item.name.text);
  t.role = Role::input;
  t.where = source_.location(item.name.span);
  t.format = Format::f32;
  if (!format.text.empty()) t.format = find_format(format).value_or(Format::f32);
  bool ok = true;
  t.kind = kind(*t.format);
  for (ast::NodeId id : item.extents) {
    std::optional<Poly> size = extent(id);
    if (!size || !check_extent(item.name, id, *size)) {
      ok = false;
      continue;
    }
    t.shape.push_back(*size);
    t.axes.push_back(extent_text(id));
    extent_dims(id, t.axis_dims);
  }
  if (ok && is_block(*t.format)) {
    int block = info(*t.format).block;
    std::optional<int64_t> last = t.shape.empty() ? std::nullopt : t.shape.back().constant();
    if (t.shape.empty() || (last && *last % block != 0)) {
      report(item.name.span, "E0304",
             fmt::format("the last axis of `{}` is not a multiple of the block of {}, {}", spelt(t),
                         name(*t.format), block),
             "pad the last axis to whole blocks, or choose another format");
    }
  }
  if (!ok) return mark_broken(item.name);
  if (!is_free_value(item.name)) return;
  declare_value(item.name, Symbol::What::tensor, index(g_.add_tensor(std::move(t))));
}

bool Elaborator::check_operation_name(const ast::Name& name) {
  bool builtin = function_named(name.text) || is_builtin_monoid(name.text) || is_scan(name.text) ||
                 parse_format(name.text) || name.text == "mean" || name.text == "var" ||
                 name.text == "size";
  if (builtin) {
    report(name.span, "E0214", fmt::format("`{}` is a built-in operation", name.text),
           fmt::format("choose another name, as in `my_{}`", name.text));
    return false;
  }
  if (operations_.count(name.text)) {
    report(
        name.span, "E0202", fmt::format("operation `{}` is defined twice", name.text),
        fmt::format("the first is on line {}", source_.line_of(operation_sites_[name.text].begin)));
    return false;
  }
  return true;
}

void Elaborator::declare(const ast::Function& s) {
  bool ok = check_operation_name(s.name);
  Body body;
  ok = check_distinct(s.indices, body.indices) && ok;
  ok = check_distinct(s.parameters, body.locals) && ok;
  for (const ast::Name& p : s.parameters) {
    if (!body.indices.count(p.text)) continue;
    report(p.span, "E0202", fmt::format("`{}` names an index and a value here", p.text),
           "rename one of them");
    ok = false;
  }
  check_body(s.body, body);
  Operation operation;
  if (ok && body.ok) operation.function = &s;
  operations_.try_emplace(s.name.text, operation);
}

void Elaborator::declare(const ast::Monoid& s) {
  bool ok = check_operation_name(s.name);
  std::set<std::string_view> fields;
  ok = check_distinct(s.fields, fields) && ok;
  auto part = [&](ast::NodeId id, std::vector<ast::Name> locals, std::string_view what) {
    if (id == ast::kNoNode) return;
    Body body;
    body.monoid = true;
    ok = check_distinct(locals, body.locals) && ok;
    check_body(id, body);
    ok = ok && body.ok;
    std::size_t count = node(id).kind == ast::NodeKind::tuple ? node(id).count : 1;
    if (body.ok && count != s.fields.size() &&
        (count > 1 || s.fields.size() == 1 || node(id).kind != ast::NodeKind::call)) {
      report(node(id).span, "E0506",
             fmt::format("`{}` has {} field{}, its {} {}", s.name.text, s.fields.size(),
                         s.fields.size() == 1 ? "" : "s", what, count),
             "give one component for each field, in order");
      ok = false;
    }
  };
  part(s.identity, {}, "identity");
  part(s.lift, s.lift_parameters, "lift");
  part(s.combine, {s.earlier, s.later}, "combine");
  Operation operation;
  if (ok) operation.monoid = &s;
  operations_.try_emplace(s.name.text, operation);
}

void Elaborator::declare(const ast::Output& s) {
  for (const auto& item : s.items) output_item(item);
}

void Elaborator::output_item(const ast::Output::Item& item) {
  std::optional<TensorId> tensor = find_tensor(item.name, "an output");
  if (!tensor) return;
  const Tensor& t = g_[*tensor];
  if (t.role == Role::input) {
    return report(item.name.span, "E0212", fmt::format("`{}` is an input, not a result", t.name),
                  fmt::format("define a copy: `{}_out[…] = {}[…]`", t.name, t.name));
  }
  if (g_.is_output(*tensor)) {
    return report(item.name.span, "E0212", fmt::format("`{}` is an output already", t.name),
                  "name each output once");
  }
  g_.outputs.push_back({*tensor, output_into(item, *tensor)});
}

TensorId Elaborator::output_into(const ast::Output::Item& item, TensorId tensor) {
  if (item.into.text.empty()) return TensorId::none;
  std::optional<TensorId> into = find_tensor(item.into, "an input");
  if (!into) return TensorId::none;
  const Tensor& to = g_[*into];
  // A definition without a format is stored in the format of the buffer it takes.
  if (to.role == Role::input && !g_[tensor].format && g_[tensor].kind == to.kind &&
      g_[tensor].storage() != to.storage()) {
    g_[tensor].format = to.format;
  }
  const Tensor& from = g_[tensor];
  std::string shapes = fmt::format("`{}` is {}, `{}` is {}", spelt(from), name(from.storage()),
                                   spelt(to), name(to.storage()));
  if (to.role != Role::input) {
    report(item.into.span, "E0212", fmt::format("`{}` is not an input", to.name),
           "only the buffer of an input can be taken");
  } else if (std::any_of(g_.outputs.begin(), g_.outputs.end(),
                         [&](const Output& o) { return o.into == *into; })) {
    report(item.into.span, "E0212", fmt::format("the buffer of `{}` is taken already", to.name),
           "give each output an input of its own");
  } else if (from.shape.size() != to.shape.size() || from.storage() != to.storage()) {
    report(item.into.span, "E0404",
           fmt::format("`{}` cannot take the buffer of `{}`: {}", from.name, to.name, shapes),
           "shape and format must be the same");
  } else {
    for (std::size_t k = 0; k < from.shape.size(); ++k) {
      std::optional<int64_t> difference = (from.shape[k] - to.shape[k]).constant();
      if (!difference || *difference == 0) continue;
      report(item.into.span, "E0404",
             fmt::format("`{}` cannot take the buffer of `{}`: {}", from.name, to.name, shapes),
             "shape and format must be the same");
      break;
    }
  }
  return *into;
}

void Elaborator::declare(const ast::Sorted& s) {
  for (const ast::Name& name : s.names) {
    std::optional<TensorId> tensor = find_tensor(name, "sorted");
    if (!tensor) continue;
    if (g_[*tensor].shape.empty()) {
      report(name.span, "E0212", fmt::format("`{}` has no axis to be sorted along", name.text),
             "`sorted` is a promise about the last axis of a tensor");
    } else {
      g_[*tensor].sorted = true;
    }
  }
}

void Elaborator::declare(const ast::Grad& s) {
  Node n;
  n.where = source_.location(where_);
  n.gradient.emplace();
  bool ok = true;
  for (const auto& seed : s.seeds) ok = grad_seed(seed, *n.gradient) && ok;
  for (const auto& result : s.results) ok = grad_result(result, n) && ok;
  if (!ok) {
    for (const auto& result : s.results) mark_broken(result.name);
    return;
  }
  for (std::size_t k = 0; k < s.results.size(); ++k) {
    if (!is_free_value(s.results[k].name)) return;
    Tensor t = g_[n.gradient->wrt[k]];
    t.name = std::string(s.results[k].name.text);
    t.role = Role::definition;
    t.axes.clear();
    t.axis_dims.clear();
    t.format.reset();
    t.sorted = false;
    t.node = NodeId::none;
    t.where = source_.location(s.results[k].name.span);
    TensorId id = g_.add_tensor(std::move(t));
    declare_value(s.results[k].name, Symbol::What::tensor, index(id));
    n.targets.push_back({id, {}, ExprId::none});
  }
  g_.add_node(std::move(n));
}

bool Elaborator::grad_seed(const ast::Grad::Seed& seed, Gradient& gradient) {
  std::optional<TensorId> of = find_tensor(seed.name, "differentiated");
  bool named = !seed.cotangent.text.empty();
  if (!of) {
    if (named) mark_broken(seed.cotangent);
    return false;
  }
  Tensor t = g_[*of];
  if (t.kind != Kind::real) {
    report(seed.name.span, "E0602",
           fmt::format("`{}` is {}, only reals have gradients", t.name, name(t.kind)),
           "differentiate a real tensor");
    return false;
  }
  if (!named) {
    if (!t.shape.empty()) {
      report(
          seed.name.span, "E0601",
          fmt::format("`{}` is not a single number, so its gradient needs a cotangent", spelt(t)),
          fmt::format("write `grad {} with d{} -> …`", t.name, t.name));
      return false;
    }
    gradient.seeds.push_back({*of, TensorId::none});
    return true;
  }
  if (!is_free_value(seed.cotangent)) return false;
  Tensor d;
  d.name = std::string(seed.cotangent.text);
  d.shape = t.shape;
  for (const Poly& p : t.shape) d.axes.push_back(print_poly(g_, p));
  d.kind = t.kind;
  d.format = t.storage();
  d.role = Role::cotangent;
  d.where = source_.location(seed.cotangent.span);
  TensorId id = g_.add_tensor(std::move(d));
  declare_value(seed.cotangent, Symbol::What::tensor, index(id));
  gradient.seeds.push_back({*of, id});
  return true;
}

bool Elaborator::grad_result(const ast::Grad::Result& result, Node& n) {
  std::optional<TensorId> of = find_tensor(result.of, "differentiated");
  if (!of) return false;
  const Tensor& t = g_[*of];
  if (t.kind != Kind::real) {
    report(result.of.span, "E0602",
           fmt::format("`{}` is {}, only reals have gradients", t.name, name(t.kind)),
           "leave it out");
    return false;
  }
  n.gradient->wrt.push_back(*of);
  return true;
}

// Gradients that nothing reads are outputs; a program needs at least one output.
void Elaborator::finish_outputs() {
  std::vector<std::vector<NodeId>> readers = g_.readers();
  for (const Node& n : g_.nodes) {
    if (!n.gradient) continue;
    for (const Target& t : n.targets) {
      if (readers[index(t.tensor)].empty() && !g_.is_output(t.tensor)) {
        g_.outputs.push_back({t.tensor, TensorId::none});
      }
    }
  }
  if (!g_.outputs.empty() || !errors_.empty()) return;
  auto end = static_cast<std::uint32_t>(source_.text().find_last_not_of(" \t\r\n") + 1);
  report({end, end}, "E0208", "the program has no output", "add a line `output name`");
}

}  // namespace tang
