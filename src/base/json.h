// Thin helpers over nlohmann's JSON: numbers that JSON cannot write, parsing without exceptions.
// A user of these includes <nlohmann/json.hpp> itself; this header stays light.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/diagnostic.h"

namespace tang {

// A number; NaN and the infinities become the strings "nan", "inf", "-inf".
nlohmann::json json_number(double value);

// The inverse of json_number; empty for anything else.
std::optional<double> number_of(const nlohmann::json& value);

// Parses one document; a key that occurs twice in one object is an error. The error is `id` (exit
// 2) naming `source` and the byte offset.
Result<nlohmann::json> parse_json(std::string_view text, std::string_view source, std::string id);

// Text with two-space indentation, keys sorted, a newline at the end; bytes that are not UTF-8 are
// replaced, so printing cannot fail.
std::string json_text(const nlohmann::json& value);

}  // namespace tang
