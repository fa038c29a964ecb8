// The functions that emitted kernels call: written once in src/emit/snippets (gpu_*.h) in a C that
// every dialect is close to, and spelled in the dialect by replacing words.
//
//     TANG_FN float tang_recip_f32(float x) { return 1.0f / x; }
//
// TANG_FN begins a function. F32, I32, U32, I64, U64, F64 are casts; float, int, uint, bool,
// double, tang_i64, tang_u64 types; each statement defines one name; constants are `const`,
// branches have braces, operators of different strength brackets where WGSL wants them. A blank
// line ends a function; a source gets those that it calls, in the order of the files.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tang {

// By identifier: what stands for it.
using GpuSpelling = std::map<std::string, std::string, std::less<>>;

// Replaces whole identifiers.
std::string respell(std::string_view text, const GpuSpelling& words);

// The same functions in other types: of f64 from those of f32 (numbers lose their `f` and get
// `number`), of i64 from those of i32.
std::string of_f64(std::string_view text, std::string_view number);
std::string of_i64(std::string_view text);

// The functions and macros of some files, each ended by a blank line. What an earlier file defines
// stands for what a later one does.
class GpuFunctions {
 public:
  explicit GpuFunctions(const std::vector<std::string>& files);

  // Those that `body` mentions, with those that these mention, in order.
  std::string needed(std::string_view body) const;

 private:
  struct Block {
    std::string text;
    std::set<std::string, std::less<>> defines, mentions;
  };
  std::vector<Block> blocks_;
};

}  // namespace tang
