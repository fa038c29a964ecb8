// The table of error ids (base/errors.def) behind `tang help E0402`.
#pragma once

#include <span>
#include <string_view>

namespace tang {

struct ErrorInfo {
  std::string_view id;
  std::string_view title;        // a few words, no period
  std::string_view explanation;  // a paragraph: what is wrong, an example, what to do
};

// All rows, ascending by id.
std::span<const ErrorInfo> all_errors();

// The row of an id, nullptr when there is none.
const ErrorInfo* find_error(std::string_view id);

}  // namespace tang
