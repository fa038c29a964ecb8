#include "probe/question.h"

namespace tang::probe {

const std::vector<Question>& questions() {
  static const std::vector<Question> list;
  return list;
}

}  // namespace tang::probe
