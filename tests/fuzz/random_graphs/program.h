// A random program as its statements, so that it can be shrunk.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tang::fuzz {

struct Program {
  uint64_t seed = 0;                                      // made it, and draws its inputs
  std::map<std::string, int64_t> sizes;                   // of params, bound after parsing
  std::vector<std::pair<std::string, std::string>> dims;  // name, extent
  std::vector<std::string> operations;                    // fn and monoid statements
  std::vector<std::string> inputs;
  std::vector<std::string> definitions;
  std::vector<std::string> outputs;

  std::string text() const;
};

// The program without statements, one at a time, while it still `fails`. At most `trials` calls.
Program shrink(Program program, const std::function<bool(const Program&)>& fails, int trials);

}  // namespace tang::fuzz
