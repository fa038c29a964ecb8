#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/bind.h"

namespace tang {

namespace {

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> nearest_names(const std::string& word,
                                       const std::vector<std::string>& names) {
  std::vector<std::pair<size_t, std::string>> ranked;
  if (word.size() > 100) return {};
  for (const std::string& name : names) {
    const size_t distance = edit_distance(word, name);
    const bool begins = name.starts_with(word) || word.starts_with(name);
    if (begins || distance <= std::max<size_t>(1, word.size() / 3))
      ranked.emplace_back(distance, name);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> result;
  for (const auto& [distance, name] : ranked)
    if (result.size() < 3) result.push_back(name);
  return result;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string> near = nearest_names(word, names);
  if (near.empty()) return "";
  return fmt::format("did you mean `{}`?", fmt::join(near, "` or `"));
}

}  // namespace tang
