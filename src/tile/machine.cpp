// Setting up, scheduling and control.
#include <algorithm>

#include <fmt/format.h>

#include "tile/machine_impl.h"
#include "tile/text.h"

namespace tang::tile {

namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

Machine::Machine(const Program& program, const Kernel& kernel, std::vector<int64_t> params,
                 std::vector<Array*> arguments, MachineOptions options)
    : program_(program),
      k_(kernel),
      params_(std::move(params)),
      options_(options),
      random_(options.seed) {
  size_t next = 0;
  for (const Memory& m : k_.memories)
    arguments_.push_back(m.role == Memory::Role::local ? nullptr : arguments[next++]);
  find_memories();
  for (const NamedPlacement& p : k_.placements)
    lanes_ = std::max(lanes_, p.placement.count(Level::lane));

  // Warps, then the agents that work for them.
  for (RoleId r = 0; r < k_.roles.size(); ++r) {
    const Role& role = k_.roles[r];
    warps_per_copy_.push_back(role.warps / role.copies);
    for (int64_t v = 0; v < role.warps; ++v) {
      Warp w;
      w.id = static_cast<uint32_t>(warps_.size());
      w.role = r;
      w.copy = v / warps_per_copy_[r];
      w.within = v % warps_per_copy_[r];
      warps_.push_back(std::move(w));
    }
  }
  Agent agent = static_cast<Agent>(warps_.size());
  for (const Role& role : k_.roles) {
    matrix_agent_.push_back(agent);
    agent += static_cast<Agent>(role.copies);
  }
  for (size_t w = 0; w < warps_.size(); ++w) store_agent_.push_back(agent++);

  // Places in shared memory.
  const auto add = [&](const Memory& m) {
    Point box;
    for (const Poly& e : m.extents) box.push_back(e.evaluate(params_).value_or(0));
    const int64_t at = round_up(shared_bytes_, std::max<int64_t>(m.layout.align, 16));
    shared_bytes_ = at + m.layout.bytes(box, info(m.format).bits / 8);
    return at;
  };
  std::set<MemoryId> in_channels;
  for (const Channel& c : k_.channels) {
    int64_t copies = 1;
    for (RoleId r = 0; r < k_.roles.size(); ++r)
      if (c.per_copy && (c.full.from >> r & 1) != 0) copies = k_.roles[r].copies;
    slot_agent_.push_back(agent);
    agent += static_cast<Agent>(copies * c.depth);
    std::vector<int64_t> bases;
    for (int64_t s = 0; s < copies * c.depth; ++s)
      for (MemoryId m : c.members) {
        in_channels.insert(m);
        bases.push_back(add(k_[m]));
      }
    slot_base_.push_back(std::move(bases));
  }
  for (size_t m = 0; m < k_.memories.size(); ++m) {
    const bool own = k_.memories[m].role == Memory::Role::local &&
                     !in_channels.contains(static_cast<MemoryId>(m));
    memory_base_.push_back(own ? add(k_.memories[m]) : 0);
  }
  agents_ = agent;
}

// Arguments that are one array are one memory, which has values where one of them is no output.
void Machine::find_memories() {
  const size_t count = k_.memories.size();
  std::vector<uint8_t> written(count), stores(count), reads(count);
  globals_.resize(count);
  for (size_t m = 0; m < count; ++m) {
    const auto first = std::find(arguments_.begin(), arguments_.end(), arguments_[m]);
    global_of_.push_back(static_cast<size_t>(first - arguments_.begin()));
    written[global_of_[m]] |= k_.memories[m].role != Memory::Role::output;
  }
  for (const Op& op : k_.ops)
    for (const Ref& r : op.refs)
      if (r.what == Ref::What::memory)
        (op.kind == OpKind::store ? stores : reads)[global_of_[index_of(r.memory)]] = true;
  for (size_t m = 0; m < count; ++m)
    if (arguments_[m] && global_of_[m] == m)
      globals_[m] = GlobalMemory(arguments_[m]->elements(), k_.memories[m].format, written[m],
                                 stores[m] && reads[m]);
}

void Machine::start_block(int64_t worker) {
  shared_.emplace(shared_bytes_);
  full_.clear(), empty_.clear(), meeting_.clear(), turn_.clear(), last_store_.clear();
  gatherings_.clear();
  queue_.assign(agents_, {});
  issued_.assign(agents_, 0), performed_.assign(agents_, 0);
  finished_.assign(agents_, {Clock(agents_, 0), Clock(agents_, 0)});
  const auto arrivals = [&](const Channel& c, const Signal& s) {
    int64_t n = 0;
    for (RoleId r = 0; r < k_.roles.size(); ++r) {
      if ((s.from >> r & 1) == 0) continue;
      const int64_t copies = c.per_copy ? 1 : k_.roles[r].copies;
      n += copies * (s.by == Signal::By::named         ? warps_per_copy_[r]
                     : s.by == Signal::By::transaction ? 1
                                                       : s.each);
    }
    return std::max<int64_t>(n, 1);
  };
  for (size_t c = 0; c < k_.channels.size(); ++c) {
    const Channel& channel = k_.channels[c];
    const size_t slots = channel.members.empty() ? static_cast<size_t>(channel.depth)
                                                 : slot_base_[c].size() / channel.members.size();
    full_.emplace_back(slots, MBarrier(arrivals(channel, channel.full), agents_));
    empty_.emplace_back(slots, MBarrier(arrivals(channel, channel.empty), agents_));
    last_store_.emplace_back(slots, 0);
  }
  for (RoleId r = 0; r < k_.roles.size(); ++r)
    meeting_.emplace_back(static_cast<size_t>(k_.roles[r].copies),
                          NamedBarrier(warps_per_copy_[r], agents_));
  for (const Turn& t : k_.turns) {
    const int64_t warps = warps_per_copy_[t.role];
    turn_.emplace_back(static_cast<size_t>(k_.roles[t.role].copies),
                       NamedBarrier(2 * warps, agents_));
    const Clock nothing(agents_, 0);
    for (int64_t v = 0; v < warps; ++v)  // the copy before arms the first
      turn_.back()[static_cast<size_t>(t.first)].arrive(
          static_cast<uint32_t>(warps_.size() + static_cast<size_t>(v)), nothing, nothing);
  }
  for (Warp& w : warps_) {
    w.knows.assign(agents_, 0), w.fenced.assign(agents_, 0);
    w.index.assign(k_.indices.size(), 0);
    if (const Role& role = k_.roles[w.role]; role.copy) w.index[index(*role.copy)] = w.copy;
    w.produced.assign(k_.channels.size(), 0), w.consumed.assign(k_.channels.size(), 0);
    w.sequence = w.fenced_at = 0;
    w.phase = 0;
    w.synced = 0;
    w.part = static_cast<uint64_t>(worker) + 1;
    w.visits.clear();
    w.done = false;
    w.frames.clear();
    Frame body;
    body.region = static_cast<RegionId>(0);
    body.first = worker;
    w.frames.push_back(std::move(body));
  }
}

Result<void> Machine::run() {
  const int64_t all = k_.order ? static_cast<int64_t>(tiles_of(-1).size()) : 1;
  const int64_t workers = !k_.order               ? 1
                          : k_.order->workers > 0 ? std::min(k_.order->workers, all)
                                                  : all;
  for (int64_t worker = 0; worker < workers && !fault_; ++worker) {
    start_block(worker);
    run_block();
  }
  if (fault_) return tl::unexpected(*fault_);
  for (size_t m = 0; m < globals_.size(); ++m)
    if (const auto at = globals_[m].unwritten())
      return error("E0421", fmt::format("kernel `{}`: element {} of `{}` is never written", k_.name,
                                        *at, k_.memories[m].name));
  return {};
}

void Machine::run_block() {
  std::vector<size_t> order(warps_.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  while (!fault_) {
    std::shuffle(order.begin(), order.end(), random_);
    bool progress = false, left = false;
    for (size_t k : order) {
      Warp& w = warps_[k];
      // A few operations at a time, so that warps drift apart.
      for (uint64_t n = random_() % 4 + 1; n > 0 && !w.done && !fault_; --n) {
        if (!step(w)) break;
        progress = true;
      }
      left |= !w.done;
    }
    if (options_.completion == MachineOptions::Completion::random && random_() % 2 == 0)
      progress |= complete_one();
    if (!left) break;
    if (!progress && !complete_one()) return fault(nullptr, nullptr, blocked());
    if (++steps_ > options_.most_steps) return fault(nullptr, nullptr, "livelock: " + blocked());
  }
  for (Agent a = 0; a < queue_.size() && !fault_; ++a)
    if (!queue_[a].empty())
      fault(nullptr, nullptr,
            "the block ends while an asynchronous operation still uses its shared memory");
}

std::string Machine::blocked() const {
  std::string text = "deadlock:";
  std::set<std::string> said;
  for (const Warp& w : warps_) {
    if (w.done || !w.waiting) continue;
    const std::string line = fmt::format(" {} waits at `{}`;", k_.roles[w.role].name,
                                         print_op(program_, k_, *w.waiting));
    if (said.insert(line).second) text += line;
  }
  return text;
}

// Completes the oldest operation of some agent; false if there is none.
bool Machine::complete_one() {
  std::vector<Agent> ready;
  for (Agent a = 0; a < queue_.size(); ++a)
    if (!queue_[a].empty()) ready.push_back(a);
  if (ready.empty()) return false;
  perform(ready[random_() % ready.size()]);
  return true;
}

void Machine::perform(Agent agent) {
  Pending p = std::move(queue_[agent].front());
  queue_[agent].pop_front();
  p.perform({agent, p.number, &p.knows, &p.fenced, true, p.part});
  if (const std::string text = shared_->take_fault(); !text.empty()) fault(nullptr, nullptr, text);
  performed_[agent] = p.number;
  p.knows[agent] = p.number;
  p.fenced[agent] = p.number;
  join(finished_[agent].first, p.knows);
  join(finished_[agent].second, p.fenced);
  if (p.signal) p.signal(p.knows, p.fenced);
}

void Machine::fault(const Warp* w, const Op* op, std::string text) {
  if (fault_) return;
  Diagnostic d;
  d.id = "E0421";
  d.message = fmt::format("kernel `{}`", k_.name);
  if (op) d.message += fmt::format(", operation `{}`", print_op(program_, k_, *op));
  if (w) d.message += fmt::format(", warp {} of {} {}", w->within, k_.roles[w->role].name, w->copy);
  d.message += ": " + text;
  if (op) d.where = op->where;
  fault_ = std::move(d);
}

// ---- control -----------------------------------------------------------------------------------

std::vector<Point> Machine::tiles_of(int64_t worker) const {
  const TileOrder& o = *k_.order;
  std::vector<int64_t> counts;
  for (size_t a = 0; a < o.axes.size(); ++a) {
    const int64_t extent = o.extents[a].evaluate(params_).value_or(0);
    counts.push_back((extent + o.tile[a] - 1) / o.tile[a]);
  }
  // Digits from the slowest; an open-ended one runs as far as its axis has tiles, and what lies
  // past the end of a narrower last group is left out.
  std::vector<TileOrder::Digit> digits = o.digits;
  if (digits.empty())
    for (uint32_t a = 0; a < o.axes.size(); ++a) digits.push_back({{a, 1, 0}, false});
  std::vector<Point> tiles = {Point(o.axes.size(), 0)};
  for (const TileOrder::Digit& d : digits) {
    const int64_t n =
        d.of.extent > 0 ? d.of.extent : (counts[d.of.axis] + d.of.stride - 1) / d.of.stride;
    std::vector<Point> longer;
    for (const Point& t : tiles)
      for (int64_t x = 0; x < n; ++x) {
        Point next = t;
        next[d.of.axis] += (d.reversed ? n - 1 - x : x) * d.of.stride;
        if (next[d.of.axis] < counts[d.of.axis]) longer.push_back(std::move(next));
      }
    tiles = std::move(longer);
  }
  for (Point& t : tiles)
    for (size_t a = 0; a < t.size(); ++a) t[a] *= o.tile[a];
  if (worker < 0) return tiles;
  const int64_t workers = o.workers > 0
                              ? std::min<int64_t>(o.workers, static_cast<int64_t>(tiles.size()))
                              : static_cast<int64_t>(tiles.size());
  std::vector<Point> mine;
  for (size_t t = static_cast<size_t>(worker); t < tiles.size(); t += static_cast<size_t>(workers))
    mine.push_back(tiles[t]);
  return mine;
}

const Op* Machine::next_of(RegionId region) const {
  const Region& r = k_[region];
  if (r.ops.empty()) return nullptr;
  const Op& last = k_.ops[r.ops.back()];
  return last.kind == OpKind::next ? &last : nullptr;
}

// The value as the operation being run sees it: of its own trip, or of the trips around it. `depth`
// frames count.
Instance Machine::lookup(Warp& w, ValueId v, size_t depth) {
  if (v == ValueId::none) {
    Instance nothing;
    nothing.what = Instance::What::nothing;
    return nothing;
  }
  for (size_t f = depth; f-- > 0;) {
    Frame& frame = w.frames[f];
    auto& mine = frame.values[frame.current];
    if (const auto found = mine.find(index_of(v)); found != mine.end()) return found->second;
    if (!frame.op) continue;
    const auto carried = std::find(frame.op->carried.begin(), frame.op->carried.end(), v);
    if (carried == frame.op->carried.end()) continue;
    const auto c = static_cast<size_t>(carried - frame.op->carried.begin());
    Instance found;
    if (frame.current == 0) {
      found = lookup(w, frame.op->args[c], f);
    } else {
      const Op* next = next_of(frame.region);
      --frame.current;
      found = lookup(w, next->args[c], f + 1);
      ++frame.current;
    }
    if (found.what != Instance::What::unknown) mine[index_of(v)] = found;
    return found;
  }
  return {};
}

void Machine::define(Warp& w, ValueId v, Instance instance) {
  Frame& f = w.frames.back();
  f.values[f.current][index_of(v)] = std::move(instance);
}

// Sets the index of the trip that `op` belongs to; false if it has none in this round.
bool Machine::begin_op(Warp& w, Frame& f, const Op& op) {
  if ((op.roles >> w.role & 1) == 0) return false;
  f.current = f.trip - op.stage;
  if (f.current < 0 || f.current >= f.trips) return false;
  if (!f.op || f.op->kind != OpKind::loop) return true;
  const Op::Range& r = f.op->range;
  if (r.parallel) {
    const auto next = (uint64_t{1} << 40) + parts_.size();
    w.part = parts_.try_emplace({f.part, op_number(*f.op), f.current}, next).first->second;
  }
  if (r.tiles)
    for (size_t a = 0; a < r.indices.size(); ++a)
      w.index[index(r.indices[a])] = f.tiles[static_cast<size_t>(f.current)][a];
  else
    w.index[index(r.indices[0])] = f.first + f.current * f.step;
  return true;
}

// Adds the values, of one element each, that forms gather; false if one is not there.
bool Machine::add_gathered(Warp& w, const std::vector<Form>& forms, std::vector<int64_t>& index) {
  for (const Form& form : forms)
    for (const Form::Gather& g : form.gathers) {
      const Instance t = tile_of(w, static_cast<ValueId>(g.leaf));
      if (!t.part) return false;
      index.resize(k_.indices.size() + k_.values.size());
      index[k_.indices.size() + g.leaf] = static_cast<int64_t>(t.part->elements[0]);
    }
  return true;
}

bool Machine::enter(Warp& w, const Op& op) {
  Frame f;
  f.op = &op;
  f.region = op.body_region;
  f.part = w.part;
  std::vector<int64_t> index = w.index;
  for (const auto* forms : {&op.holds, &op.range.lo, &op.range.hi})
    if (!add_gathered(w, *forms, index)) return true;
  if (op.kind == OpKind::branch) {
    const std::vector<Flat> holds = flat(op.holds);
    const bool all =
        std::all_of(holds.begin(), holds.end(), [&](const Flat& x) { return x.at(index) >= 0; });
    if (!all && op.other_region == RegionId::none) f.trips = 0;
    if (!all && op.other_region != RegionId::none) f.region = op.other_region;
    if (f.trips == 0) return true;
    w.frames.push_back(std::move(f));
    return true;
  }
  if (op.range.tiles) {
    f.tiles = tiles_of(w.frames[0].first);
    f.trips = static_cast<int64_t>(f.tiles.size());
  } else {
    int64_t lo = INT64_MIN, hi = INT64_MAX;
    for (const Flat& x : flat(op.range.lo)) lo = std::max(lo, x.at(index));
    for (const Flat& x : flat(op.range.hi)) hi = std::min(hi, x.at(index));
    f.trips = std::max<int64_t>(0, (hi - lo + op.range.step - 1) / op.range.step);
    f.step = op.range.down ? -op.range.step : op.range.step;
    f.first = op.range.down ? lo + (f.trips - 1) * op.range.step : lo;
  }
  for (uint32_t id : k_[f.region].ops) f.stages = std::max<int64_t>(f.stages, k_.ops[id].stage);
  if (f.trips == 0) {
    for (size_t c = 0; c < op.results.size(); ++c) define(w, op.results[c], lookup(w, op.args[c]));
    return true;
  }
  w.frames.push_back(std::move(f));
  return true;
}

// Drops the values of trips that no stage is at any more, after the next has taken what it carries.
void Machine::forget(Warp& w) {
  Frame& f = w.frames.back();
  const int64_t oldest = f.trip - f.stages - 1;
  if (oldest < 1 || oldest >= f.trips) return;
  f.current = oldest;
  for (ValueId v : f.op->carried) lookup(w, v);
  f.values.erase(f.values.begin(), f.values.lower_bound(oldest));
}

// The end of a loop's last round, or of a branch.
void Machine::leave(Warp& w) {
  const Op* op = w.frames.back().op;
  std::vector<Instance> results;
  if (op && !op->results.empty()) {
    const Op* next = next_of(w.frames.back().region);
    w.frames.back().current = w.frames.back().trips - 1;
    for (size_t c = 0; c < op->results.size(); ++c) results.push_back(lookup(w, next->args[c]));
  }
  w.part = w.frames.back().part;
  w.frames.pop_back();
  if (w.frames.empty()) {
    w.done = true;
    return;
  }
  for (size_t c = 0; c < results.size(); ++c) define(w, op->results[c], results[c]);
  ++w.frames.back().at;
}

bool Machine::step(Warp& w) {
  Frame& f = w.frames.back();
  const Region& region = k_[f.region];
  if (f.at == region.ops.size()) {
    if (++f.trip < f.trips + f.stages && f.op && f.op->kind == OpKind::loop) {
      f.at = 0;
      forget(w);
    } else {
      leave(w);
    }
    return true;
  }
  const Op& op = k_.ops[region.ops[f.at]];
  if (!begin_op(w, f, op)) {
    ++f.at;
    return true;
  }
  w.waiting = &op;
  if (op.kind == OpKind::loop || op.kind == OpKind::branch) {
    const size_t depth = w.frames.size();
    enter(w, op);
    if (w.frames.size() == depth) ++w.frames.back().at;
    return true;
  }
  if (!execute(w, op)) return false;
  w.phase = 0;
  w.waiting = nullptr;
  ++w.frames.back().at;
  return true;
}

bool Machine::execute(Warp& w, const Op& op) {
  switch (info(op.kind).group) {
    case OpGroup::data:
      return data_op(w, op);
    case OpGroup::channel:
      return channel_op(w, op);
    case OpGroup::order:
      return order_op(w, op);
    case OpGroup::control:
      return true;  // next
  }
  return true;
}

Result<void> run(const Program& program, const Kernel& kernel, const std::vector<int64_t>& params,
                 const std::vector<Array*>& arguments, const MachineOptions& options) {
  return Machine(program, kernel, params, arguments, options).run();
}

}  // namespace tang::tile
