#include <fmt/format.h>

#include "base/blocks.h"
#include "loop/machine_impl.h"

namespace tang::loop {

Machine::Address Machine::address(Value index, Value stride, Value first) {
  Address a;
  a.index = eval(index).i;
  if (stride != Value{}) a.stride = eval(stride).i;
  if (first != Value{}) a.first = eval(first).i;
  return a;
}

void Machine::write(const Stmt& s) {
  const int lanes = k_[s.b].lanes;
  const Address to = address(s.a, s.stride, s.first);
  Vector value;
  if (lanes > 1)
    value = vector(s.b);
  else
    value[0] = eval(s.b);
  for (int e = 0; e < lanes && e < to.first; ++e) {
    if (s.kind == StmtKind::set)
      set(s, to.of(e), value[static_cast<size_t>(e)]);
    else
      store(s, to.of(e), value[static_cast<size_t>(e)]);
  }
}

void Machine::set(const Stmt& s, int64_t at, const Number& value) {
  auto& a = array(s.local);
  if (at < 0 || at >= static_cast<int64_t>(a.size()))
    return fault(s, fmt::format("element {} of {}", at, a.size()));
  auto& stamps = stamps_[index(s.local)];
  if (!stamps.empty()) meet_in(stamps[static_cast<size_t>(at)], k_[s.local].name, at, true);
  a[static_cast<size_t>(at)] = {value, me_->iteration};
}

void Machine::store(const Stmt& s, int64_t at, const Number& value) {
  const Buffer& b = p_[s.buffer];
  if (!inside(s.buffer, at, "a store")) return;
  touch(s.buffer, at, true);
  auto* data = static_cast<std::byte*>(buffers_[index(s.buffer)]);
  if (kind(b.format) == Kind::real)
    store_element(b.format, data, at, value.r);
  else
    store_integer(b.format, data, at, value.i);
}

bool Machine::inside(BufferId id, int64_t at, const char* what) {
  if (buffers_[index(id)] && at >= 0 && at < counts_[index(id)]) return true;
  fault(*now_, fmt::format("{} of element {} of `{}`, which has {}", what, at, p_[id].name,
                           counts_[index(id)]));
  return false;
}

// ---- who else touches an element ---------------------------------------------------------------

void Machine::touch(BufferId id, int64_t at, bool writes) {
  if (parallel_) share(id, at, writes);
  if (!group_) return;
  const BufferId memory = p_.storage(id);
  std::vector<Stamps>& all = met_[index(memory)];
  if (all.empty()) all.resize(static_cast<size_t>(counts_[index(memory)]));
  meet_in(all[static_cast<size_t>(at)], p_[id].name, at, writes);
}

// A store in a parallel kernel must be the only iteration's that touches its element.
void Machine::share(BufferId id, int64_t at, bool writes) {
  const BufferId memory = p_.storage(id);
  std::vector<Touch>& all = touched_[index(memory)];
  if (all.empty()) all.resize(static_cast<size_t>(counts_[index(memory)]));
  Touch& t = all[static_cast<size_t>(at)];
  const int64_t here = me_->iteration;
  const bool alone = t.reader == nobody || t.reader == here;
  if ((t.writer != nobody && t.writer != here) || (writes && !alone))
    fault(*now_, fmt::format("element {} of `{}` is {} here and {} in another iteration of a "
                             "parallel loop",
                             at, p_[id].name, writes ? "written" : "read",
                             t.writer != nobody ? "written" : "read"));
  if (writes)
    t.writer = here;
  else
    t.reader = alone ? here : several;
}

// Whether another thread did that with no barrier before what this one does now.
bool Machine::by_another(const Stamp& s) const {
  if (s.at < 0 || s.at % (k_.threads + 1) == me_->number) return false;
  if (s.at >= epoch_) return true;
  return s.section < me_->section && me_->since == epoch_ && s.at >= last_[s.section];
}

// A write must be the only thread's that touches its element from barrier to barrier.
void Machine::meet_in(Stamps& s, const std::string& name, int64_t at, bool writes) {
  const bool written = by_another(s.writer), read = by_another(s.reader);
  if (written || (writes && read)) {
    const Stamp& other = written ? s.writer : s.reader;
    const int64_t thread = other.at % (k_.threads + 1);
    fault(*now_,
          fmt::format("element {} of `{}` is {} here and {} by {} with no barrier between{}", at,
                      name, writes ? "written" : "read", written ? "written" : "read",
                      thread == k_.threads ? "several threads" : fmt::format("thread {}", thread),
                      other.at < epoch_ ? ", where this iteration follows that one" : ""));
  }
  const bool several = !writes && read && s.reader.at >= epoch_;
  (writes ? s.writer : s.reader) = {epoch_ + (several ? k_.threads : me_->number), me_->section};
}

// ---- reads -------------------------------------------------------------------------------------

// One element of a buffer or an array.
Number Machine::read(const Node& n, int64_t at) {
  return n.op == Op::load ? load(n, at) : element(n, at);
}

Number Machine::load(const Node& n, int64_t at) {
  const auto id = static_cast<BufferId>(n.id);
  const Buffer& b = p_[id];
  if (!inside(id, at, "a load")) return {};
  if (!is_block(b.format)) touch(id, at, false);
  const auto* data = static_cast<const std::byte*>(buffers_[n.id]);
  if (is_block(b.format)) return {load_block_element(b.format, data, at), 0};
  if (kind(b.format) == Kind::real) return {load_element(b.format, data, at), 0};
  return {0, load_integer(b.format, data, at)};
}

Number Machine::element(const Node& n, int64_t at) {
  const auto id = static_cast<LocalId>(n.id);
  const auto& a = array(id);
  const std::string& name = k_[id].name;
  if (at < 0 || at >= static_cast<int64_t>(a.size())) {
    fault(*now_, fmt::format("element {} of `{}`, which has {}", at, name, a.size()));
    return {};
  }
  if (!stamps_[n.id].empty()) meet_in(stamps_[n.id][static_cast<size_t>(at)], name, at, false);
  const Element& e = a[static_cast<size_t>(at)];
  if (e.setter == nobody)
    fault(*now_, fmt::format("element {} of `{}` is read before it is set", at, name));
  if (e.setter > 0 && e.setter != me_->iteration)
    fault(*now_, fmt::format("element {} of `{}` was set in another iteration of a parallel loop",
                             at, name));
  return e.value;
}

}  // namespace tang::loop
