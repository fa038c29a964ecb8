#include "unit/tile/mutations.h"

#include <algorithm>

#include <fmt/format.h>

#include "tile/text.h"

namespace tang::tile {

namespace {

class Mutator {
 public:
  Mutator(const Program& program, const Kernel& kernel) : p_(program), k_(kernel) {}

  std::vector<Mutant> run() {
    for (size_t c = 0; c < k_.channels.size(); ++c) channel(c);
    for (size_t t = 0; t < k_.turns.size(); ++t)
      make(fmt::format("turn {} starts elsewhere", k_.turns[t].name),
           [t](Kernel& k) { k.turns[t].first = (k.turns[t].first + 1) % 2; });
    for (size_t m = 0; m < k_.maps.size(); ++m) tensor_map(m);
    for (size_t m = 0; m < k_.memories.size(); ++m) memory(m);
    for (size_t n = 0; n < k_.placements.size(); ++n) placement(n);
    for (uint32_t id = 0; id < k_.ops.size(); ++id) operation(id);
    return std::move(made_);
  }

 private:
  template <class Change>
  void make(std::string what, const Change& change) {
    Mutant m{std::move(what), k_};
    change(m.kernel);
    made_.push_back(std::move(m));
  }

  void channel(size_t c) {
    const std::string name = k_.channels[c].name;
    for (const bool full : {true, false}) {
      const auto side = [c, full](Kernel& k) -> Signal& {
        return full ? k.channels[c].full : k.channels[c].empty;
      };
      const Signal& s = full ? k_.channels[c].full : k_.channels[c].empty;
      const std::string which = fmt::format("{} {}", name, full ? "full" : "empty");
      if (s.by == Signal::By::transaction)
        for (int64_t d : {-16, 16})
          make(fmt::format("{}: bytes {:+}", which, d), [&](Kernel& k) { side(k).bytes += d; });
      if (s.by == Signal::By::arrival)
        for (int64_t d : {-1, 1})
          make(fmt::format("{}: each {:+}", which, d), [&](Kernel& k) { side(k).each += d; });
      if (s.by == Signal::By::arrival || s.by == Signal::By::transaction)
        make(fmt::format("{}: parity", which), [&](Kernel& k) { side(k).phase ^= 1; });
    }
  }

  void tensor_map(size_t m) {
    const std::string name = k_.maps[m].name;
    for (size_t a = 0; a < k_.maps[m].box.size(); ++a)
      for (int64_t d : {-1, 1})
        make(fmt::format("map {}: box {} {:+}", name, a, d),
             [&](Kernel& k) { k.maps[m].box[a] += d; });
    if (k_.maps[m].swizzle > 0)
      make(fmt::format("map {}: half the swizzle", name),
           [&](Kernel& k) { k.maps[m].swizzle /= 2; });
  }

  void memory(size_t m) {
    const std::string name = k_.memories[m].name;
    for (size_t d = 0; d < k_.memories[m].layout.digits.size(); ++d)
      make(fmt::format("memory {}: half the bytes of digit {}", name, d),
           [&](Kernel& k) { k.memories[m].layout.digits[d].bytes /= 2; });
  }

  void placement(size_t n) {
    const NamedPlacement& p = k_.placements[n];
    for (size_t d = 0; d < p.placement.digits.size(); ++d)
      for (size_t t = 0; t < p.placement.digits[d].terms.size(); ++t)
        make(fmt::format("place {}: digit {} doubled", p.name, d),
             [&](Kernel& k) { k.placements[n].placement.digits[d].terms[t].coeff *= 2; });
  }

  // ---- operations ------------------------------------------------------------------------------

  static void erase(Kernel& k, uint32_t id) {
    for (Region& r : k.regions) std::erase(r.ops, id);
  }

  void operation(uint32_t id) {
    const Op& op = k_.ops[id];
    const std::string text = fmt::format("`{}`", print_op(p_, k_, op));
    switch (op.kind) {
      case OpKind::store:
      case OpKind::copy:
      case OpKind::commit:
      case OpKind::release:
      case OpKind::drain:
      case OpKind::wait:
      case OpKind::fence:
      case OpKind::take:
      case OpKind::pass:
        make("without " + text, [id](Kernel& k) { erase(k, id); });
        break;
      default:
        break;
    }
    if (op.one_thread)
      make(text + ": by all threads", [id](Kernel& k) { k.ops[id].one_thread = false; });
    if (op.kind != OpKind::loop && op.kind != OpKind::next) stage(id, text);
    for (size_t r = 0; r < op.refs.size(); ++r)
      for (size_t a = 0; a < op.refs[r].at.size(); ++a)
        form(fmt::format("{}: position {} of reference {}", text, a, r), op.refs[r].at[a],
             [=](Kernel& k) -> Form& { return k.ops[id].refs[r].at[a]; });
    for (size_t v = 0; v < op.valid.size(); ++v)
      form(fmt::format("{}: condition {}", text, v), op.valid[v],
           [=](Kernel& k) -> Form& { return k.ops[id].valid[v]; });
    for (size_t v = 0; v < op.from.size(); ++v)
      form(fmt::format("{}: place {}", text, v), op.from[v],
           [=](Kernel& k) -> Form& { return k.ops[id].from[v]; });
    for (size_t v = 0; v < op.leaves.size(); ++v)
      if (!op.leaves[v].argument)
        form(fmt::format("{}: index {}", text, v), op.leaves[v].form,
             [=](Kernel& k) -> Form& { return k.ops[id].leaves[v].form; });
    for (size_t b = 0; b < op.box.size(); ++b)
      for (int64_t d : {-1, 1})
        make(fmt::format("{}: extent {} {:+}", text, b, d),
             [=](Kernel& k) { k.ops[id].box[b] += d; });
    if (op.kind == OpKind::loop && !op.range.tiles) loop(id, text);
  }

  void stage(uint32_t id, const std::string& text) {
    const uint8_t now = k_.ops[id].stage;
    make(text + ": a stage later", [=](Kernel& k) { k.ops[id].stage = now + 1; });
    if (now > 0) make(text + ": a stage earlier", [=](Kernel& k) { k.ops[id].stage = now - 1; });
  }

  template <class Where>
  void form(const std::string& what, const Form& f, const Where& where) {
    for (int64_t d : {-1, 1})
      make(fmt::format("{} {:+}", what, d), [&](Kernel& k) { where(k) = f + Form(d); });
    for (const Form::Term& t : f.terms)
      make(fmt::format("{} without {}", what, k_[t.dim].name),
           [&](Kernel& k) { where(k) = f - t.coeff * Form::coordinate(t.dim); });
  }

  void loop(uint32_t id, const std::string& text) {
    const Op::Range& r = k_.ops[id].range;
    for (int64_t d : {-1, 1}) {
      make(fmt::format("{}: {:+} trips at the end", text, d), [=](Kernel& k) {
        for (Form& f : k.ops[id].range.hi) f = f + Form(d * k.ops[id].range.step);
      });
      make(fmt::format("{}: {:+} trips at the start", text, d), [=](Kernel& k) {
        for (Form& f : k.ops[id].range.lo) f = f - Form(d * k.ops[id].range.step);
      });
    }
    if (r.hi.size() > 1)
      make(text + ": without a limit", [=](Kernel& k) { k.ops[id].range.hi.pop_back(); });
    make(text + ": the other way", [=](Kernel& k) { k.ops[id].range.down = !r.down; });
    if (r.step > 1) make(text + ": half the step", [=](Kernel& k) { k.ops[id].range.step /= 2; });
  }

  const Program& p_;
  const Kernel& k_;
  std::vector<Mutant> made_;
};

}  // namespace

std::vector<Mutant> mutants(const Program& program, const Kernel& kernel) {
  return Mutator(program, kernel).run();
}

}  // namespace tang::tile
