// How a dialect spells what kernels are made of. The defaults are those of the C family; each
// dialect has a class in a file of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emit/gpu_snippets.h"
#include "loop/program.h"
#include "target/capability.h"

namespace tang {

// A buffer as a function sees it.
struct GpuArgument {
  std::string name;
  Format format = Format::f32;
  bool written = false;
  bool atomic = false;  // parts of its words are stored
  int words = 1;        // of the vectors that packed memory is declared of
};

// What stands around the statements of a function.
struct GpuFrame {
  std::string entry;
  int64_t threads = 1;
  bool wide = false;
  std::vector<GpuArgument> buffers;
  std::vector<std::pair<std::string, std::string>> symbols;  // as passed, as used
  std::vector<std::string> shared;  // declarations, where they stand outside of functions
  bool exchanges = false, f64 = false;
  bool i64 = false;  // native integers of 64 bits occur
};

// How strongly an expression binds, loosest first.
enum GpuLevel { gpu_select = 1, gpu_logic, gpu_compare, gpu_sum, gpu_product, gpu_unary, gpu_atom };

struct GpuText {
  std::string text;
  int level = gpu_atom;
};

class GpuDialect {
 public:
  virtual ~GpuDialect() = default;

  virtual std::string_view reserved() const = 0;         // a data file of words
  virtual const GpuSpelling& spelling() const = 0;       // of snippets
  virtual std::vector<std::string> library() const = 0;  // spelled
  virtual bool pairs() const { return false; }    // i64 is a pair of words, worked on by calls
  virtual bool wraps() const { return false; }    // i32 arithmetic does, without a fault
  virtual bool packed() const { return false; }   // memory is words, narrow elements are parts
  virtual bool ordered() const { return false; }  // NaN != x may be false
  virtual std::string type(loop::Type type) const = 0;
  virtual std::string thread() const = 0;  // these three as i32
  virtual std::string group() const = 0;
  virtual std::string groups() const = 0;

  // Everything before the snippets, then up to the first statement.
  virtual std::string preamble(const GpuFrame& frame) const = 0;
  virtual std::string open(const GpuFrame& frame) const = 0;

  // Statements. Sharing an array outside of the function gives nothing inside.
  virtual std::string declare(bool fixed, const std::string& type, const std::string& name,
                              const std::string& value) const;
  virtual std::string array(const std::string& type, const std::string& name, int64_t count) const;
  virtual std::string shared(const std::string& type, const std::string& name,
                             int64_t count) const = 0;
  virtual bool shares_outside() const { return false; }
  // Whether a value of the type must have a name before it is stored, to be computed as written.
  virtual bool names_stored(loop::Type /*type*/) const { return false; }
  virtual std::string loop(const std::string& type, const std::string& name,
                           const std::string& begin, const std::string& end,
                           const std::string& step) const;
  // A line before a loop that is to be unrolled; empty: there is none.
  virtual std::string unroll() const { return {}; }
  virtual std::string barrier(bool buffers) const = 0;
  // Whether a value that decides where threads wait has to come from one of them.
  virtual bool must_agree() const { return false; }

  // Expressions.
  virtual GpuText select(const GpuText& c, const GpuText& a, const GpuText& b) const;
  virtual GpuText cast(const std::string& type, const std::string& text) const;
  virtual GpuText exchange(loop::Type type, const std::string& value, int64_t mask) const = 0;
  virtual GpuText real(loop::Type type, double value) const;
  virtual GpuText i64(int64_t value) const = 0;
  virtual std::string subscript(const std::string& at, bool /*wide*/) const { return at; }
  virtual std::string word(const GpuArgument& x, const std::string& at) const;  // of packed memory
  // Statements that store the low `bits` bits of `value`, which has no others, as element `at`.
  virtual std::vector<std::string> store_part(const GpuArgument& x, const std::string& at, int bits,
                                              const std::string& value) const = 0;

  // Wide accesses: vectors of 2 or 4 words of 32 bits, through pointers where memory is addressed
  // in bytes; packed memory is declared of them.
  virtual std::string vector_type(const std::string& word, int words) const;
  virtual std::string wide_value(const std::string& type, const std::string& parts) const;
  enum class Space : uint8_t { buffer, shared };
  virtual std::string wide_pointer(Space /*space*/, bool /*fixed*/, const std::string& /*type*/,
                                   const std::string& /*address*/) const {
    return {};
  }

  GpuText i32(int64_t value) const;
};

std::string in(const GpuText& text, int least);  // in brackets if it binds less

std::unique_ptr<GpuDialect> cuda_dialect();
std::unique_ptr<GpuDialect> opencl_dialect();
std::unique_ptr<GpuDialect> glsl_dialect(bool native_i64);
std::unique_ptr<GpuDialect> wgsl_dialect();
std::unique_ptr<GpuDialect> msl_dialect();

// The snippets that a dialect takes, in order: `own` file, then the common ones, spelled.
struct GpuLibrary {
  std::string_view own;   // a file
  bool own_math = false;  // the target's functions are exact enough
  bool pairs = false, f64 = false;
  std::string_view number_suffix;  // of f64
};
std::vector<std::string> gpu_library(const GpuLibrary& wanted, const GpuSpelling& spelling);

}  // namespace tang
