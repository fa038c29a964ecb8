#include "ir/print_expr.h"

#include <charconv>
#include <cmath>
#include <string>

#include "ir/guards.h"

namespace tang {

namespace {

// The fewest digits that read back, the exponent without padding: "1e-5", "1e20".
std::string shortest(double x) {
  char buffer[64];
  std::string s(buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr);
  const size_t e = s.find('e');
  if (e == std::string::npos) return s;
  return s.substr(0, e + 1) + std::to_string(std::stoi(s.substr(e + 1)));
}

bool integral_text(const std::string& s) { return s.find_first_of(".en") == std::string::npos; }

// One signed term of a form: coefficient times name, or a coefficient alone.
struct Piece {
  Poly coeff;
  std::string name;  // empty for the base
};

bool leading_negative(const Poly& p) { return !p.terms().empty() && p.terms()[0].coeff < 0; }

}  // namespace

std::string print_value(const Value& v, bool real_point) {
  if (v.kind == Kind::boolean) return v.i ? "true" : "false";
  if (v.kind == Kind::integer) return std::to_string(v.i);
  if (std::isnan(v.r)) return "nan";
  if (std::isinf(v.r)) return v.r < 0 ? "-inf" : "inf";
  std::string s = shortest(v.r);
  if (integral_text(s) && (real_point || (v.r == 0 && std::signbit(v.r)))) s += ".0";
  return s;
}

std::string print_poly(const Graph& g, const Poly& p) {
  return p.text([&g](ParamId id) { return g[id].name; });
}

std::string print_shape(const Graph& g, const std::vector<Poly>& shape) {
  std::string s = "[";
  for (size_t k = 0; k < shape.size(); ++k) s += (k ? ", " : "") + print_poly(g, shape[k]);
  return s + "]";
}

std::string print_form(const Graph& g, const Form& f, bool spaced) {
  return ExprPrinter(g, {}).form(f, spaced);
}

std::string ExprPrinter::form(const Form& f, bool spaced) const {
  const Graph& g = g_;
  const auto param_name = [&g](ParamId id) { return g[id].name; };
  const std::string times = spaced ? " * " : "*";
  std::vector<Piece> pieces;
  for (const Form::Term& t : f.terms) pieces.push_back({t.coeff, g[t.dim].name});
  for (const Form::Gather& t : f.gathers) pieces.push_back({t.coeff, read(g.leaf(t.leaf))});
  for (const Poly::Term& t : f.base.terms()) {
    Poly p(t.coeff);
    for (ParamId id : t.params) p = p * Poly::param(id);
    pieces.push_back({p, ""});
  }
  if (pieces.empty()) return "0";
  std::string out;
  for (const bool negative : {false, true})  // positive terms first
    for (const Piece& piece : pieces) {
      if (leading_negative(piece.coeff) != negative) continue;
      const Poly size = negative ? Poly(-1) * piece.coeff : piece.coeff;
      out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
      const bool one = size == Poly(1) && !piece.name.empty();
      std::string coeff = one ? "" : size.text(param_name, spaced);
      if (size.terms().size() > 1) coeff = "(" + coeff + ")";
      out += coeff + (piece.name.empty() || one ? "" : times) + piece.name;
    }
  return out;
}

namespace {

// A monoid's identity as the fill of a tensor of another kind; the least bool is false.
Value usual_fill(const Value& identity, Kind kind) {
  return kind == Kind::boolean ? Value::boolean(identity.as_real() > 0) : identity.to(kind);
}

}  // namespace

std::string ExprPrinter::read(const Leaf& leaf) const {
  const Tensor& t = g_[leaf.tensor];
  std::string s = t.name;
  if (leaf.forms.empty()) return s;
  s += leaf.guarded ? "?[" : "[";
  bool gathers = false;
  for (size_t k = 0; k < leaf.forms.size(); ++k) {
    s += (k ? ", " : "") + form(leaf.forms[k]);
    gathers |= !leaf.forms[k].is_affine();
  }
  if (leaf.guarded || gathers) {
    const Value fill = leaf.fill();
    const bool usual =
        context_.fill && same_bits(usual_fill(*context_.fill, t.kind), fill.to(t.kind));
    if (!usual) s += "; " + print_value(fill.to(t.kind), t.kind != Kind::real);
  }
  return s + "]";
}

std::string ExprPrinter::text(ExprId e, Level wanted) const {
  const auto [s, level] = spell(e);
  return level < wanted ? "(" + s + ")" : s;
}

std::pair<std::string, ExprPrinter::Level> ExprPrinter::spell_constant(const ExprNode& n,
                                                                       bool real_point) const {
  const std::string s = print_value(n.value(), real_point);
  return {s, s[0] == '-' ? Level::unary : Level::atom};
}

std::pair<std::string, ExprPrinter::Level> ExprPrinter::spell_leaf(const Leaf& leaf) const {
  switch (leaf.what) {
    case Leaf::What::read:
      return {read(leaf), Level::atom};
    case Leaf::What::state: {
      if (leaf.number < context_.states.size()) return {context_.states[leaf.number], Level::atom};
      return {"state_" + std::to_string(leaf.number), Level::atom};
    }
    case Leaf::What::argument:
      return {"x." + std::to_string(leaf.number), Level::atom};
    case Leaf::What::left:
      return {"a." + std::to_string(leaf.number), Level::atom};
    case Leaf::What::right:
      return {"b." + std::to_string(leaf.number), Level::atom};
    case Leaf::What::iota:
      break;
  }
  const Form& f = leaf.form();
  const std::string s = form(f, true);
  const size_t terms = f.terms.size() + f.gathers.size() + f.base.terms().size();
  if (terms != 1) return {s, Level::sum};
  if (s[0] == '-') return {s, s.find(' ') == std::string::npos ? Level::unary : Level::sum};
  return {s, s.find(' ') == std::string::npos ? Level::atom : Level::term};
}

// True if an integral real constant written without a point reads back as real at this operand,
// because graphs make integer constants beside real operands real.
bool ExprPrinter::reads_back_real(const ExprNode& parent, size_t k) const {
  if (parent.op == Op::cast || parent.kind == Kind::integer) return false;
  if (parent.op == Op::pow) {  // an integer to a literal power of 0 or more is an integer
    const ExprNode& n = g_.pool[parent.args[1]];
    const bool literal = n.op == Op::constant && n.kind == Kind::integer && n.value().i >= 0;
    return k == 0 && !literal;
  }
  if (info(parent.op).rule == KindRule::real) return true;
  const auto real_beside = [&](size_t other) {
    const ExprNode& o = g_.pool[parent.args[other]];
    return o.kind == Kind::real &&
           (o.op != Op::constant || !integral_text(print_value(o.value(), false)));
  };
  if (parent.op == Op::select) return k > 0 && real_beside(3 - k);
  return parent.arity() == 2 && real_beside(1 - k);
}

std::string ExprPrinter::operand(const ExprNode& parent, size_t k, Level wanted) const {
  const ExprNode& n = g_.pool[parent.args[k]];
  if (n.op != Op::constant || n.kind != Kind::real) return text(parent.args[k], wanted);
  const auto [s, level] = spell_constant(n, !reads_back_real(parent, k));
  return level < wanted ? "(" + s + ")" : s;
}

std::array<ExprId, 3> ExprPrinter::ordered(const ExprNode& n) const {
  std::array<ExprId, 3> a = n.args;
  if (is_commutative(n.op) && compare(a[1], a[0]) < 0) std::swap(a[0], a[1]);
  return a;
}

std::pair<std::string, ExprPrinter::Level> ExprPrinter::spell_binary(const ExprNode& node) const {
  ExprNode n = node;
  n.args = ordered(node);
  Level level = Level::term, left = Level::term, right = Level::unary;
  switch (n.op) {
    case Op::add:
    case Op::sub:
      level = left = Level::sum, right = Level::term;
      break;
    case Op::lt:
    case Op::le:
    case Op::eq:
      level = Level::rel, left = right = Level::sum;
      break;
    case Op::logical_and:
      level = left = Level::conj, right = Level::inv;
      break;
    case Op::logical_or:
      level = left = Level::expr, right = Level::conj;
      break;
    default:
      break;
  }
  return {operand(n, 0, left) + " " + std::string(info(n.op).spelling) + " " + operand(n, 1, right),
          level};
}

std::pair<std::string, ExprPrinter::Level> ExprPrinter::spell(ExprId e) const {
  const ExprNode& n = g_.pool[e];
  switch (n.op) {
    case Op::constant:
      return spell_constant(n, true);
    case Op::var:
      return spell_leaf(g_.leaf(n.variable()));
    case Op::cast:
      return {std::string(name(n.format)) + "(" + text(n.args[0]) + ")", Level::atom};
    case Op::neg:
      return {"-" + operand(n, 0, Level::unary), Level::unary};
    case Op::div:
      if (!context_.extent) break;
      return {text(n.args[0], Level::term) + " / " + text(n.args[1], Level::unary), Level::term};
    case Op::logical_not: {
      const ExprNode& inner = g_.pool[n.args[0]];
      if (inner.op != Op::eq) return {"not " + text(n.args[0], Level::inv), Level::inv};
      auto [s, level] = spell_binary(inner);
      return {s.replace(s.find(" == "), 4, " != "), level};
    }
    default:
      break;
  }
  if (!std::isalpha(static_cast<unsigned char>(info(n.op).spelling[0])) ||
      n.op == Op::logical_and || n.op == Op::logical_or)
    return spell_binary(n);
  std::string s = std::string(info(n.op).spelling) + "(";
  for (size_t k = 0; k < static_cast<size_t>(n.arity()); ++k)
    s += (k ? ", " : "") + operand(n, k, Level::expr);
  return {s + ")", Level::atom};
}

int ExprPrinter::compare_leaves(const Leaf& a, const Leaf& b) const {
  const auto rank = [](const Leaf& l) {
    return l.what == Leaf::What::iota ? 0 : l.what == Leaf::What::state ? 1 : 2;
  };
  if (rank(a) != rank(b)) return rank(a) - rank(b);
  if (a < b) return -1;
  return b < a ? 1 : 0;
}

// Recursion is bounded by the depth of expressions (1000 in text, 500 operations after fusion).
int ExprPrinter::compare(ExprId a, ExprId b) const {
  if (a == b) return 0;
  const uint64_t key = static_cast<uint64_t>(index(a)) << 32 | index(b);
  if (const auto it = compared_.find(key); it != compared_.end()) return it->second;
  const ExprNode &x = g_.pool[a], &y = g_.pool[b];
  const auto three = [](auto p, auto q) { return p < q ? -1 : q < p ? 1 : 0; };
  int result = three(info(x.op).rank, info(y.op).rank);
  if (result == 0) result = three(info(x.op).name, info(y.op).name);
  if (result == 0 && x.op == Op::var)
    result = compare_leaves(g_.leaf(x.variable()), g_.leaf(y.variable()));
  if (result == 0 && x.op == Op::constant) {
    result = three(x.value().as_real(), y.value().as_real());
    if (result == 0) result = three(static_cast<int>(x.kind), static_cast<int>(y.kind));
    if (result == 0) result = three(x.bits, y.bits);
  }
  if (result == 0) result = three(static_cast<int>(x.format), static_cast<int>(y.format));
  if (result == 0) {
    const auto p = ordered(x), q = ordered(y);
    for (size_t k = 0; result == 0 && k < static_cast<size_t>(x.arity()); ++k)
      result = compare(p[k], q[k]);
  }
  compared_[key] = result;
  return result;
}

std::string print_extent(const Graph& g, ExprId e) {
  return ExprPrinter(g, {{}, Value::real(0), true}).text(e);
}

std::string print_expr(const Graph& g, ExprId e) { return ExprPrinter(g, {}).text(e); }

}  // namespace tang
