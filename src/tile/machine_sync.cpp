// Channels, barriers, fences and turns.
#include <algorithm>

#include <fmt/format.h>

#include "tile/machine_impl.h"

namespace tang::tile {

void Machine::learn(Warp& w, const Clock& knows, const Clock& fenced) {
  join(w.knows, knows);
  join(w.fenced, fenced);
  w.synced = w.knows[w.id];
}

bool Machine::is_done(const Token& t) const { return performed_[t.agent] >= t.number; }

size_t Machine::ring_of(const Warp& w, ChannelId c) const {
  return k_[c].per_copy ? static_cast<size_t>(w.copy) : 0;
}

// One side only: the channel is a role's own, and its full signal a barrier among its warps.
bool Machine::within_role(ChannelId c) const {
  return k_[c].full.by == Signal::By::named && k_[c].per_copy;
}

// Whether this warp arrives for its copy: all do if as many are counted, else the first.
bool Machine::arrives(const Warp& w, const Signal& s) const {
  if (s.by == Signal::By::named) return true;
  return w.within < s.each;
}

void Machine::check(const MBarrier& barrier) {
  if (barrier.overrun()) fault(nullptr, nullptr, "overrun: more arrivals than the barrier counts");
}

// All warps of a copy come together. True when they have.
bool Machine::meet(Warp& w, NamedBarrier& barrier) {
  if (w.phase == 0) {
    w.generation = barrier.arrive(w.id, w.knows, w.fenced);
    w.phase = 1;
  }
  if (barrier.overrun()) return fault(&w, w.waiting, "overrun: a warp arrives twice"), true;
  if (barrier.generation() <= w.generation) return false;
  learn(w, barrier.knows(), barrier.fenced());
  return true;
}

bool Machine::channel_op(Warp& w, const Op& op) {
  switch (op.kind) {
    case OpKind::acquire:
      return acquire(w, op);
    case OpKind::commit:
      return commit(w, op);
    case OpKind::receive:
      return receive(w, op);
    case OpKind::release:
      return release(w, op);
    default:
      return drain(w, op);
  }
}

void Machine::define_slot(Warp& w, const Op& op, size_t ring, int64_t slot) {
  Instance s;
  s.what = Instance::What::slot;
  s.channel = op.channel;
  s.ring = ring;
  s.slot = slot;
  define(w, op.results[0], std::move(s));
}

bool Machine::acquire(Warp& w, const Op& op) {
  const auto c = index_of(op.channel);
  const Channel& channel = k_.channels[c];
  const size_t ring = ring_of(w, op.channel);
  const int64_t slot = w.produced[c] % channel.depth, lap = w.produced[c] / channel.depth;
  const size_t at = ring * static_cast<size_t>(channel.depth) + static_cast<size_t>(slot);
  if (channel.empty.by == Signal::By::bulk_read) {
    // The warp that issues the stores waits until they have read the slot, the others for it.
    const Agent stores = store_agent_[w.id - static_cast<uint32_t>(w.within)];
    if (w.phase == 0 && w.within == 0) {
      if (!is_done({stores, last_store_[c][at]})) return false;
      w.knows[stores] = std::max(w.knows[stores], last_store_[c][at]);
    }
    if (!meet(w, meeting_[w.role][static_cast<size_t>(w.copy)])) return false;
  } else {
    MBarrier& empty = empty_[c][at];
    if (!empty.passed((lap & 1) ^ channel.empty.phase)) return false;
    learn(w, empty.knows(), empty.fenced());
  }
  ++w.produced[c];
  define_slot(w, op, ring, slot);
  return true;
}

bool Machine::commit(Warp& w, const Op& op) {
  const auto c = index_of(op.channel);
  const Channel& channel = k_.channels[c];
  if (within_role(op.channel)) return meet(w, meeting_[w.role][static_cast<size_t>(w.copy)]);
  const Instance s = lookup(w, op.args[0]);
  if (s.what != Instance::What::slot)
    return fault(&w, &op, "uninitialised: there is no slot"), true;
  if (!arrives(w, channel.full)) return true;
  MBarrier& full =
      full_[c][s.ring * static_cast<size_t>(channel.depth) + static_cast<size_t>(s.slot)];
  if (channel.full.by == Signal::By::transaction) full.expect(channel.full.bytes);
  full.arrive(w.knows, w.fenced);
  check(full);
  return true;
}

bool Machine::receive(Warp& w, const Op& op) {
  const auto c = index_of(op.channel);
  const Channel& channel = k_.channels[c];
  const size_t ring = ring_of(w, op.channel);
  const int64_t slot = w.consumed[c] % channel.depth, lap = w.consumed[c] / channel.depth;
  MBarrier& full = full_[c][ring * static_cast<size_t>(channel.depth) + static_cast<size_t>(slot)];
  if (!full.passed((lap & 1) ^ channel.full.phase)) return false;
  learn(w, full.knows(), full.fenced());
  ++w.consumed[c];
  define_slot(w, op, ring, slot);
  return true;
}

bool Machine::release(Warp& w, const Op& op) {
  const auto c = index_of(op.channel);
  const Channel& channel = k_.channels[c];
  const Instance s = lookup(w, op.args[0]);
  if (s.what == Instance::What::nothing) return true;  // before the first trip
  if (s.what != Instance::What::slot || s.channel != op.channel)
    return fault(&w, &op, "uninitialised: this is no slot of the channel"), true;
  if (!arrives(w, channel.empty)) return true;
  MBarrier& empty =
      empty_[c][s.ring * static_cast<size_t>(channel.depth) + static_cast<size_t>(s.slot)];
  empty.arrive(w.knows, w.fenced);
  check(empty);
  return true;
}

// Until everything this warp's copy has committed is empty again.
bool Machine::drain(Warp& w, const Op& op) {
  const auto c = index_of(op.channel);
  const Channel& channel = k_.channels[c];
  const size_t ring = ring_of(w, op.channel);
  if (channel.empty.by == Signal::By::bulk_read) {
    const Agent stores = store_agent_[w.id - static_cast<uint32_t>(w.within)];
    return w.within > 0 || is_done({stores, issued_[stores]});
  }
  for (int64_t k = 1; k <= std::min(channel.depth, w.produced[c]); ++k) {
    const int64_t n = w.produced[c] - k;
    const size_t at =
        ring * static_cast<size_t>(channel.depth) + static_cast<size_t>(n % channel.depth);
    if (!empty_[c][at].passed((n / channel.depth) & 1)) return false;
  }
  return true;
}

bool Machine::order_op(Warp& w, const Op& op) {
  if (op.kind == OpKind::wait) {
    for (ValueId v : op.args) {
      const Instance t = lookup(w, v);
      if (t.what == Instance::What::nothing) continue;
      if (t.what != Instance::What::token) return fault(&w, &op, "this is no token"), true;
      if (!is_done(t.token)) return false;
      learn(w, finished_[t.token.agent].first, finished_[t.token.agent].second);
    }
    return true;
  }
  if (op.kind == OpKind::fence) {
    if (op.fence == Fence::async)
      w.fenced[w.id] = w.knows[w.id];
    else
      w.fenced_at = ++w.sequence;
    return true;
  }
  if (op.kind == OpKind::barrier) return meet(w, meeting_[w.role][static_cast<size_t>(w.copy)]);
  auto& barriers = turn_[op.turn];
  const auto mine = static_cast<size_t>(w.copy);
  if (op.kind == OpKind::take) return meet(w, barriers[mine]);
  NamedBarrier& next = barriers[(mine + 1) % barriers.size()];
  next.arrive(w.id, w.knows, w.fenced);
  if (next.overrun()) fault(&w, &op, "overrun: the turn was passed on twice and never taken");
  return true;
}

}  // namespace tang::tile
