// The body of a function or monoid is checked where it is written, before any use expands it: its
// names are known, its indices are parameters or bound inside, its operations are defined above.
#include <algorithm>

#include <fmt/format.h>

#include "front/elaborator.h"
#include "ir/monoids.h"

namespace tang {

bool Elaborator::check_distinct(const std::vector<ast::Name>& names,
                                std::set<std::string_view>& seen) {
  bool ok = true;
  for (const ast::Name& name : names) {
    if (seen.insert(name.text).second) continue;
    report(name.span, "E0202", fmt::format("`{}` is named twice here", name.text), "rename one");
    ok = false;
  }
  return ok;
}

void Elaborator::check_body_name(const ast::Name& name, Body& body) {
  if (body.locals.count(name.text) || body.indices.count(name.text)) return;
  const Symbol* symbol = find_value(name);
  if (symbol == nullptr) {
    body.ok = false;
  } else if (body.monoid && symbol->what != Symbol::What::param) {
    report(name.span, "E0506", fmt::format("`{}` cannot stand in a monoid", name.text),
           "a monoid is built from its own parameters, params and constants");
    body.ok = false;
  } else if (symbol->what == Symbol::What::dim) {
    report(name.span, "E0204",
           fmt::format("index `{}` is neither a parameter nor bound in the body", name.text),
           fmt::format("make it an index parameter: `fn name[{}](…)`", name.text));
    body.ok = false;
  }
}

void Elaborator::check_body_reduce(const ast::Node& n, Body& body) {
  const ast::Binder& b = binder(n);
  std::set<std::string_view> outer = body.indices;
  bool scan = is_scan(n.name.text);
  auto index = [&](const ast::Name& name, bool binds) {
    bool known = body.indices.count(name.text) != 0;
    if (!known && !(binds && values_.count(name.text))) {
      const Symbol* symbol = find_value(name);
      if (symbol != nullptr && symbol->what == Symbol::What::dim && !binds) {
        check_body_name(name, body);
      }
      body.ok = body.ok && symbol != nullptr;
    }
    body.indices.insert(name.text);
  };
  auto found = operations_.find(n.name.text);
  bool call = found != operations_.end() && found->second.function != nullptr;
  if (body.monoid) {
    report(n.span, "E0506", "a reduction cannot stand in a monoid",
           "a monoid combines two states; reduce outside it");
    body.ok = false;
    return;
  }
  if (call) {
    // Index arguments are dims of this body's callers or binders of the callee; a dim that the
    // callee binds needs no binder here.
    for (const ast::Name& name : b.indices) index(name, true);
  } else {
    for (const ast::Name& name : b.indices) index(name, !scan);
    if (n.name.text == "topk") {
      for (const ast::Name& name : b.modifiers) index(name, false);
    } else if (n.name.text == "matscan" && b.modifiers.size() == 2) {
      index(b.modifiers[0], false);
      index(b.modifiers[1], true);
    }
  }
  if (b.condition != ast::kNoNode) check_body(b.condition, body);
  for (std::uint32_t k = 0; k < n.count; ++k) check_body(child(n, k), body);
  body.indices = std::move(outer);
}

// Recursion is bounded by the depth of the syntax tree.
void Elaborator::check_body(ast::NodeId id, Body& body) {
  const ast::Node& n = node(id);
  if (n.kind == ast::NodeKind::reduce || n.kind == ast::NodeKind::call) {
    bool reduce = n.kind == ast::NodeKind::reduce;
    bool known = operations_.count(n.name.text) ||
                 (reduce ? is_fold(n) || n.name.text == "mean" || n.name.text == "var"
                         : function_named(n.name.text) || parse_format(n.name.text) ||
                               n.name.text == "size");
    if (!known) {
      unknown_operation(n.name);
      body.ok = false;
      return;
    }
    if (reduce) return check_body_reduce(n, body);
    if (n.name.text == "size") return;
  }
  if (n.kind == ast::NodeKind::name || n.kind == ast::NodeKind::read) {
    check_body_name(n.name, body);
  }
  if (n.kind == ast::NodeKind::read && n.extra != ast::kNoNode) check_body(n.extra, body);
  for (std::uint32_t k = 0; k < n.count; ++k) check_body(child(n, k), body);
}

}  // namespace tang
