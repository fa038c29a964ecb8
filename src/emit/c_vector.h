// The vectors of loop programs in C: one inline function for each operation and shape that a
// program uses, written once before its kernels.
//
//     typedef float tang_f32x8 __attribute__((vector_size(32)));
//     TANG_INLINE tang_f32x8 tang_add_f32x8(tang_f32x8 a, tang_f32x8 b) {
//       tang_f32x8 d;
//     #if defined(TANG_AVX2)
//       d = _mm256_add_ps(a, b);
//     #else
//       d = a + b;
//     #endif
//       return d;
//     }
//
// Types. A vector of up to 32 bytes is one of the extension of gcc and clang; a wider one is a
// struct of its halves `lo` and `hi`, on which everything works by halves. Lanes of a boolean
// vector are int32_t, -1 or 0.
//
// Texts. The tables of src/target say what an instruction computes and how it is written; a row
// with the operation, type and number of lanes gives the function's body, a row of AVX2 where the
// compiler has it and a row that needs nothing elsewhere. Mathematics that has no instruction is in
// src/emit/snippets (vector_*.h) for eight lanes of f32, and fewer lanes are widened to eight.
// Comparisons, choices and moves of lanes are the extension's own. The rest is done lane by lane
// with the scalar helpers.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loop/program.h"

namespace tang {

struct Row;

int vector_bytes(loop::Shape shape);
bool is_pair(loop::Shape shape);

// A function: its body, and a better one that is taken where `when` is defined.
struct CVectorFunction {
  std::string result;
  std::vector<std::string> parameters, body, better;
  std::string_view when = "TANG_AVX2";
};

class CVector {
 public:
  // `guarded`: each function is written only if the file does not have it yet, because several
  // programs share the file.
  explicit CVector(bool guarded) : guarded_(guarded) {}

  // A C type; of a scalar c_type.
  std::string type(loop::Shape shape);

  // Names of functions. They take the operands of the node in order.
  std::string operation(loop::Op op, std::span<const loop::Shape> args);
  std::string cast(loop::Shape from, loop::Type to);
  std::string round(Format format, loop::Shape shape);
  std::string spread(loop::Shape to);
  std::string ramp(loop::Shape to);
  std::string half(loop::Op op, loop::Shape from);  // low or high
  std::string join(loop::Shape half);
  std::string lane(loop::Shape from);                              // (v, k)
  std::string runs(loop::Op op, loop::Shape shape, uint32_t run);  // even or odd: (a, b)

  // A vector's elements in memory: those of a buffer, or of an array if there is no format.
  struct Memory {
    std::optional<Format> format;
    loop::Shape shape;     // of the value
    bool by = false;       // there is a stride
    bool first = false;    // there is a count
    bool streams = false;  // stored past the caches
  };
  // (pointer, index, stride if any, count if any) and (…, value).
  std::string load(const Memory& m);
  std::string store(const Memory& m);
  // (pointer, vector of indices)
  std::string gather(Format format, loop::Shape shape, loop::Shape indices);

  // Everything named so far, what is used before what uses it.
  const std::string& text() const { return text_; }

 private:
  void add(const std::string& name, const std::string& text);
  void define(const CVectorFunction& f, const std::string& name);
  static bool has_snippet(loop::Op op, loop::Shape shape);
  bool snippet(std::string_view name);
  void include(std::string_view file);
  std::string lanes(loop::Shape result, const std::vector<std::string>& scalars);
  std::string moved(loop::Shape result, std::vector<std::string> scalars);
  void shuffle(CVectorFunction& f, loop::Shape result, std::string_view operands, int start);
  std::vector<std::string> row_body(const Row& row, loop::Shape result,
                                    std::map<std::string, std::string, std::less<>> holes,
                                    std::string_view before = "");
  std::vector<std::string> by_halves(loop::Op op, std::span<const loop::Shape> args);
  std::vector<std::string> widened(loop::Op op, std::span<const loop::Shape> args);
  void operation_body(CVectorFunction& f, loop::Op op, std::span<const loop::Shape> args);
  std::string composed(loop::Op op, loop::Shape shape);
  std::string plain(loop::Op op, std::span<const loop::Shape> args);
  std::string first(loop::Shape shape);
  CVectorFunction access(const Memory& m, bool stores);
  std::vector<std::string> access_halves(const Memory& m, bool stores);
  std::vector<std::string> load_lanes(const Memory& m);
  std::vector<std::string> store_lanes(const Memory& m);
  void access_rows(CVectorFunction& f, const Memory& m, bool stores);
  void stream_rows(std::vector<std::string>& body, loop::Shape shape, std::string_view needs,
                   std::map<std::string, std::string, std::less<>> holes);

  bool guarded_;
  std::set<std::string, std::less<>> known_;
  std::string text_;
};

}  // namespace tang
