// 5.10 split: a fold over parts of its index set, the states of the parts stored, and a fold of
// those (split-K).
//
//   y[i] = sum[j](x[i, j])
//     =  y_part[i, p] = sum[k](x[i, 16*p + k]);  y[i] = sum[p](y_part[i, p])
//
// Holds for every monoid, since combine is associative: what is stored is its state, before the
// final map. Contiguous parts keep the order; parts that take every P-th term need a monoid that
// commutes. No rule asks for it by itself: a schedule does, where a fold has fewer points than the
// device has threads.
#pragma once

#include "rewrite/pipeline.h"

namespace tang {

struct Split {
  std::string definition;
  std::string dim;  // one it reduces over
  int64_t parts = 1;
  bool strided = false;
};

// Errors: E0805 with the law that does not hold.
Result<void> split_fold(Derivation& d, const Split& split);

}  // namespace tang
