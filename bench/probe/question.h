// Questions about the hardware that a table does not answer. Each is a few launches of kernels of
// questions.cu; its findings are sentences, and a table's claims among them are right or wrong.
#pragma once

#include <string>
#include <vector>

#include "probe/driver.h"

namespace tang::probe {

struct Finding {
  std::string row, sizes;
  bool ok = true;
  std::string what;
};

struct Question {
  std::string name;
  std::function<Result<std::vector<Finding>>(Driver&, void* module)> ask;
};

const std::vector<Question>& questions();

}  // namespace tang::probe
