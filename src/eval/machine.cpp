#include "eval/machine.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "eval/columns.h"

namespace tang::oracle {

namespace {

constexpr size_t width = block_lanes;

size_t at(int k) { return static_cast<size_t>(k); }

Cell load(const Source& s, Kind kind, int64_t flat) {
  Cell c;
  if (s.values) {
    if (!s.values->points) return s.values->data()[flat];
    if (s.values->points->contains(flat)) return s.values->data()[s.values->points->rank(flat)];
    // Only a fault of the demand analysis comes here; NaN makes it visible.
    if (kind == Kind::real)
      c.r = std::numeric_limits<double>::quiet_NaN();
    else
      c.i = std::numeric_limits<int64_t>::min();
    return c;
  }
  if (kind == Kind::real)
    c.r = s.array->at(flat);
  else if (kind == Kind::integer)
    c.i = s.array->integer_at(flat);
  else
    c.i = s.array->integer_at(flat) != 0;
  return c;
}

}  // namespace

Machine::Machine(const Program& p, const std::vector<Source>& sources, bool slow_guards)
    : p_(p), sources_(sources), slow_(slow_guards), pool_(at(p.registers) * width) {
  for (int k = 0; k < p.registers; ++k) reg_.push_back(pool_.data() + at(k) * width);
  for (const auto& [reg, cell] : p.constants) std::fill_n(reg_[at(reg)], width, cell);
  std::vector<char> of_step(at(p.registers), 0);
  for (const Instruction& in : p.step) of_step[at(in.target)] = 1;
  for (int next : p.next)
    swappable_.push_back(of_step[at(next)] && std::count(p.next.begin(), p.next.end(), next) == 1);
  lane_at_.assign(p.lanes.size(), std::vector<int64_t>(width, 0));
  each_at_.assign(p.reduce.size(), std::vector<int64_t>(width, 0));
  forms_.resize(p.forms.size());
  for (FormState& f : forms_) f.column.assign(width, 0);
  reads_.resize(p.reads.size());
  for (size_t k = 0; k < reads_.size(); ++k)
    if (p.reads[k].affine) reads_[k].address.assign(width, 0);
  guard_.assign(p.restrictions.size(), std::vector<int64_t>(width, 0));
  at_.assign(p.reduce.size(), 0);
  mask_.assign(width, 1);
  scratch_.assign(width, 0);
  address_.assign(width, 0);
}

void Machine::coordinates(int64_t flat, int lane) {
  for (size_t k = lane_at_.size(); k-- > 0;) {
    const int64_t n = std::max<int64_t>(1, p_.lane_extent[k]);
    lane_at_[k][at(lane)] = flat % n;
    flat /= n;
  }
}

void Machine::run(std::span<const int64_t> flats) {
  n_ = static_cast<int>(flats.size());
  for (int l = 0; l < n_; ++l) coordinates(flats[at(l)], l);
  run_block();
}

void Machine::run(int64_t first, int count) {
  n_ = count;
  for (int l = 0; l < n_; ++l) coordinates(first + l, l);
  run_block();
}

void Machine::begin_block() {
  apart_ = false;
  std::fill(at_.begin(), at_.end(), 0);
  prepare_forms();
  prepare_reads();
  execute(p_.term, 0, p_.level_begin[1]);
}

void Machine::run_block() {
  begin_block();
  prepare_guards();
  if (p_.folds) {
    for (size_t k = 0; k < p_.state.size(); ++k)
      std::fill_n(reg_[at(p_.state[k])], n_, p_.identity[k]);
    fold();
    apart_ = false;
  } else {
    mask_restrictions();
    mask_tests();
  }
  finish();
}

// The targets' values from the states.
void Machine::finish() {
  for (size_t k = 0; k < p_.state.size(); ++k)
    std::copy_n(reg_[at(p_.state[k])], n_, reg_[at(p_.last[k])]);
  execute(p_.finish, 0, p_.finish.size());
}

void Machine::prepare_forms() {
  for (size_t f = 0; f < forms_.size(); ++f) {
    FormState& state = forms_[f];
    const FormPlan& plan = p_.forms[f];
    state.low = state.high = plan.base;
    std::fill_n(state.column.begin(), n_, plan.base);
    if (plan.lanes.empty()) continue;
    for (const auto& [dim, c] : plan.lanes) {
      const int64_t* x = lane_at_[at(dim)].data();
      for (int l = 0; l < n_; ++l) state.column[at(l)] += c * x[l];
    }
    const auto [low, high] = std::minmax_element(state.column.begin(), state.column.begin() + n_);
    state.low = *low;
    state.high = *high;
  }
}

void Machine::prepare_reads() {
  for (size_t k = 0; k < reads_.size(); ++k) {
    const ReadPlan& plan = p_.reads[k];
    ReadState& state = reads_[k];
    if (!plan.affine) continue;
    std::fill_n(state.address.begin(), n_, 0);
    for (size_t a = 0; a < plan.forms.size(); ++a) {
      const int64_t* x = forms_[at(plan.forms[a])].column.data();
      for (int l = 0; l < n_; ++l) state.address[at(l)] += plan.strides[a] * x[l];
    }
    state.uniform = state.contiguous = true;
    for (int l = 1; l < n_; ++l) {
      const int64_t step = state.address[at(l)] - state.address[at(l - 1)];
      state.uniform = state.uniform && step == 0;
      state.contiguous = state.contiguous && step == 1;
    }
  }
}

void Machine::prepare_guards() {
  for (size_t k = 0; k < guard_.size(); ++k) {
    const int form = p_.restrictions[k].form;
    std::copy_n(forms_[at(form)].column.begin(), n_, guard_[k].begin());
    const auto& gathers = p_.forms[at(form)].gathers;
    if (gathers.empty()) continue;
    positions(form, guard_[k].data());
    // Far beyond any loop bound every value acts alike; the limit keeps sums from overflowing.
    constexpr int64_t far = int64_t{1} << 60;
    for (int l = 0; l < n_; ++l) guard_[k][at(l)] = std::clamp(guard_[k][at(l)], -far, far);
  }
}

void Machine::execute(const std::vector<Instruction>& list, size_t from, size_t to) {
  for (size_t k = from; k < to; ++k) execute(list[k]);
}

void Machine::execute(const Instruction& in) {
  Cell* out = reg_[at(in.target)];
  if (in.what == Instruction::What::read) return read(in);
  if (in.what == Instruction::What::iota) {
    positions(in.plan, scratch_.data());
    for (int l = 0; l < n_; ++l) out[l].i = scratch_[at(l)];
    return;
  }
  const auto operand = [&](size_t k) -> const Cell* {
    return in.args[k] >= 0 ? reg_[at(in.args[k])] : nullptr;
  };
  apply_columns(in, operand(0), operand(1), operand(2), out, n_);
}

int64_t Machine::offset(const FormPlan& form) const {
  int64_t sum = 0;
  for (const auto& [dim, c] : form.reduce) sum += c * at_[at(dim)];
  return sum;
}

// The whole value of a form on each lane.
void Machine::positions(int form, int64_t* out) const {
  const FormPlan& plan = p_.forms[at(form)];
  const int64_t* column = forms_[at(form)].column.data();
  const int64_t shared = apart_ ? 0 : offset(plan);
  for (int l = 0; l < n_; ++l) out[l] = column[l] + shared;
  if (apart_)
    for (const auto& [dim, c] : plan.reduce) {
      const int64_t* x = each_at_[at(dim)].data();
      for (int l = 0; l < n_; ++l) out[l] += c * x[l];
    }
  for (const auto& [reg, c] : plan.gathers) {
    const Cell* x = reg_[at(reg)];
    for (int l = 0; l < n_; ++l)
      out[l] = static_cast<int64_t>(static_cast<uint64_t>(out[l]) +
                                    static_cast<uint64_t>(c) * static_cast<uint64_t>(x[l].i));
  }
}

void Machine::read(const Instruction& in) {
  const ReadPlan& plan = p_.reads[at(in.plan)];
  const Source& source = sources_[at(in.plan)];
  Cell* out = reg_[at(in.target)];
  if (plan.affine && !apart_ && source.values && !source.values->points &&
      read_affine(plan, reads_[at(in.plan)], source, out))
    return;
  read_lanes(plan, source, in.kind, out);
}

// The common case: every lane is inside, so addresses are the block's plus one offset.
bool Machine::read_affine(const ReadPlan& plan, const ReadState& state, const Source& source,
                          Cell* out) {
  int64_t shift = 0;
  for (size_t a = 0; a < plan.forms.size(); ++a) {
    const FormState& form = forms_[at(plan.forms[a])];
    const int64_t off = offset(p_.forms[at(plan.forms[a])]);
    if (form.low + off < 0 || form.high + off >= plan.shape[a]) return false;
    shift += off * plan.strides[a];
  }
  const Cell* data = source.values->data() + shift;
  const int64_t* address = state.address.data();
  if (state.uniform)
    std::fill_n(out, n_, data[address[0]]);
  else if (state.contiguous)
    std::copy_n(data + address[0], n_, out);
  else
    for (int l = 0; l < n_; ++l) out[l] = data[address[l]];
  return true;
}

void Machine::read_lanes(const ReadPlan& plan, const Source& source, Kind kind, Cell* out) {
  std::fill_n(address_.begin(), n_, 0);
  for (size_t a = 0; a < plan.forms.size(); ++a) {
    positions(plan.forms[a], scratch_.data());
    const auto extent = static_cast<uint64_t>(plan.shape[a]);
    for (int l = 0; l < n_; ++l) {
      const int64_t x = scratch_[at(l)];
      const bool inside = static_cast<uint64_t>(x) < extent && address_[at(l)] >= 0;
      address_[at(l)] = inside ? address_[at(l)] + x * plan.strides[a] : -1;
    }
  }
  for (int l = 0; l < n_; ++l)
    out[l] = address_[at(l)] < 0 ? plan.fill : load(source, kind, address_[at(l)]);
}

void Machine::fold() {
  walk_.start(p_, !slow_);
  for (size_t k = 0; k < guard_.size(); ++k) {
    const auto [low, high] = std::minmax_element(guard_[k].begin(), guard_[k].begin() + n_);
    walk_.low[k] = *low;
    walk_.high[k] = *high;
  }
  if (!slow_ && n_ > 1 && lanes_diverge())
    fold_apart();
  else
    fold_together();
}

// Whether walking lanes together would visit many tuples that few lanes need.
bool Machine::lanes_diverge() {
  if (p_.restrictions.empty()) return false;
  walks_.resize(width);
  double together = 1, apart = 0;
  const int depth = static_cast<int>(p_.reduce.size());
  for (int d = 0; d < depth; ++d) {
    const auto [first, last] = walk_.interval(d, 0);
    together *= static_cast<double>(std::max<int64_t>(0, last - first));
  }
  bool equality = false;
  for (size_t k = 0; k < guard_.size(); ++k)
    equality = equality || (p_.restrictions[k].zero && walk_.low[k] != walk_.high[k]);
  for (int l = 0; l < n_; ++l) {
    Walk& w = walks_[at(l)];
    w.start(p_, true);
    double own = 1;
    for (size_t k = 0; k < guard_.size(); ++k) w.low[k] = w.high[k] = guard_[k][at(l)];
    for (int d = 0; d < depth; ++d) {
      const auto [first, last] = w.interval(d, 0);
      own *= static_cast<double>(std::max<int64_t>(0, last - first));
    }
    apart += own;
  }
  return equality || together * n_ > 4 * apart;
}

void Machine::fold_together() {
  const auto depth = static_cast<int>(p_.reduce.size());
  int dirty = 0;
  for (bool more = walk_.first(); more; more = walk_.next()) {
    dirty = std::min(dirty, walk_.changed());
    std::copy(walk_.at().begin(), walk_.at().end(), at_.begin());
    if (!mask_restrictions()) continue;
    execute(p_.term, p_.level_begin[at(dirty) + 1], p_.term.size());
    dirty = depth;
    mask_tests();
    execute(p_.step, 0, p_.step.size());
    commit();
  }
}

void Machine::fold_apart() {
  apart_ = true;
  std::vector<char> running(at(n_), 1);
  for (bool begin = true;; begin = false) {
    bool any = false;
    masked_ = false;
    for (int l = 0; l < n_; ++l) {
      Walk& w = walks_[at(l)];
      if (running[at(l)]) running[at(l)] = begin ? w.first() : w.next();
      mask_[at(l)] = running[at(l)];
      any = any || running[at(l)];
      masked_ = masked_ || !running[at(l)];
      if (running[at(l)])
        for (size_t d = 0; d < each_at_.size(); ++d) each_at_[d][at(l)] = w.at()[d];
    }
    if (!any) return;
    execute(p_.term, p_.level_begin[1], p_.term.size());
    mask_tests();
    execute(p_.step, 0, p_.step.size());
    commit();
  }
}

// Starts the mask of a term; false if no lane has it.
bool Machine::mask_restrictions() {
  masked_ = false;
  std::fill_n(mask_.begin(), n_, 1);
  for (size_t k = 0; k < guard_.size(); ++k) {
    const Restriction& r = p_.restrictions[k];
    int64_t off = 0;
    for (size_t d = 0; d < at_.size(); ++d) off += r.coeff[d] * at_[d];
    if (!r.zero && p_.folds && walk_.low[k] + off >= 0) continue;
    masked_ = true;
    const int64_t* x = guard_[k].data();
    for (int l = 0; l < n_; ++l)
      mask_[at(l)] &= static_cast<char>(r.zero ? x[l] + off == 0 : x[l] + off >= 0);
  }
  return !masked_ || std::find(mask_.begin(), mask_.begin() + n_, 1) != mask_.begin() + n_;
}

void Machine::mask_tests() {
  for (const Test& t : p_.tests) {
    masked_ = true;
    if (t.condition >= 0) {
      const Cell* x = reg_[at(t.condition)];
      for (int l = 0; l < n_; ++l) mask_[at(l)] &= static_cast<char>(x[l].i != 0);
      continue;
    }
    positions(t.form, scratch_.data());
    for (int l = 0; l < n_; ++l)
      mask_[at(l)] &= static_cast<char>(t.zero ? scratch_[at(l)] == 0 : scratch_[at(l)] >= 0);
  }
}

// The next state becomes the state where the mask holds. No `next` is another component's state, so
// replacing them one by one is simultaneous.
void Machine::commit() {
  if (masked_) {
    for (size_t k = 0; k < p_.state.size(); ++k) {
      Cell* state = reg_[at(p_.state[k])];
      const Cell* next = reg_[at(p_.next[k])];
      for (int l = 0; l < n_; ++l) state[l] = mask_[at(l)] ? next[l] : state[l];
    }
    return;
  }
  for (size_t k = 0; k < p_.state.size(); ++k) {
    if (swappable_[k])
      std::swap(reg_[at(p_.state[k])], reg_[at(p_.next[k])]);
    else
      std::copy_n(reg_[at(p_.next[k])], n_, reg_[at(p_.state[k])]);
  }
}

}  // namespace tang::oracle
