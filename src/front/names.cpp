// Names: the two name spaces, indices and what binds them, and what to say when a name is unknown.
#include <algorithm>

#include <fmt/format.h>

#include "front/elaborator.h"
#include "ir/bind.h"
#include "ir/monoids.h"
#include "ir/print.h"

namespace tang {

namespace {

constexpr std::string_view kOperations[] = {
#define TANG_OP(name, arity, spelling, cost, rank, rule) spelling,
#include "expr/ops.def"
    "size",   "sum",    "prod",   "max",    "min",       "mean", "var",
    "any",    "all",    "argmax", "argmin", "logsumexp", "topk", "moments",
    "online", "affine", "scan",   "cumsum", "matscan",
};

}  // namespace

const Scope* Elaborator::new_scope(Scope scope) {
  scopes_.push_back(std::move(scope));
  return &scopes_.back();
}

bool Elaborator::is_free_value(const ast::Name& name) {
  auto found = values_.find(name.text);
  if (found == values_.end()) return true;
  if (found->second.what == Symbol::What::broken && found->second.span.begin == name.span.begin) {
    return true;
  }
  report(name.span, "E0202", fmt::format("`{}` is defined twice", name.text),
         fmt::format("the first is on line {}; a name is defined once",
                     source_.line_of(found->second.span.begin)));
  return false;
}

bool Elaborator::declare_value(const ast::Name& name, Symbol::What what, std::uint32_t id) {
  if (!is_free_value(name)) return false;
  values_[name.text] = {what, id, name.span};
  return true;
}

void Elaborator::mark_broken(const ast::Name& name) {
  values_.try_emplace(name.text, Symbol{Symbol::What::broken, 0, name.span});
}

const Local* Elaborator::find_local(std::string_view name, const Scope* scope) const {
  for (; scope != nullptr; scope = scope->parent) {
    for (const auto& [text, local] : scope->names) {
      if (text == name) return &local;
    }
  }
  return nullptr;
}

// The param, dim or tensor of this name; nullptr when there is none (reported) or it is broken.
const Elaborator::Symbol* Elaborator::find_value(const ast::Name& name) {
  auto found = values_.find(name.text);
  if (found == values_.end()) {
    unknown_value(name);
    return nullptr;
  }
  return found->second.what == Symbol::What::broken ? nullptr : &found->second;
}

void Elaborator::unknown_value(const ast::Name& name) {
  if (broken_.count(name.text)) return;
  auto later = value_sites_.find(name.text);
  if (later != value_sites_.end()) {
    bool itself = later->second.begin >= where_.begin && later->second.end <= where_.end;
    int line = source_.line_of(later->second.begin);
    std::string message = itself ? fmt::format("`{}` refers to itself", name.text)
                                 : fmt::format("`{}` is used before it is defined", name.text);
    return report(
        name.span, "E0203", message,
        itself ? "a recurrence is a scan: `scan[t](a, b)`" : fmt::format("move line {} up", line));
  }
  std::vector<std::string> known;
  for (const auto& [text, span] : value_sites_) known.emplace_back(text);
  std::string hint = suggestion(std::string(name.text), known);
  bool operation =
      operation_sites_.count(name.text) ||
      std::find(std::begin(kOperations), std::end(kOperations), name.text) != std::end(kOperations);
  if (operation)
    hint = fmt::format("the operation `{}` needs its arguments in brackets", name.text);
  if (hint.empty()) {
    hint = "declare it: an `input`, a `param`, a `dim` (an index), or a definition above";
  }
  report(name.span, "E0201", fmt::format("`{}` is not defined", name.text), hint);
}

void Elaborator::unknown_operation(const ast::Name& name) {
  if (broken_.count(name.text)) return;
  auto later = operation_sites_.find(name.text);
  if (later != operation_sites_.end()) {
    bool itself = later->second.begin >= where_.begin && later->second.end <= where_.end;
    return report(name.span, "E0203",
                  itself ? fmt::format("`{}` refers to itself", name.text)
                         : fmt::format("operation `{}` is used before it is defined", name.text),
                  itself ? "there is no recursion" : "move its definition up");
  }
  std::vector<std::string> known(std::begin(kOperations), std::end(kOperations));
  std::erase_if(known, [](const std::string& s) { return s.size() < 2; });
  for (const auto& [text, span] : operation_sites_) known.emplace_back(text);
  std::string hint = suggestion(std::string(name.text), known);
  if (value_sites_.count(name.text)) {
    hint = fmt::format("`{}` is a value; write `*` to multiply, or `[…]` to read it", name.text);
  } else if (hint.empty()) {
    hint = fmt::format("define it: `fn {}(x) = …`", name.text);
  }
  report(name.span, "E0206", fmt::format("there is no operation `{}`", name.text), hint);
}

std::optional<DimId> Elaborator::find_index(const ast::Name& name, const Scope* scope) {
  if (const Local* local = find_local(name.text, scope)) {
    if (local->what == Local::What::parameter_index || local->what == Local::What::renamed_index) {
      return local->dim;
    }
    report(name.span, "E0207", fmt::format("`{}` is a value here, not an index", name.text),
           "an index is declared with `dim`");
    return std::nullopt;
  }
  const Symbol* symbol = find_value(name);
  if (symbol == nullptr) return std::nullopt;
  if (symbol->what == Symbol::What::dim) return static_cast<DimId>(symbol->id);
  report(name.span, "E0207",
         fmt::format("`{}` is a {}, not an index", name.text,
                     symbol->what == Symbol::What::param ? "param" : "tensor"),
         symbol->what == Symbol::What::param
             ? fmt::format("declare an index of that extent: `dim i = {}`", name.text)
             : "an index is declared with `dim`");
  return std::nullopt;
}

std::optional<TensorId> Elaborator::find_tensor(const ast::Name& name, std::string_view what) {
  const Symbol* symbol = find_value(name);
  if (symbol == nullptr) return std::nullopt;
  if (symbol->what == Symbol::What::tensor) return static_cast<TensorId>(symbol->id);
  report(name.span, "E0209",
         fmt::format("`{}` is a {}, not a tensor", name.text,
                     symbol->what == Symbol::What::param ? "param" : "dim"),
         fmt::format("only a tensor can be {}", what));
  return std::nullopt;
}

std::optional<Format> Elaborator::find_format(const ast::Name& name) {
  if (std::optional<Format> f = parse_format(name.text)) return f;
  std::vector<std::string> known;
  for (int k = 0; k < format_count; ++k) known.emplace_back(info(static_cast<Format>(k)).spelling);
  std::string hint = suggestion(std::string(name.text), known);
  if (hint.empty()) hint = fmt::format("the formats are {}", fmt::join(known, " "));
  report(name.span, "E0302", fmt::format("there is no format `{}`", name.text), hint);
  return std::nullopt;
}

std::optional<std::uint32_t> Elaborator::find_field(const ast::Name& name, const Val& value) {
  for (std::uint32_t k = 0; k < value.fields.size(); ++k) {
    if (!value.fields[k].empty() && value.fields[k] == name.text) return k;
  }
  std::vector<std::string> named;
  for (const std::string& f : value.fields) {
    if (!f.empty()) named.push_back("`" + f + "`");
  }
  report(name.span, "E0211", fmt::format("there is no field `{}` here", name.text),
         named.empty() ? "this is a single number"
                       : fmt::format("the fields are {}", fmt::join(named, ", ")));
  return std::nullopt;
}

bool Elaborator::is_bound(DimId d) const {
  return std::find(bound_.begin(), bound_.end(), d) != bound_.end();
}

bool Elaborator::require_bound(DimId d, const ast::Name& name) {
  if (is_bound(d)) return true;
  report(name.span, "E0204", fmt::format("index `{}` is not bound here", name.text),
         fmt::format("write it on the left-hand side, or bind it in a reduction: `sum[{}](…)`",
                     name.text));
  return false;
}

std::string Elaborator::fresh_name(std::string_view base) const {
  for (int k = 1;; ++k) {
    std::string name = fmt::format("{}_{}", base, k);
    if (!value_sites_.count(name) && !made_.count(name) && !broken_.count(name)) return name;
  }
}

DimId Elaborator::fresh_dim(DimId d) {
  std::string name = fresh_name(g_[d].name);
  made_.insert(name);
  Poly size = g_.extent(d);
  return g_.add_dim(name, size);
}

// Indices that stand together on a left-hand side or in a binder.
std::vector<DimId> Elaborator::distinct_dims(const std::vector<ast::Name>& names,
                                             const Scope* scope, std::string_view where, bool& ok) {
  std::vector<DimId> dims;
  for (const ast::Name& name : names) {
    std::optional<DimId> d = find_index(name, scope);
    if (!d) {
      ok = false;
    } else if (std::find(dims.begin(), dims.end(), *d) != dims.end()) {
      report(name.span, "E0205", fmt::format("index `{}` stands twice {}", name.text, where),
             "two indices over one axis are two dims of the same extent");
      ok = false;
    } else {
      dims.push_back(*d);
    }
  }
  return dims;
}

// The index that a name stands for, if it stands for one; reports nothing.
std::optional<DimId> Elaborator::index_named(std::string_view name, const Scope* scope) const {
  if (const Local* local = find_local(name, scope)) {
    bool index =
        local->what == Local::What::parameter_index || local->what == Local::What::renamed_index;
    return index ? std::optional(local->dim) : std::nullopt;
  }
  auto found = values_.find(name);
  bool dim = found != values_.end() && found->second.what == Symbol::What::dim;
  return dim ? std::optional(static_cast<DimId>(found->second.id)) : std::nullopt;
}

// Whether the expression may stand for something that uses the outer index d. What binders inside
// hide is not looked at, so this can only err towards renaming.
bool Elaborator::mentions(Closure e, DimId d,
                          std::set<std::pair<ast::NodeId, const Scope*>>& seen) {
  std::vector<Closure> stack = {e};
  while (!stack.empty()) {
    Closure top = stack.back();
    stack.pop_back();
    if (!top.ok() || !seen.insert({top.node, top.scope}).second) continue;
    const ast::Node& n = node(top.node);
    if (n.kind == ast::NodeKind::name) {
      const Local* local = find_local(n.name.text, top.scope);
      if (local != nullptr && local->what == Local::What::closure) stack.push_back(local->closure);
      if (index_named(n.name.text, top.scope) == d) return true;
    }
    for (std::uint32_t k = 0; k < n.count; ++k) stack.push_back({child(n, k), top.scope});
    if (n.kind == ast::NodeKind::read) stack.push_back({n.extra, top.scope});
    if (n.kind != ast::NodeKind::reduce) continue;
    stack.push_back({binder(n).condition, top.scope});
    for (const std::vector<ast::Name>* names : {&binder(n).indices, &binder(n).modifiers}) {
      for (const ast::Name& name : *names) {
        if (index_named(name.text, top.scope) == d) return true;
      }
    }
  }
  return false;
}

// Whether an argument of the function whose body `scope` belongs to may use the index d, or an
// index argument is d.
bool Elaborator::captures(const Scope* scope, DimId d) {
  std::set<std::pair<ast::NodeId, const Scope*>> seen;
  for (; scope != nullptr; scope = scope->parent) {
    for (const auto& [text, local] : scope->names) {
      if (local.what == Local::What::closure && mentions(local.closure, d, seen)) return true;
      if (local.what == Local::What::parameter_index && local.dim == d) return true;
    }
  }
  return false;
}

}  // namespace tang
