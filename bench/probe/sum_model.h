// How a matrix unit may sum: models with few parameters, to compare with what it gives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tang::probe {

struct Factor {
  double a = 0, b = 0;
};

struct SumModel {
  // Which terms are summed together: all; the first, the second … so many of k; bytes 0 and 1 of
  // every four apart from bytes 2 and 3.
  enum class Groups : uint8_t { one, four, eight, sixteen, byte_pairs };
  enum class Joins : uint8_t { chained, apart };       // groups onto one another, or each by itself
  enum class Exponent : uint8_t { factors, product };  // 1.5 · 1.5 counts as 1 or as 2
  enum class Ends : uint8_t { cut, nearest, cut_then_nearest };

  int bits = 25;  // terms are cut below 2^-bits of the largest's leading bit
  Groups groups = Groups::one;
  Joins joins = Joins::chained;
  Exponent exponent = Exponent::factors;
  Ends ends = Ends::cut;

  std::string text() const;
};

// d + Σ a·b in a format of `precision` bits and least exponent `min_exponent`.
double sum(const SumModel& model, double d, const std::vector<Factor>& terms, int precision,
           int min_exponent);

std::vector<SumModel> all_sum_models(bool narrow);

}  // namespace tang::probe
