// The text of loop programs. parse(print(p)) prints the same again; program.h shows the form.
//
//     program   = { "symbol" NAME | "buffer" NAME ":" FORMAT "[" POLY "]" role | "require" POLY
//                 | kernel }
//     role      = "input" | "output" [ "into" NAME ] | "workspace" | "prepared"
//     kernel    = ( "kernel" | "prepare" ) NAME [ "threads" INT ] [ "reads" NAMES ]
//                 [ "writes" NAMES ] block
//     block     = "{" NEWLINE { statement NEWLINE } "}"
//     statement = "for" NAME "in" expr ".." expr [ "step" INT ] [ hint ] block
//               | "if" expr block | "let" NAME ":" shape "=" expr | "var" NAME ":" shape "=" expr
//               | ( "array" | "shared" ) NAME "[" INT "]" ":" TYPE | NAME "=" expr
//               | NAME "[" address "]" "=" expr | "#" text
//               | ( "store" | "stream" ) NAME "[" address "]" "=" expr
//               | "prefetch" NAME "[" expr "]" | "barrier" | "exchange" NAME "=" expr "by" INT
//     hint      = "vector" | "unroll" | "parallel"
//     address   = expr [ ":" LANES [ "by" expr ] [ "first" expr ] ]
//     shape     = TYPE | TYPE "x" LANES, without spaces: f32x8
//
// Literals: `3` is i64, `3'i32` is i32, `0.5`, `inf`, `nan` are f32, `0.5'f64` is f64; true, false.
// `thread` is the number of the thread, `f64(x)` a cast, `round_f16(x)` a rounding. Comparisons do
// not chain.
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "loop/program.h"

namespace tang::loop {

std::string print(const Program& program);
std::string print(const Program& program, const Kernel& kernel);
// One expression, as it stands in the text of the kernel.
std::string print(const Program& program, const Kernel& kernel, Value value);
std::string print_statement(const Program& program, const Kernel& kernel, const Stmt& stmt);

// Neither verifies; see verify.h. Errors carry file, line and column.
Result<Program> parse_program(std::string_view text, const std::string& file);
// One kernel over the symbols and buffers of `program`.
Result<Kernel> parse_kernel(std::string_view text, const Program& program, const std::string& file);

}  // namespace tang::loop
