// Names in emitted source: valid, unique, and clear of the target's reserved words.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace tang {

// Deterministic: the same requests in the same order give the same names. A copy is an inner scope.
class Namer {
 public:
  // `reserved`: words separated by white space, a data file of src/emit/snippets.
  explicit Namer(std::string_view reserved);

  // `wanted` if it is free, otherwise with a suffix _1, _2, …; taken from then on.
  std::string name(std::string_view wanted);

 private:
  std::unordered_set<std::string> taken_;
};

}  // namespace tang
