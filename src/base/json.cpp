#include "base/json.h"

#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tang {

using nlohmann::json;

json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::optional<double> number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

Result<json> parse_json(std::string_view text, std::string_view source, std::string id) {
  std::vector<std::set<std::string>> open_objects;
  std::optional<std::string> repeated;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == json::parse_event_t::object_end) open_objects.pop_back();
    if (event == json::parse_event_t::key && !repeated) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open_objects.back().insert(key).second) repeated = key;
    }
    return true;
  };
  try {
    json value = json::parse(text, watch);
    if (!repeated) return value;
    return error(std::move(id), fmt::format("{}: the JSON key \"{}\" occurs twice in one object",
                                            source, *repeated));
  } catch (const json::parse_error& failure) {
    return error(std::move(id),
                 fmt::format("{}: not valid JSON near byte {}", source, failure.byte));
  } catch (const json::exception&) {
    return error(std::move(id), fmt::format("{}: a number in the JSON is out of range", source));
  }
}

std::string json_text(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace tang
