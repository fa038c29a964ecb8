// The text of tile programs. parse(print(p)) prints the same again; program.h shows the form.
//
//     program   = { "param" NAMES } { kernel }
//     kernel    = "kernel" NAME "on" NAME { "." NAME } "{" { declaration } { statement } "}"
//     declaration =
//         "axis" NAMES
//       | ("arg" | "out" | "work") NAME "[" AXIS ":" poly, … "]" ":" FORMAT
//       | "memory" NAME "[" AXIS ":" INT, … "]" ":" SPACE FORMAT [ LIFE ] "=" storage
//       | "map" NAME "=" ("load" | "store" | "add") NAME "box" INTS [ "sw" INT ]
//       | "role" NAME "warps" INT ".." INT [ "regs" INT ] [ "copies" NAME INT ]
//       | "channel" NAME "depth" INT [ "each" "copy" ] "{" NAMES "}" "full" signal "empty" signal
//       | "monoid" NAME "(" NAME [ ":" KIND ], … ")" "identity" "(" NUMBERS ")"
//         "combine" "(" expressions ")" [ "commutative" ]
//       | "turn" NAME "of" ROLE "first" INT
//       | "place" NAME "(" AXES ")" "=" placement
//       | "order" AXIS ":" poly "tile" INT, … [ "digits" digit, … ] [ "workers" INT ]
//     signal    = "transaction" "from" ROLES "bytes" INT | "arrival" "from" ROLES "each" INT
//               | "named" "from" ROLES | "bulk_read" "from" ROLES, each [ "phase" INT ]
//     digit     = AXIS [ "/" INT ] [ "%" INT ] [ "reversed" ]
//     statement = [ ROLES ":" ] [ "@" INT ] operation
//     operation =
//         VALUE "=" "load" ref type [ valid ] [ row ]
//       | "store" VALUE "->" ref [ valid ] [ row ]
//       | [ VALUE "=" ] "copy" [ extents ] ref "->" ref [ valid ] [ row ] [ "by" "one_thread" ]
//       | VALUE "=" "map" expression type
//       | VALUES "=" "reduce" MONOID AXES ":" VALUES type
//       | VALUES "=" "scan" MONOID AXIS ":" VALUES type
//       | VALUE "=" "solve" AXIS "," AXIS ":" ref type
//       | VALUES "=" "fold" MONOID ":" VALUES type
//       | VALUES "=" "contract" extents ":" [ "-" ] operand "*" operand [ "+" VALUE ] type [ row ]
//       | VALUE "=" "convert" VALUE type
//       | VALUE "=" "slice" VALUE "at" "(" forms ")" type
//       | "prefetch" ref
//       | VALUE "=" ("acquire" | "receive") CHANNEL
//       | ("commit" | "release") CHANNEL VALUE | "drain" CHANNEL
//       | "wait" VALUES | "fence" ("registers" | "async") | "barrier" | ("take" | "pass") TURN
//       | [ VALUES "=" ] "loop" NAME "from" forms "to" forms [ "step" INT ] [ "down" | "parallel" ]
//         carry block
//       | [ VALUES "=" ] "loop" "tiles" "(" NAMES ")" carry block
//       | [ VALUES "=" ] "branch" FORM ">=" "0" { "and" FORM ">=" "0" } block [ "else" block ]
//       | "next" VALUES
//     carry     = [ "carry" NAME "=" VALUE, … ]
//     ref       = NAME [ "." NAME ] "[" forms "]"
//     operand   = ref | VALUE
//     type      = "->" PLACEMENT ":" FORMATS [ "partial" MONOID ]
//     forms     = form, … ; of limits also "max" "(" forms ")" after "from", "min" after "to"
//     valid     = "valid" FORM ">=" "0", … [ "fill" NUMBER ]
//     extents   = "(" [ AXIS INT, … ] ")"
//
// A form is a sum of integers, params, indices and gathered values, each with a coefficient of
// integers and params. One FORMAT is that of all results. In an expression a form that is more than
// a name stands in parentheses. A branch yields what `next` ends its blocks with; with results it
// has both. The value `none` is nothing to wait for, or to release.
#pragma once

#include <string>
#include <string_view>

#include "tile/program.h"

namespace tang::tile {

std::string print(const Program& program);
std::string print(const Program& program, const Kernel& kernel);
// One operation, without the bodies it holds.
std::string print_op(const Program& program, const Kernel& kernel, const Op& op);
std::string print_form(const Program& program, const Kernel& kernel, const Form& form);

// Does not verify; see verify.h. Errors (E0110, E0201) carry file, line and column.
Result<Program> parse_program(std::string_view text, const std::string& file);

}  // namespace tang::tile
