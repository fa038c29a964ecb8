// Real files that are not part of the project: the folder TANG_TEST_DATA, or ../shared/data.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace tang {

inline std::string test_data(std::string_view name) {
  const char* folder = std::getenv("TANG_TEST_DATA");
  return std::string(folder != nullptr ? folder : "../shared/data") + "/" + std::string(name);
}

}  // namespace tang
