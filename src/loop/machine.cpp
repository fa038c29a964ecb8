#include "loop/machine.h"

#include <algorithm>

#include <fmt/format.h>

#include "loop/machine_impl.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace tang::loop {

Machine::Machine(const Program& program, const Kernel& kernel, std::span<void* const> buffers,
                 std::span<const int64_t> symbols, int64_t most_steps)
    : p_(program),
      k_(kernel),
      buffers_(buffers),
      symbols_(symbols),
      left_(most_steps),
      parallel_(is_parallel(kernel)),
      group_(kernel.threads > 1),
      shared_(kernel.locals.size()),
      stamps_(kernel.locals.size()),
      met_(program.buffers.size()),
      touched_(program.buffers.size()) {
  for (const Buffer& b : program.buffers) counts_.push_back(b.count.evaluate(symbols).value_or(0));
  match_ends();
  lay_out();
}

void Machine::match_ends() {
  end_of_.assign(k_.body.size(), 0);
  std::vector<size_t> open;
  for (size_t pc = 0; pc < k_.body.size(); ++pc) {
    const StmtKind kind = k_.body[pc].kind;
    if (kind == StmtKind::for_ || kind == StmtKind::if_) open.push_back(pc);
    if (kind == StmtKind::end && !open.empty()) {
      end_of_[open.back()] = pc;
      open.pop_back();
    }
  }
}

// Memory of the threads and of the group.
void Machine::lay_out() {
  uint32_t size = 0;
  for (size_t l = 0; l < k_.locals.size(); ++l) {
    const Local& local = k_.locals[l];
    slots_.push_back(size);
    if (local.kind != LocalKind::array) size += local.lanes;
    if (!local.shared) continue;
    shared_[l].resize(static_cast<size_t>(local.count));
    if (group_) stamps_[l].resize(static_cast<size_t>(local.count));
  }
  threads_.resize(static_cast<size_t>(std::clamp<int64_t>(k_.threads, 1, max_threads)));
  for (size_t t = 0; t < threads_.size(); ++t) {
    threads_[t].number = static_cast<int64_t>(t);
    threads_[t].locals.resize(size);
    threads_[t].arrays.resize(k_.locals.size());
  }
}

Result<void> Machine::run() {
  do {
    for (Thread& t : threads_) {
      me_ = &t;
      go();
    }
  } while (fault_.empty() && meet());
  if (fault_.empty()) return {};
  return error("E0421", fmt::format("kernel `{}`, {}", k_.name, fault_));
}

void Machine::fault(const Stmt& s, const std::string& text) {
  if (!fault_.empty()) return;
  const std::string who = group_ ? fmt::format(", thread {}", me_->number) : "";
  fault_ = fmt::format("`{}`{}: {}", print_statement(p_, k_, s), who, text);
}

// ---- threads -----------------------------------------------------------------------------------

// Runs a thread until it waits for the others or ends.
void Machine::go() {
  while (me_->pc < k_.body.size() && !me_->waits && fault_.empty()) me_->pc = step(me_->pc);
}

// Lets all threads go on from where they wait; false if they have ended.
bool Machine::meet() {
  const auto same = [](const Open& a, const Open& b) {
    return a.start == b.start && a.next == b.next;
  };
  const Thread& first = threads_[0];
  for (const Thread& t : threads_)
    if (t.pc != first.pc ||
        !std::equal(t.open.begin(), t.open.end(), first.open.begin(), first.open.end(), same)) {
      apart(first, t);
      return false;
    }
  if (first.pc >= k_.body.size()) return false;
  const Stmt& s = k_.body[first.pc];
  if (s.kind == StmtKind::exchange) {
    exchange(s);
  } else {
    epoch_ += k_.threads + 1;
  }
  for (Thread& t : threads_) {
    t.waits = false;
    ++t.pc;
  }
  return fault_.empty();
}

// Says of two threads that they wait for each other at different places.
void Machine::apart(const Thread& a, const Thread& b) {
  const Thread& waits = a.waits ? a : b;
  me_ = threads_.data() + waits.number;
  fault(k_.body[waits.pc], fmt::format("threads diverge: {}, {}", whereabouts(a), whereabouts(b)));
}

std::string Machine::whereabouts(const Thread& t) const {
  if (!t.waits) return fmt::format("thread {} has ended", t.number);
  std::string text = fmt::format("thread {} waits at statement {} (`{}`)", t.number, t.pc + 1,
                                 print_statement(p_, k_, k_.body[t.pc]));
  std::string_view before = " with ";
  for (const Open& o : t.open) {
    const Stmt& around = k_.body[o.start];
    if (around.kind != StmtKind::for_) continue;
    text += fmt::format("{}{} = {}", before, k_[around.local].name, o.next);
    before = ", ";
  }
  return text;
}

void Machine::exchange(const Stmt& s) {
  const uint32_t to = slots_[index(s.local)];
  for (Thread& t : threads_) {
    const auto other = static_cast<size_t>(t.number ^ s.step);
    me_ = &t;
    if (other >= threads_.size())
      return fault(s, fmt::format("there is no thread {} of {}", other, threads_.size()));
    std::copy_n(threads_[other].sent.begin(), k_[s.local].lanes, t.locals.begin() + to);
  }
}

// ---- statements --------------------------------------------------------------------------------

// Runs the statement at `pc`; returns where to go on.
size_t Machine::step(size_t pc) {
  const Stmt& s = k_.body[pc];
  now_ = &s;
  if (--left_ < 0) fault(s, "too many steps: this loop does not seem to end");
  switch (s.kind) {
    case StmtKind::for_: {
      const int64_t first = eval(s.a).i, end = eval(s.b).i;
      if (first >= end) return end_of_[pc] + 1;
      me_->locals[slots_[index(s.local)]].i = first;
      me_->open.push_back({pc, first, end});
      if (s.hint == Hint::parallel) pass(true);
      return pc + 1;
    }
    case StmtKind::if_:
      if (eval(s.a).i == 0) return end_of_[pc] + 1;
      me_->open.push_back({pc, 0, 0});
      return pc + 1;
    case StmtKind::end:
      return close(pc);
    case StmtKind::let:
    case StmtKind::var:
    case StmtKind::assign:
      assign(s.local, s.a);
      return pc + 1;
    case StmtKind::array:
      if (!k_[s.local].shared)
        me_->arrays[index(s.local)].assign(static_cast<size_t>(k_[s.local].count), {});
      return pc + 1;
    case StmtKind::set:
    case StmtKind::store:
      write(s);
      return pc + 1;
    case StmtKind::prefetch:
      (void)eval(s.a);
      return pc + 1;
    case StmtKind::exchange:
      if (k_[s.a].lanes > 1)
        me_->sent = vector(s.a);
      else
        me_->sent[0] = eval(s.a);
      me_->waits = true;
      return pc;
    case StmtKind::barrier:
      me_->waits = true;
      return pc;
    case StmtKind::comment:
      return pc + 1;
  }
  return pc + 1;
}

void Machine::assign(LocalId to, Value from) {
  Number* const slot = me_->locals.data() + slots_[index(to)];
  if (k_[to].lanes > 1) {
    const Vector value = vector(from);
    std::copy_n(value.begin(), k_[to].lanes, slot);
  } else {
    *slot = eval(from);
  }
}

size_t Machine::close(size_t pc) {
  Open& o = me_->open.back();
  const Stmt& s = k_.body[o.start];
  if (s.kind == StmtKind::for_ && (o.next += s.step) < o.end) {
    me_->locals[slots_[index(s.local)]].i = o.next;
    if (s.hint == Hint::parallel) pass(true);
    return o.start + 1;
  }
  me_->open.pop_back();
  if (s.hint == Hint::parallel) pass(!me_->open.empty());
  return pc + 1;
}

// Goes to the next iteration of the parallel loops, or out of them.
void Machine::pass(bool inside) {
  me_->iteration = inside ? ++me_->iterations : 0;
  if (!group_) return;
  if (last_.size() == me_->section) last_.push_back(epoch_);
  ++me_->section;
  me_->since = epoch_;
}

Result<void> run(const Program& program, const Kernel& kernel, std::span<void* const> buffers,
                 std::span<const int64_t> symbols, int64_t most_steps) {
  if (kernel.threads < 1 || kernel.threads > max_threads)
    return error("E0421",
                 fmt::format("kernel `{}` has groups of {} threads", kernel.name, kernel.threads));
  return Machine(program, kernel, buffers, symbols, most_steps).run();
}

}  // namespace tang::loop
