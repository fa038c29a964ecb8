#include "probe/sum_model.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tang::probe {

namespace {

struct Term {
  double value = 0;
  int exponent = 0;  // that it counts with
};

Term term_of(double x) { return {x, x == 0 ? -10000 : std::ilogb(x)}; }

Term term_of(const Factor& f, SumModel::Exponent exponent) {
  Term t = term_of(f.a * f.b);
  if (exponent == SumModel::Exponent::factors && t.value != 0)
    t.exponent = std::ilogb(f.a) + std::ilogb(f.b);
  return t;
}

// Terms cut below 2^-bits of the largest and added exactly.
double cut_sum(const std::vector<Term>& terms, int bits) {
  int largest = -10000;
  for (const Term& t : terms) largest = std::max(largest, t.exponent);
  if (largest == -10000) return 0;
  double sum = 0;
  for (const Term& t : terms) sum += std::trunc(std::ldexp(t.value, bits - largest));
  return std::ldexp(sum, largest - bits);
}

double in_format(double x, int precision, int min_exponent, bool nearest) {
  if (x == 0) return x;
  const int quantum = std::max(std::ilogb(x), min_exponent) - precision + 1;
  const double scaled = std::ldexp(x, -quantum);
  return std::ldexp(nearest ? std::nearbyint(scaled) : std::trunc(scaled), quantum);
}

double end(double x, SumModel::Ends ends, int precision, int min_exponent) {
  if (ends == SumModel::Ends::cut_then_nearest) x = in_format(x, 24, -126, false);
  return in_format(x, precision, min_exponent, ends != SumModel::Ends::cut);
}

int group_of(SumModel::Groups groups, size_t k) {
  switch (groups) {
    case SumModel::Groups::one:
      return 0;
    case SumModel::Groups::four:
      return static_cast<int>(k / 4);
    case SumModel::Groups::eight:
      return static_cast<int>(k / 8);
    case SumModel::Groups::sixteen:
      return static_cast<int>(k / 16);
    case SumModel::Groups::byte_pairs:
      return static_cast<int>(k / 2 % 2);
  }
  return 0;
}

}  // namespace

double sum(const SumModel& model, double d, const std::vector<Factor>& terms, int precision,
           int min_exponent) {
  std::vector<std::vector<Term>> groups;
  for (size_t k = 0; k < terms.size(); ++k) {
    const size_t g = static_cast<size_t>(group_of(model.groups, k));
    if (groups.size() <= g) groups.resize(g + 1);
    groups[g].push_back(term_of(terms[k], model.exponent));
  }
  if (model.joins == SumModel::Joins::apart) {
    std::vector<Term> sums{term_of(d)};
    for (const std::vector<Term>& g : groups) sums.push_back(term_of(cut_sum(g, model.bits)));
    return end(cut_sum(sums, model.bits), model.ends, precision, min_exponent);
  }
  double x = d;
  for (size_t g = 0; g < groups.size(); ++g) {
    groups[g].push_back(term_of(x));
    x = cut_sum(groups[g], model.bits);
    x = g + 1 < groups.size() ? in_format(x, 24, -126, false)
                              : end(x, model.ends, precision, min_exponent);
  }
  return x;
}

std::vector<SumModel> all_sum_models(bool narrow) {
  using M = SumModel;
  std::vector<M> all;
  const std::vector<M::Ends> ends =
      narrow ? std::vector<M::Ends>{M::Ends::nearest, M::Ends::cut_then_nearest, M::Ends::cut}
             : std::vector<M::Ends>{M::Ends::cut, M::Ends::nearest};
  for (M::Groups g : {M::Groups::one, M::Groups::sixteen, M::Groups::eight, M::Groups::four,
                      M::Groups::byte_pairs})
    for (M::Joins j : {M::Joins::chained, M::Joins::apart})
      for (M::Exponent e : {M::Exponent::factors, M::Exponent::product})
        for (M::Ends end : ends)
          for (int bits = 10; bits <= 32; ++bits)
            if (g != M::Groups::one || j == M::Joins::chained) all.push_back({bits, g, j, e, end});
  return all;
}

std::string SumModel::text() const {
  constexpr const char* group_names[] = {"one sum", "sums of 4", "sums of 8", "sums of 16",
                                         "sums of byte pairs"};
  constexpr const char* end_names[] = {"cut", "to nearest", "cut to f32, then to nearest"};
  return fmt::format("{}{}, terms cut at {} bits, exponent of the {}, result {}",
                     group_names[static_cast<int>(groups)],
                     groups == Groups::one     ? ""
                     : joins == Joins::chained ? " chained"
                                               : " apart",
                     bits, exponent == Exponent::factors ? "factors" : "product",
                     end_names[static_cast<int>(ends)]);
}

}  // namespace tang::probe
