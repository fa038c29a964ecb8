// Copies and matrix products, which may complete later.
#include <algorithm>

#include <fmt/format.h>

#include "tile/machine_impl.h"
#include "tile/text.h"

namespace tang::tile {

namespace {

// Calls `each(index)` for every point of the box over `axes`, last axis fastest; `index` is by
// DimId.
template <class Each>
void for_box(const std::vector<DimId>& axes, const std::vector<int64_t>& box,
             std::vector<int64_t> index, const Each& each) {
  int64_t total = 1;
  for (int64_t e : box) total *= e;
  for (DimId d : axes) index[tang::index(d)] = 0;
  for (int64_t n = 0; n < total; ++n) {
    each(index, n);
    for (size_t a = axes.size(); a-- > 0;) {
      if (++index[tang::index(axes[a])] < box[a]) break;
      index[tang::index(axes[a])] = 0;
    }
  }
}

}  // namespace

// ---- copies ------------------------------------------------------------------------------------

bool Machine::copy(Warp& w, const Op& op) {
  if (op.one_thread && w.within != 0) return true;
  if (op.refs[0].what == Ref::What::map)
    copy_in(w, op);
  else if (op.refs[1].what == Ref::What::map)
    copy_out(w, op);
  else
    copy_all(w, op);
  check_memory(w, op);
  return true;
}

Agent Machine::agent_of_slot(ChannelId c, size_t ring, int64_t slot) const {
  return slot_agent_[index_of(c)] +
         static_cast<Agent>(ring * static_cast<size_t>(k_[c].depth) + static_cast<size_t>(slot));
}

// A bulk copy of a map's box into a slot; its bytes count for the slot's full barrier.
void Machine::copy_in(Warp& w, const Op& op) {
  const TensorMap& m = k_[op.refs[0].map];
  const Place from = place(w, op.refs[0]), to = place(w, op.refs[1]);
  if (op.refs[1].what != Ref::What::member)
    return fault(&w, &op, "a bulk load goes into a slot of a channel");
  const Instance s = lookup(w, op.refs[1].slot);
  if (fault_) return;
  std::vector<int64_t> origin;
  for (const Flat& f : from.at) origin.push_back(f.at(w.index));
  int64_t bytes = info(from.memory->format).bits / 8;
  for (int64_t e : m.box) bytes *= e;
  const std::vector<int64_t> index = w.index;
  Pending p;
  const Agent agent = agent_of_slot(s.channel, s.ring, s.slot);
  p.number = ++issued_[agent];
  p.knows = w.knows, p.fenced = w.fenced;
  p.part = w.part;
  p.perform = [this, from, to, origin, index, box = m.box](const View& view) {
    Point x(origin.size()), y;
    for_box(from.memory->axes, box, index, [&](const std::vector<int64_t>& at, int64_t) {
      bool within = true;
      for (size_t a = 0; a < origin.size(); ++a) {
        x[a] = origin[a] + at[tang::index(from.memory->axes[a])];
        within &= x[a] >= 0 && x[a] < from.extents[a];
      }
      if (!inside(to, at, y))
        return fault(nullptr, nullptr, "out of bounds: a bulk copy past the slot");
      write(to, y, within ? read(from, x, view) : 0, view);
    });
  };
  MBarrier* full = &full_[index_of(s.channel)][s.ring * static_cast<size_t>(k_[s.channel].depth) +
                                               static_cast<size_t>(s.slot)];
  p.signal = [full, bytes](const Clock& knows, const Clock& fenced) {
    full->complete(bytes, knows, fenced);
  };
  queue_[agent].push_back(std::move(p));
  if (options_.completion == MachineOptions::Completion::early) perform(agent);
}

// A bulk store of a slot into a map's box.
void Machine::copy_out(Warp& w, const Op& op) {
  const TensorMap& m = k_[op.refs[1].map];
  const Place from = place(w, op.refs[0]), to = place(w, op.refs[1]);
  if (fault_) return;
  std::vector<int64_t> origin;
  for (const Flat& f : to.at) origin.push_back(f.at(w.index));
  for (int64_t o : origin)
    if (o < 0) return fault(&w, &op, "out of bounds: a bulk store from a negative coordinate");
  const std::vector<int64_t> index = w.index;
  Pending p;
  const Agent agent = store_agent_[w.id];
  p.number = ++issued_[agent];
  p.knows = w.knows, p.fenced = w.fenced;
  p.part = w.part;
  p.perform = [this, from, to, origin, index, box = m.box, use = m.use](const View& view) {
    Point x(origin.size()), y;
    for_box(to.memory->axes, box, index, [&](const std::vector<int64_t>& at, int64_t) {
      bool within = true;
      for (size_t a = 0; a < origin.size(); ++a) {
        x[a] = origin[a] + at[tang::index(to.memory->axes[a])];
        within &= x[a] < to.extents[a];
      }
      if (!inside(from, at, y))
        return fault(nullptr, nullptr, "out of bounds: a bulk store past the slot");
      const double value = read(from, y, view);
      if (!within) return;
      if (use == TensorMap::Use::add)
        add(to, x, value, view);
      else
        write(to, x, value, view);
    });
  };
  if (op.refs[0].what == Ref::What::member) {
    const Instance s = lookup(w, op.refs[0].slot);
    last_store_[index_of(s.channel)][s.ring * static_cast<size_t>(k_[s.channel].depth) +
                                     static_cast<size_t>(s.slot)] = p.number;
  }
  if (!op.results.empty()) {
    Instance token;
    token.what = Instance::What::token;
    token.token = {agent, p.number};
    define(w, op.results[0], token);
  }
  queue_[agent].push_back(std::move(p));
  if (options_.completion == MachineOptions::Completion::early) perform(agent);
}

// A copy by the threads of the role, each warp its share.
void Machine::copy_all(Warp& w, const Op& op) {
  const Place from = place(w, op.refs[0]), to = place(w, op.refs[1]);
  if (fault_) return;
  const std::vector<Flat> valid = flat(op.valid);
  const int64_t warps = op.one_thread ? 1 : warps_per_copy_[w.role];
  Point x, y;
  for_box(op.over, op.box, w.index, [&](const std::vector<int64_t>& at, int64_t n) {
    if (fault_ || n / 32 % warps != w.within) return;
    const bool holds =
        std::all_of(valid.begin(), valid.end(), [&](const Flat& f) { return f.at(at) >= 0; });
    if (!inside(to, at, y) || (holds && !inside(from, at, x)))
      return fault(&w, &op, "out of bounds");
    const View mine = view(w, static_cast<int32_t>(n % lanes_));
    write(to, y, holds ? read(from, x, mine) : op.fill, mine);
  });
}

// ---- matrix products ---------------------------------------------------------------------------

namespace {

// One factor of the product, gathered: strides of its elements by axis.
struct Factor {
  std::vector<double> elements;
  std::map<DimId, int64_t> stride;

  int64_t step(DimId d) const {
    const auto at = stride.find(d);
    return at == stride.end() ? 0 : at->second;
  }
};

bool holds(const std::vector<DimId>& axes, DimId d) {
  return std::find(axes.begin(), axes.end(), d) != axes.end();
}

bool mentions(const std::vector<Form>& forms, DimId d) {
  return std::any_of(forms.begin(), forms.end(), [d](const Form& f) { return f.mentions(d); });
}

}  // namespace

// Sums products over `over` for the elements of D that the warps hold.
void Machine::multiply(const Warp& w, const Op& op,
                       const std::map<int64_t, std::vector<Instance>>& args,
                       const std::map<int64_t, std::shared_ptr<Part>>& results, const View& view) {
  const PlacementId d = k_[op.results[0]].type.placement;
  std::map<DimId, int64_t> extent;  // of D's axes and the summed ones
  const Point box = k_[d].placement.box();
  for (size_t a = 0; a < box.size(); ++a) extent[k_[d].axes[a]] = box[a];
  for (size_t k = 0; k < op.over.size(); ++k) extent[op.over[k]] = op.box[k];
  size_t next = 0;
  std::vector<Factor> factors;
  for (const Ref& ref : op.refs) {
    Factor f;
    std::vector<DimId> axes;
    std::vector<int64_t> extents;
    const bool from_memory = ref.what != Ref::What::none;
    const size_t arg = from_memory ? 0 : next++;
    const PlacementId held =
        from_memory ? PlacementId::none : args.begin()->second[arg].part->placement;
    for (const auto& [dim, n] : extent) {
      const bool has = from_memory ? mentions(ref.at, dim) : holds(k_[held].axes, dim);
      if (!has) continue;
      axes.push_back(dim);
      extents.push_back(n);
    }
    int64_t total = 1;
    for (size_t a = axes.size(); a-- > 0;) f.stride[axes[a]] = total, total *= extents[a];
    f.elements.assign(static_cast<size_t>(total), 0);
    if (from_memory) {
      const Place p = places_.at(&ref);
      Point x;
      for_box(axes, extents, w.index, [&](const std::vector<int64_t>& at, int64_t n) {
        if (!inside(p, at, x)) return fault(&w, &op, "out of bounds: outside of an operand");
        f.elements[static_cast<size_t>(n)] = read(p, x, view);
      });
    } else {
      for (const auto& [within, list] : args) {
        const Layout& l = layout(held, within);
        for (size_t e = 0; e < l.at.size(); ++e) {
          int64_t at = 0;
          for (size_t a = 0; a < l.rank; ++a)
            at += f.step(k_[held].axes[a]) * l.coordinates[e * l.rank + a];
          f.elements[static_cast<size_t>(at)] = list[arg].part->elements[e];
        }
      }
    }
    factors.push_back(std::move(f));
  }
  if (fault_) return;
  int64_t terms = 1;
  for (int64_t e : op.box) terms *= e;
  std::vector<std::pair<int64_t, int64_t>> steps;  // of both factors, by term
  for_box(op.over, op.box, w.index, [&](const std::vector<int64_t>& at, int64_t) {
    int64_t a = 0, b = 0;
    for (DimId k : op.over) {
      a += factors[0].step(k) * at[tang::index(k)];
      b += factors[1].step(k) * at[tang::index(k)];
    }
    steps.emplace_back(a, b);
  });
  const bool accumulates = next < args.begin()->second.size();
  for (const auto& [within, part] : results) {
    const Layout& l = layout(d, within);
    const auto& mine = args.at(within);
    for (size_t e = 0; e < l.at.size(); ++e) {
      int64_t a = 0, b = 0;
      for (size_t x = 0; x < l.rank; ++x) {
        a += factors[0].step(k_[d].axes[x]) * l.coordinates[e * l.rank + x];
        b += factors[1].step(k_[d].axes[x]) * l.coordinates[e * l.rank + x];
      }
      const double *left = factors[0].elements.data() + a, *right = factors[1].elements.data() + b;
      double sum = 0;
      for (const auto& [i, j] : steps) sum += left[i] * right[j];
      if (op.negate) sum = -sum;
      const bool adds = accumulates && mine[next].part;
      part->elements[e] =
          round_to(k_[op.results[0]].type.format, sum + (adds ? mine[next].part->elements[e] : 0));
    }
  }
}

// Before a matrix unit takes registers that something else wrote, a fence.
void Machine::check_registers(Warp& w, const Op& op, const std::vector<Instance>& args) {
  if (w.fenced_at == 0)
    return fault(&w, &op, "registers: no fence comes before the first matrix operation");
  for (size_t k = 0; k < args.size(); ++k)
    if (args[k].part && args[k].touched > w.fenced_at)
      fault(&w, &op,
            fmt::format("registers: `{}` was written after the last fence", k_[op.args[k]].name));
}

bool Machine::contract(Warp& w, const Op& op) {
  const bool async = op.results.size() == 2;
  const size_t registers = static_cast<size_t>(std::count_if(
      op.refs.begin(), op.refs.end(), [](const Ref& r) { return r.what == Ref::What::none; }));
  std::vector<Instance> args;
  for (size_t k = 0; k < op.args.size(); ++k) {
    const bool accumulator = k >= registers;
    Instance t = lookup(w, op.args[k]);
    if (t.what == Instance::What::nothing && accumulator) {
      args.emplace_back();  // starts at nothing
      continue;
    }
    args.push_back(tile_of(w, op.args[k], accumulator && async));
    if (!args.back().part) return true;
  }
  if (!async) {
    std::map<int64_t, std::shared_ptr<Part>> results;
    results[w.within] = new_part(k_[op.results[0]].type.placement, w.within);
    for (const Ref& r : op.refs)
      if (r.what != Ref::What::none) places_[&r] = place(w, r);
    if (fault_) return true;
    multiply(w, op, {{w.within, args}}, results, view(w));
    check_memory(w, op);
    result(w, op, 0, results[w.within]);
    return true;
  }
  if (w.phase == 0) {
    check_registers(w, op, args);
    if (fault_) return true;
    w.generation = w.visits[op_number(op)]++;
    w.phase = 1;
    auto& g = gatherings_[{op_number(op), w.role, w.copy, w.generation}];
    g.args[w.within] = args;
    g.results[w.within] = new_part(k_[op.results[0]].type.placement, w.within);
    if (static_cast<int64_t>(g.args.size()) == warps_per_copy_[w.role]) issue(w, op, g);
  }
  const auto at = gatherings_.find({op_number(op), w.role, w.copy, w.generation});
  Gathering& g = at->second;
  if (!g.issued) return false;
  Instance d, token;
  d.what = Instance::What::tile;
  d.part = g.results.at(w.within);
  d.in_flight = g.token;
  token.what = Instance::What::token;
  token.token = g.token;
  define(w, op.results[0], std::move(d));
  define(w, op.results[1], token);
  if (--g.left == 0) gatherings_.erase(at);
  return true;
}

uint32_t Machine::op_number(const Op& op) const {
  return static_cast<uint32_t>(&op - k_.ops.data());
}

// All warps of the copy are here: the operation starts.
void Machine::issue(Warp& w, const Op& op, Gathering& g) {
  const Agent agent = matrix_agent_[w.role] + static_cast<Agent>(w.copy);
  Pending p;
  p.number = ++issued_[agent];
  p.knows = w.knows, p.fenced = w.fenced;
  p.part = w.part;
  std::map<const Ref*, Place> places;
  for (const Ref& r : op.refs)
    if (r.what != Ref::What::none) places[&r] = place(w, r);
  if (fault_) return;
  g.token = {agent, p.number};
  g.issued = true;
  g.left = warps_per_copy_[w.role];
  Warp at = w;  // indices as they are now
  at.frames.clear();
  p.perform = [this, at = std::move(at), &op, args = g.args, results = g.results,
               places](const View& view) {
    places_ = places;
    multiply(at, op, args, results, view);
    check_memory(at, op);
  };
  queue_[agent].push_back(std::move(p));
  if (options_.completion == MachineOptions::Completion::early) perform(agent);
}

}  // namespace tang::tile
