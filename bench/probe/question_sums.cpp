// How each product of reals sums: random terms of very different sizes, and which of the models of
// sum_model.h give every bit of what the hardware gives.
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "probe/question.h"
#include "probe/sum_model.h"
#include "probe/values.h"

namespace tang::probe {

namespace {

struct Experiment {
  double d = 0;
  std::vector<Factor> terms;
  double found = 0;
};

class Sums {
 public:
  Sums(Bench& bench, const Case& c, uint32_t seed)
      : bench_(bench), c_(c), row_(*bench.plan().kernel(c).row), random_(seed) {
    const auto operand = [&](uint32_t i) { return bench.plan().format(c, row_.operands[i]); };
    d_ = operand(*row_.computes.result);
    a_ = operand(row_.computes.arguments[0]);
    b_ = operand(row_.computes.arguments[1]);
  }

  Result<Finding> find() {
    for (int launch = 0; launch < (rows() > 8 ? 6 : 24); ++launch)
      if (const auto r = experiment(); !r) return tl::unexpected(r.error());
    return judged();
  }

 private:
  // The sizes of m, n and k.
  int64_t size(const char* axis) const { return *row_.names(c_.sizes)(axis); }
  int64_t rows() const { return std::min(size("m"), size("n")); }

  double draw(Format f, int least, int most) {
    const int precision = info(f).precision;
    const double units = std::ldexp(1, precision - 1);
    const double digits = 1 + static_cast<double>(random_() % static_cast<uint64_t>(units)) / units;
    const int exponent =
        least + static_cast<int>(random_() % static_cast<uint64_t>(most - least + 1));
    return std::ldexp(random_() % 2 == 0 ? digits : -digits, exponent);
  }

  double factor(Format f) {
    if (f == Format::f8e4m3) return draw(f, -6, 5);
    if (f == Format::f16) return draw(f, -9, 3);
    return d_ == Format::f16 ? draw(f, -9, 3) : draw(f, -9, 9);
  }

  Experiment drawn() {
    Experiment e;
    e.d = random_() % 4 == 0 ? 0 : draw(d_, -10, d_ == Format::f16 ? 8 : 12);
    const uint64_t few = random_() % 3;
    for (int64_t k = 0; k < size("k"); ++k) {
      if (few != 0 && random_() % (few == 1 ? 8 : 3) != 0)
        e.terms.push_back({0, 0});
      else
        e.terms.push_back({factor(a_), factor(b_)});
    }
    return e;
  }

  // One launch: experiment e is row e of a, row e of b and the element (e, e) of d.
  Result<void> experiment() {
    const int64_t m = size("m"), n = size("n"), k = size("k");
    Case c = c_;
    c.given.resize(row_.operands.size());
    std::vector<uint64_t>& d = c.given[*row_.computes.result];
    std::vector<uint64_t>& a = c.given[row_.computes.arguments[0]];
    std::vector<uint64_t>& b = c.given[row_.computes.arguments[1]];
    d.assign(m * n, 0);
    a.assign(m * k, 0);
    b.assign(n * k, 0);
    std::vector<Experiment> some;
    for (int64_t e = 0; e < rows(); ++e) {
      some.push_back(drawn());
      d[e * n + e] = encode(d_, some.back().d);
      for (int64_t j = 0; j < k; ++j) {
        a[e * k + j] = encode(a_, some.back().terms[j].a);
        b[e * k + j] = encode(b_, some.back().terms[j].b);
      }
    }
    auto memory = make_memory(bench_.plan(), c);
    if (!memory) return tl::unexpected(memory.error());
    const auto found = bench_.run(c, *memory);
    if (!found) return tl::unexpected(found.error());
    for (int64_t e = 0; e < rows(); ++e) {
      const std::byte* at = found->data() + memory->result_at[e * n + e];
      some[e].found = load_element(d_, at, 0);
      all_.push_back(some[e]);
    }
    return {};
  }

  // How many sums are as the model says; 0 where that cannot be as many as `least`.
  size_t agreeing(const SumModel& model, size_t least) const {
    const FormatInfo& f = info(d_);
    size_t wrong = 0;
    for (const Experiment& e : all_) {
      wrong += sum(model, e.d, e.terms, f.precision, f.min_exponent) != e.found;
      if (wrong + least > all_.size()) return 0;
    }
    return all_.size() - wrong;
  }

  // Sums that no model explains: `d; a*b, …; found`.
  std::string listed() const {
    std::string text;
    for (size_t k = 0; k < std::min<size_t>(all_.size(), 64); ++k) {
      text += fmt::format("{:a};", all_[k].d);
      for (const Factor& f : all_[k].terms) text += fmt::format(" {:a}*{:a}", f.a, f.b);
      text += fmt::format("; {:a}\n", all_[k].found);
    }
    return text;
  }

  Finding judged() const {
    std::vector<SumModel> fitting;
    SumModel best;
    size_t most = 1;
    bool as_table = d_ == Format::f16;
    for (const SumModel& model : all_sum_models(d_ == Format::f16)) {
      const size_t count = agreeing(model, most);
      if (count >= most && count < all_.size() + (fitting.empty() ? 1 : 0)) {
        most = count;
        best = model;
      }
      if (count < all_.size()) continue;
      fitting.push_back(model);
      as_table |= model.bits == row_.accumulator_bits;
    }
    Finding f;
    f.row = row_.name_at(c_.sizes);
    f.sizes = bench_.plan().sizes(c_);
    f.ok = as_table && !fitting.empty();
    if (fitting.empty()) f.data = listed();
    if (fitting.empty())
      f.what = fmt::format("no model fits; {} of {} sums as: {}", most, all_.size(), best.text());
    else
      f.what = fmt::format("all {} sums as: {}", all_.size(), fitting[0].text());
    for (size_t k = 1; k < std::min<size_t>(fitting.size(), 6); ++k)
      f.what += "; or " + fitting[k].text();
    return f;
  }

  Bench& bench_;
  const Case& c_;
  const Row& row_;
  std::mt19937_64 random_;
  Format d_, a_, b_;
  std::vector<Experiment> all_;
};

bool is_sum_of_reals(const Plan& plan, const Case& c) {
  const Row& row = *plan.kernel(c).row;
  if (row.computes.kind != Computes::Kind::contract || row.computes.arguments.size() != 2)
    return false;
  if (!row.names(c.sizes)("m") || c.pattern != Pattern::integers) return false;
  return kind(row.operands[*row.computes.result].formats[0]) == Kind::real &&
         row.accumulator_bits > 0;
}

}  // namespace

Findings ask_sums(Bench& bench) {
  std::vector<Finding> result;
  std::string last;
  for (const Case& c : bench.plan().cases) {
    if (!is_sum_of_reals(bench.plan(), c)) continue;
    const Kernel& k = bench.plan().kernel(c);
    const std::string row = k.row->name_at(c.sizes);
    // The first of each row and size, and of products of warpgroups n 64 alone.
    if (row == last || (k.row->scope == Scope::warpgroup && *k.row->names(c.sizes)("n") != 64))
      continue;
    last = row;
    const auto f = Sums(bench, c, 11).find();
    if (!f) return tl::unexpected(f.error());
    result.push_back(*f);
    Bench::show_progress();
  }
  return result;
}

}  // namespace tang::probe
