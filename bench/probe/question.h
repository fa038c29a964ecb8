// Questions about the hardware that a table does not answer. Each is a few launches of kernels of
// questions.cu; its findings are sentences, and a table's claims among them are right or wrong.
#pragma once

#include <string>
#include <vector>

#include "probe/bench.h"

namespace tang::probe {

struct Finding {
  std::string row, sizes;
  bool ok = true;
  std::string what;
  std::string data;   // what to look at where `ok` is false; may be empty
  bool lost = false;  // the device hangs: this process can do no more
};

using Findings = Result<std::vector<Finding>>;

struct Question {
  std::string name;
  std::function<Findings(Bench&)> ask;
};

const std::vector<Question>& questions();

// How products sum, compared with models of it (question_sums.cpp).
Findings ask_sums(Bench& bench);
// What tensor maps of f32 and tf32 do to values (question_maps.cpp).
Findings ask_map_values(Bench& bench);
Findings ask_map_changes(Bench& bench);
// A ring under stress (question_ring.cpp).
Findings ask_ring(Bench& bench);

}  // namespace tang::probe
