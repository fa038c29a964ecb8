#include "expr/expr.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>

namespace tang {

namespace {

constexpr OpInfo op_table[] = {
#define TANG_OP(name, arity, spelling, cost, rank, rule) \
  {Op::name, #name, arity, spelling, cost, rank, KindRule::rule},
#include "expr/ops.def"
};

uint64_t canonical_bits(double x) {
  if (std::isnan(x)) x = std::numeric_limits<double>::quiet_NaN();  // there is one NaN
  return std::bit_cast<uint64_t>(x);
}

bool integer_like(Kind k) { return k != Kind::real; }

}  // namespace

const OpInfo& info(Op op) { return op_table[static_cast<size_t>(op)]; }

std::optional<Op> function_named(std::string_view name) {
  for (const OpInfo& entry : op_table)
    if (entry.spelling == name && !name.empty() &&
        std::isalpha(static_cast<unsigned char>(name[0])) && entry.rule != KindRule::boolean)
      return entry.op;
  return std::nullopt;
}

bool is_commutative(Op op) {
  return op == Op::add || op == Op::mul || op == Op::eq || op == Op::logical_and ||
         op == Op::logical_or;
}

bool is_macro(Op op) { return info(op).rank == 0 && info(op).rule != KindRule::boolean; }

Value Value::to(Kind k) const {
  if (k == Kind::real) return real(as_real());
  if (k == Kind::integer) return integer(as_integer());
  return boolean(as_bool());
}

int64_t Value::as_integer() const {
  if (kind != Kind::real) return i;
  if (std::isnan(r)) return 0;
  if (r >= 0x1p63) return std::numeric_limits<int64_t>::max();
  return r < -0x1p63 ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(r);
}

bool same_bits(const Value& a, const Value& b) {
  if (a.kind != b.kind) return false;
  return a.kind == Kind::real ? canonical_bits(a.r) == canonical_bits(b.r) : a.i == b.i;
}

Value ExprNode::value() const {
  if (kind == Kind::real) return Value::real(std::bit_cast<double>(bits));
  if (kind == Kind::boolean) return Value::boolean(bits != 0);
  return Value::integer(std::bit_cast<int64_t>(bits));
}

size_t ExprPool::Hash::operator()(const ExprNode& n) const {
  uint64_t h = static_cast<uint64_t>(n.op) | static_cast<uint64_t>(n.kind) << 8 |
               static_cast<uint64_t>(n.format) << 16;
  const auto mix = [&h](uint64_t v) {
    h ^= v + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 32;
  };
  for (ExprId a : n.args) mix(tang::index(a));
  mix(n.bits);
  return h;
}

ExprId ExprPool::intern(const ExprNode& n) {
  const auto [it, inserted] = index_.try_emplace(n, static_cast<ExprId>(nodes_.size()));
  if (inserted) nodes_.push_back(n);
  return it->second;
}

ExprId ExprPool::constant(const Value& v) {
  ExprNode n;
  n.kind = v.kind;
  n.bits = v.kind == Kind::real ? canonical_bits(v.r) : std::bit_cast<uint64_t>(v.i);
  return intern(n);
}

ExprId ExprPool::real(double x) { return constant(Value::real(x)); }
ExprId ExprPool::integer(int64_t x) { return constant(Value::integer(x)); }
ExprId ExprPool::boolean(bool x) { return constant(Value::boolean(x)); }

ExprId ExprPool::var(uint32_t number, Kind kind) {
  ExprNode n;
  n.op = Op::var;
  n.kind = kind;
  n.bits = number;
  return intern(n);
}

ExprId ExprPool::cast(Format format, ExprId a) {
  ExprNode n;
  n.op = Op::cast;
  n.kind = tang::kind(format);
  n.format = format;
  n.args[0] = a;
  return intern(n);
}

Kind ExprPool::infer(Op op, ExprId a, ExprId b, ExprId c) const {
  const auto kind_of = [this](ExprId id) { return (*this)[id].kind; };
  switch (info(op).rule) {
    case KindRule::boolean:
      return Kind::boolean;
    case KindRule::arith: {
      const bool integers =
          integer_like(kind_of(a)) && (b == ExprId::none || integer_like(kind_of(b)));
      return integers ? Kind::integer : Kind::real;
    }
    case KindRule::select: {
      const Kind t = kind_of(b), f = kind_of(c);
      if (t == f) return t;
      return integer_like(t) && integer_like(f) ? Kind::integer : Kind::real;
    }
    case KindRule::power: {
      const ExprNode& n = (*this)[b];
      const bool literal = n.op == Op::constant && n.kind == Kind::integer && n.value().i >= 0;
      return literal && integer_like(kind_of(a)) ? Kind::integer : Kind::real;
    }
    case KindRule::leaf:
    case KindRule::cast:
    case KindRule::real:
      break;
  }
  return Kind::real;
}

ExprId ExprPool::make(Op op, ExprId a, ExprId b, ExprId c) {
  assert(info(op).rule != KindRule::leaf && op != Op::cast);
  ExprNode n;
  n.op = op;
  n.kind = infer(op, a, b, c);
  n.args = {a, b, c};
  if (is_commutative(op) && n.args[1] < n.args[0]) std::swap(n.args[0], n.args[1]);
  return intern(n);
}

bool ExprPool::is_number(ExprId id, double x) const {
  return is_constant(id) && (*this)[id].value().as_real() == x;
}

std::vector<ExprId> ExprPool::reachable(std::span<const ExprId> roots) const {
  std::vector<ExprId> found;
  std::vector<ExprId> stack(roots.begin(), roots.end());
  std::unordered_map<ExprId, bool> seen;
  while (!stack.empty()) {
    const ExprId id = stack.back();
    stack.pop_back();
    if (!seen.try_emplace(id, true).second) continue;
    found.push_back(id);
    for (ExprId a : (*this)[id].operands()) stack.push_back(a);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<uint32_t> ExprPool::variables(ExprId root) const {
  std::vector<uint32_t> found;
  for (ExprId id : reachable(root))
    if ((*this)[id].op == Op::var) found.push_back((*this)[id].variable());
  std::sort(found.begin(), found.end());
  return found;
}

ExprId rebuild(ExprPool& pool, const ExprNode& node) {
  if (node.op == Op::cast) return pool.cast(node.format, node.args[0]);
  return pool.make(node.op, node.args[0], node.args[1], node.args[2]);
}

ExprId substitute(ExprPool& pool, ExprId root, const LeafMap& leaf, const NodeBuilder& make) {
  std::unordered_map<ExprId, ExprId> image;
  for (ExprId id : pool.reachable(root)) {
    ExprNode node = pool[id];
    ExprId result = id;
    if (node.op == Op::var) {
      result = leaf(node.variable()).value_or(id);
    } else if (node.op != Op::constant) {
      bool changed = false;
      for (size_t k = 0; k < static_cast<size_t>(node.arity()); ++k) {
        const ExprId to = image.at(node.args[k]);
        changed |= to != node.args[k];
        node.args[k] = to;
      }
      if (changed) result = make ? make(node) : rebuild(pool, node);
    }
    image[id] = result;
  }
  return image.at(root);
}

int operation_count(const ExprPool& pool, ExprId root) {
  int count = 0;
  for (ExprId id : pool.reachable(root)) count += pool[id].arity() > 0;
  return count;
}

int cost(const ExprPool& pool, ExprId root) {
  const std::vector<ExprId> nodes = pool.reachable(root);
  std::unordered_map<ExprId, int> uses;
  for (ExprId id : nodes)
    for (ExprId a : pool[id].operands()) ++uses[a];
  int total = 0;
  for (ExprId id : nodes) {
    const ExprNode& n = pool[id];
    total += info(n.op).cost;
    if (n.op != Op::add && n.op != Op::sub) continue;
    for (ExprId a :
         n.operands())  // a single-use product under an addition is one fused multiply-add
      if (pool[a].op == Op::mul && uses[a] == 1) {
        total -= info(Op::mul).cost;
        break;
      }
  }
  return total;
}

int64_t tree_size(const ExprPool& pool, ExprId root, int64_t limit) {
  std::unordered_map<ExprId, int64_t> size;
  for (ExprId id : pool.reachable(root)) {
    int64_t total = 1;
    for (ExprId a : pool[id].operands()) total = std::min(limit, total + size[a]);
    size[id] = total;
  }
  return size[root];
}

int depth(const ExprPool& pool, ExprId root) {
  std::unordered_map<ExprId, int> deep;
  for (ExprId id : pool.reachable(root)) {
    int below = 0;
    for (ExprId a : pool[id].operands()) below = std::max(below, deep[a]);
    deep[id] = below + 1;
  }
  return deep[root];
}

}  // namespace tang
