// What the operands of a case hold, as elements, and what the row makes of them.
#pragma once

#include "probe/plan.h"

namespace tang::probe {

// Storage bits of the elements of a box, row-major; one list for each thread that runs the row by
// itself, or one.
using Elements = std::vector<std::vector<uint64_t>>;

struct Values {
  std::array<Elements, operands_most> before;  // of each operand
  Elements result;                             // the expected one of the row's result
  bool keep = true;                            // whether the old accumulator counts
};

// Linear numbers of a box's points, row-major.
int64_t element_count(const Point& box);
Point point_of(const Point& box, int64_t k);
int64_t number_of(const Point& box, const Point& x);

// How often the row runs side by side: once for each thread if it is a thread's.
int64_t instances(const Row& row);

// For rows whose boxes are of tensors, the values of the whole box, as if all of it were inside.
Values make_values(const Plan& plan, const Case& c);

double decode(Format format, uint64_t bits);
uint64_t encode(Format format, double value);

}  // namespace tang::probe
