// Small programs on the c device.
#pragma once

#include <cstring>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/tang.h"

namespace tang {

// A program of the c device, compiled once.
inline std::optional<Program> compiled(const std::string& text) {
  static std::map<std::string, Program> known;
  if (const auto found = known.find(text); found != known.end()) return found->second;
  const auto graph = parse(text);
  if (!graph) {
    ADD_FAILURE() << graph.error().front().message;
    return std::nullopt;
  }
  auto program = compile(*graph);
  if (!program) {
    ADD_FAILURE() << program.error().id << " " << program.error().message;
    return std::nullopt;
  }
  return known.emplace(text, std::move(*program)).first->second;
}

// "id message", or "" for success.
inline std::string said(const Result<void>& result) {
  return result ? "" : result.error().id + " " + result.error().message;
}

inline TensorView strided(TensorView t, std::vector<int64_t> strides, uint64_t byte_offset = 0) {
  t.strides = std::move(strides);
  t.byte_offset = byte_offset;
  return t;
}

}  // namespace tang
