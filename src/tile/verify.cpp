#include "tile/verify.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tile/names.h"
#include "tile/text.h"
#include "tile/verify_rows.h"
#include "tile/verify_values.h"

namespace tang::tile {

namespace {

class Verifier {
 public:
  Verifier(const Program& program, const Kernel& kernel) : p_(program), k_(kernel) {}

  Diagnostics run() {
    for (const NamedPlacement& p : k_.placements) placement(p);
    for (const Memory& m : k_.memories) memory(m);
    for (const TensorMap& m : k_.maps) tensor_map(m);
    roles();
    for (size_t c = 0; c < k_.channels.size(); ++c) channel(static_cast<ChannelId>(c));
    for (const Turn& t : k_.turns)
      if (t.role >= k_.roles.size() || t.first < 0 || t.first >= k_.roles[t.role].copies)
        complain(fmt::format("turn `{}` starts at copy {}", t.name, t.first));
    for (const Op& op : k_.ops) operation(op);
    if (faults_.empty())  // rows are compared with shapes that are right by themselves
      for (const Op& op : k_.ops)
        if (const std::string fault = row_fault(k_, op); !fault.empty()) complain(fault, &op);
    for (const Region& r : k_.regions) region(r);
    verify_values(k_, [this](std::string text, const Op& op) { complain(std::move(text), &op); });
    stages();
    parallel();
    return std::move(faults_);
  }

 private:
  void complain(std::string text, const Op* op = nullptr) {
    Diagnostic d;
    d.id = "E0420";
    d.message = fmt::format("kernel `{}`: {}", k_.name, text);
    if (op) d.message += fmt::format(", in `{}`", print_op(p_, k_, *op));
    if (op) d.where = op->where;
    faults_.push_back(std::move(d));
  }

  // ---- declarations ----------------------------------------------------------------------------

  void placement(const NamedPlacement& p) {
    if (const std::string fault = p.placement.fault(); !fault.empty())
      return complain(fmt::format("placement `{}`: {}", p.name, fault));
    if (p.placement.rank() != p.axes.size())
      return complain(fmt::format("placement `{}` has {} axes", p.name, p.placement.rank()));
    if (!p.placement.is_bijective())
      complain(fmt::format("placement `{}` does not hold each element of its box once", p.name));
  }

  static Point constant_box(const Memory& m) {
    Point box;
    for (const Poly& e : m.extents) box.push_back(e.constant().value_or(0));
    return box;
  }

  int64_t element_bytes(Format f) const { return info(f).bits / 8; }

  void memory(const Memory& m) {
    if (m.role != Memory::Role::local && m.layout.digits.empty()) return;
    if (m.role != Memory::Role::local && m.life != Life::program)
      complain(fmt::format("argument `{}` has a layout and does not live for the program", m.name));
    const Point box = constant_box(m);
    for (int64_t e : box)
      if (e < 1) return complain(fmt::format("memory `{}` has no constant extents", m.name));
    for (const StorageDigit& d : m.layout.digits)
      if (d.of.axis >= box.size() || d.of.stride < 1)
        return complain(fmt::format("memory `{}` has a digit of no axis", m.name));
    if (!m.layout.is_injective(box, element_bytes(m.format)))
      complain(fmt::format("elements of memory `{}` overlap", m.name));
    if (m.layout.align % m.layout.swizzle.period() != 0)
      complain(fmt::format("memory `{}` is aligned to {} bytes, its swizzle repeats after {}",
                           m.name, m.layout.align, m.layout.swizzle.period()));
  }

  void tensor_map(const TensorMap& m) {
    const Memory& of = k_[m.of];
    if (of.role == Memory::Role::local || m.box.size() != of.axes.size() || m.box.empty())
      return complain(
          fmt::format("map `{}` needs an argument and an extent for each axis", m.name));
    for (int64_t e : m.box)
      if (e < 1 || e > 256) return complain(fmt::format("map `{}`: a box extent of {}", m.name, e));
    const int64_t row = m.box.back() * element_bytes(of.format);
    if (row % 16 != 0 || (m.swizzle > 0 && row > m.swizzle))
      complain(
          fmt::format("map `{}`: rows of {} bytes under a swizzle of {}", m.name, row, m.swizzle));
    if (m.swizzle != 0 && m.swizzle != 32 && m.swizzle != 64 && m.swizzle != 128)
      complain(fmt::format("map `{}`: a swizzle of {} bytes", m.name, m.swizzle));
  }

  void roles() {
    std::set<int64_t> taken;
    for (const Role& r : k_.roles) {
      if (r.warps < 1 || r.copies < 1 || r.warps % r.copies != 0)
        complain(fmt::format("role `{}`: {} warps for {} copies", r.name, r.warps, r.copies));
      for (int64_t w = r.first_warp; w < r.first_warp + r.warps; ++w)
        if (!taken.insert(w).second)
          complain(fmt::format("warp {} has two roles, one is `{}`", w, r.name));
    }
  }

  int64_t warps_of_copy(RoleId r) const { return k_.roles[r].warps / k_.roles[r].copies; }

  void channel(ChannelId id) {
    const Channel& c = k_[id];
    if (c.depth < 1) complain(fmt::format("channel `{}` has no slot", c.name));
    for (const Signal* s : {&c.full, &c.empty}) {
      if (s->from == 0) complain(fmt::format("nobody signals channel `{}`", c.name));
      for (RoleId r = 0; r < k_.roles.size(); ++r)
        if ((s->from >> r & 1) != 0 && s->by == Signal::By::arrival && s->each != 1 &&
            s->each != warps_of_copy(r))
          complain(fmt::format("channel `{}`: {} arrivals of {} warps", c.name, s->each,
                               warps_of_copy(r)));
    }
    if (c.full.by == Signal::By::transaction) check_bytes(id);
  }

  // Every slot that is acquired receives the bytes that its barrier expects.
  void check_bytes(ChannelId id) {
    for (const Op& op : k_.ops) {
      if (op.kind != OpKind::acquire || op.channel != id || op.results.empty()) continue;
      int64_t bytes = 0;
      for (const Op& copy : k_.ops)
        if (copy.kind == OpKind::copy && copy.refs[0].what == Ref::What::map &&
            copy.refs[1].slot == op.results[0]) {
          int64_t box = element_bytes(k_[copy.refs[0].memory].format);
          for (int64_t e : k_[copy.refs[0].map].box) box *= e;
          bytes += box;
        }
      if (bytes != k_[id].full.bytes)
        complain(fmt::format("a slot of channel `{}` receives {} bytes, its barrier expects {}",
                             k_[id].name, bytes, k_[id].full.bytes),
                 &op);
    }
  }

  // ---- operations ------------------------------------------------------------------------------

  void operation(const Op& op) {
    if (op.roles == 0) complain("nobody does this", &op);
    for (const Ref& r : op.refs) {
      if (r.what == Ref::What::none) continue;
      if (r.at.size() != k_[r.memory].axes.size())
        complain(fmt::format("{} positions for {} axes", r.at.size(), k_[r.memory].axes.size()),
                 &op);
      if (r.what == Ref::What::member) member(op, r);
    }
    for (ValueId v : op.results) result(op, v);
    switch (op.kind) {
      case OpKind::copy:
        return copy(op);
      case OpKind::contract:
        return contract(op);
      case OpKind::solve:
        if (op.over.size() != 2) complain("a triangle has rows and columns", &op);
        return;
      case OpKind::scan:
        if (op.over.size() != 1) complain("a scan runs along one axis", &op);
        [[fallthrough]];
      case OpKind::reduce:
      case OpKind::fold:
        if (op.args.size() != k_[op.monoid].fields.size() || op.results.size() != op.args.size())
          complain("a value is needed for each component of the monoid", &op);
        return;
      case OpKind::acquire:
      case OpKind::commit:
      case OpKind::drain:
        if ((op.roles & ~k_[op.channel].full.from) != 0)
          complain(fmt::format("only a producer of `{}` may", k_[op.channel].name), &op);
        return;
      case OpKind::receive:
      case OpKind::release:
        if ((op.roles & ~k_[op.channel].empty.from) != 0)
          complain(fmt::format("only a consumer of `{}` may", k_[op.channel].name), &op);
        return;
      case OpKind::take:
      case OpKind::pass:
        if (op.roles != RoleSet{1} << k_.turns[op.turn].role)
          complain("the turn belongs to another role", &op);
        return;
      case OpKind::loop:
        return loop(op);
      default:
        return;
    }
  }

  void member(const Op& op, const Ref& r) {
    if (r.slot == ValueId::none || k_[r.slot].type.what != Type::What::slot)
      return complain("this is no slot", &op);
    const auto& members = k_[k_[r.slot].type.channel].members;
    if (std::find(members.begin(), members.end(), r.memory) == members.end())
      complain(fmt::format("the slot has no `{}`", k_[r.memory].name), &op);
  }

  // A tile's threads are those of the role that makes it.
  void result(const Op& op, ValueId v) {
    const Type& t = k_[v].type;
    if (t.what != Type::What::tile || t.placement == PlacementId::none) return;
    const Placement& p = k_[t.placement].placement;
    for (RoleId r = 0; r < k_.roles.size(); ++r)
      if ((op.roles >> r & 1) != 0 && p.count(Level::warp) > 1 &&
          p.count(Level::warp) != warps_of_copy(r))
        complain(fmt::format("`{}` is spread over {} warps, a copy of the role has {}",
                             k_[t.placement].name, p.count(Level::warp), warps_of_copy(r)),
                 &op);
    if (p.has(Use::partial) != (t.partial != MonoidId::none))
      complain("partial digits and the monoid that folds them go together", &op);
  }

  // A bulk copy packs its box's rows one after the other, under the map's swizzle.
  void copy(const Op& op) {
    const bool in = op.refs[0].what == Ref::What::map, out = op.refs[1].what == Ref::What::map;
    if (!in && !out) return;
    const Ref &map = op.refs[in ? 0 : 1], &other = op.refs[in ? 1 : 0];
    const TensorMap& m = k_[map.map];
    const Memory &of = k_[m.of], &memory = k_[other.memory];
    if (!op.one_thread) complain("a bulk copy is issued by one thread", &op);
    if (in != (m.use == TensorMap::Use::load)) complain("the map is for the other direction", &op);
    if (memory.format != of.format || memory.role != Memory::Role::local)
      return complain("a bulk copy keeps the format and goes to shared memory", &op);
    if (!(memory.layout.swizzle == span_swizzle(m.swizzle)))
      return complain("map and memory have different swizzles", &op);
    const int64_t size = element_bytes(of.format);
    Storage plain = memory.layout;
    plain.swizzle = {};
    int64_t total = 1, first = 0;
    for (int64_t e : m.box) total *= e;
    for (int64_t n = 0; n < total; ++n) {
      std::vector<int64_t> index(k_.indices.size(), 0);
      int64_t rest = n;
      for (size_t a = m.box.size(); a-- > 0;) {
        index[tang::index(of.axes[a])] = rest % m.box[a];
        rest /= m.box[a];
      }
      Point x;
      for (const Form& f : other.at)
        x.push_back(evaluate(f, zeros(), [&](DimId d) { return index[tang::index(d)]; }));
      const Point box = constant_box(memory);
      for (size_t a = 0; a < x.size(); ++a)
        if (x[a] < 0 || x[a] >= box[a])
          return complain(fmt::format("the box leaves `{}`", memory.name), &op);
      const int64_t at = plain.address(x);
      if (n == 0) first = at;
      if (at - first != n * size)
        return complain(
            fmt::format("the box does not lie in `{}` as a bulk copy packs it", memory.name), &op);
    }
    if (first % 128 != 0) complain("a bulk copy starts at a multiple of 128 bytes", &op);
  }

  std::vector<int64_t> zeros() const { return std::vector<int64_t>(p_.params.size(), 0); }

  void contract(const Op& op) {
    if (op.refs.size() != 2 || op.results.empty()) return complain("two operands, one result", &op);
    for (int64_t e : op.box)
      if (e < 1) return complain("an extent below 1", &op);
    const NamedPlacement& d = k_[k_[op.results[0]].type.placement];
    std::map<DimId, int64_t> extent;
    const Point box = d.placement.box();
    for (size_t a = 0; a < d.axes.size(); ++a) extent[d.axes[a]] = box[a];
    for (size_t a = 0; a < op.over.size(); ++a)
      if (!extent.emplace(op.over[a], op.box[a]).second)
        return complain("an axis is summed and is one of the result's", &op);
    size_t next = 0;
    for (const Ref& r : op.refs)
      if (r.what == Ref::What::none) factor(op, op.args[next++], extent);
    if (next < op.args.size() && op.args[next] != ValueId::none)
      if (const Type& t = k_[op.args[next]].type;
          t.what == Type::What::tile && t.placement != k_[op.results[0]].type.placement)
        complain("what is added to lies elsewhere than the result", &op);
  }

  // An operand in registers has all of each of its axes, and no others.
  void factor(const Op& op, ValueId v, const std::map<DimId, int64_t>& extent) {
    if (v == ValueId::none || k_[v].type.what != Type::What::tile ||
        k_[v].type.placement == PlacementId::none)
      return complain("an operand is no tile", &op);
    const NamedPlacement& p = k_[k_[v].type.placement];
    const Point box = p.placement.box();
    for (size_t a = 0; a < p.axes.size(); ++a) {
      const auto found = extent.find(p.axes[a]);
      if (found == extent.end() || found->second != box[a])
        complain(fmt::format("`{}` has {} elements along `{}`, which the product does not take",
                             k_[v].name, box[a], k_[p.axes[a]].name),
                 &op);
    }
  }

  void loop(const Op& op) {
    if (op.range.step < 1) complain("a loop's step is 1 or more", &op);
    if (op.range.tiles && (!k_.order || k_.order->axes.size() != op.range.indices.size()))
      complain("the kernel has no order of tiles with these axes", &op);
    if (op.results.size() != op.carried.size())
      complain(fmt::format("{} results of {} carried values", op.results.size(), op.carried.size()),
               &op);
    const Region& body = k_[op.body_region];
    const Op* next = body.ops.empty() ? nullptr : &k_.ops[body.ops.back()];
    if (next && next->kind != OpKind::next) next = nullptr;
    if (!op.carried.empty() && (!next || next->args.size() != op.carried.size()))
      complain("the body does not end with `next` and a value for each it carries", &op);
  }

  void region(const Region& r) {
    for (size_t n = 0; n + 1 < r.ops.size(); ++n)
      if (k_.ops[r.ops[n]].kind == OpKind::next)
        complain("`next` ends its block", &k_.ops[r.ops[n]]);
  }

  // A stage counts trips of the loop around the operation.
  void stages() {
    std::set<uint32_t> in_loops;
    for (const Op& op : k_.ops)
      if (op.kind == OpKind::loop)
        for (uint32_t id : k_[op.body_region].ops) in_loops.insert(id);
    for (uint32_t id = 0; id < k_.ops.size(); ++id)
      if (k_.ops[id].stage > 0 && !in_loops.contains(id))
        complain("a stage needs a loop directly around it", &k_.ops[id]);
  }

  // Whoever runs a part of the kernel runs all that stands outside of parallel loops.
  void parallel() {
    const std::vector<uint32_t>& top = k_.regions[0].ops;
    bool any = false;
    for (uint32_t id = 0; id < k_.ops.size(); ++id) {
      const Op& op = k_.ops[id];
      if (op.kind != OpKind::loop || !op.range.parallel) continue;
      any = true;
      if (std::find(top.begin(), top.end(), id) == top.end())
        complain("only a loop of the kernel's own body is parallel", &op);
      if (!op.carried.empty()) complain("a parallel loop carries nothing", &op);
    }
    if (any)
      if (const Op* op = shared_store(k_))
        complain("stores outside of the parallel loops, where every part would", op);
  }

  const Program& p_;
  const Kernel& k_;
  Diagnostics faults_;
};

}  // namespace

const Op* shared_store(const Kernel& kernel) {
  std::vector<RegionId> work = {static_cast<RegionId>(0)};
  for (size_t next = 0; next < work.size(); ++next) {
    for (uint32_t id : kernel[work[next]].ops) {
      const Op& op = kernel.ops[id];
      if (op.kind == OpKind::loop && op.range.parallel) continue;
      for (RegionId body : {op.body_region, op.other_region})
        if (body != RegionId::none) work.push_back(body);
      const bool writes = op.kind == OpKind::store || op.kind == OpKind::copy;
      const Ref* to = writes ? &op.refs.back() : nullptr;
      if (to && to->what == Ref::What::memory && kernel[to->memory].role != Memory::Role::local)
        return &op;
    }
  }
  return nullptr;
}

Diagnostics verify(const Program& program, const Kernel& kernel) {
  return Verifier(program, kernel).run();
}

Diagnostics verify(const Program& program) {
  Diagnostics all;
  for (const Kernel& k : program.kernels)
    for (Diagnostic& d : verify(program, k)) all.push_back(std::move(d));
  return all;
}

}  // namespace tang::tile
