// The page of `tang report`: one HTML file that needs nothing else.
//
// The page is a function of a Report, which holds the program as written and as derived, each
// lowered, and their times where it ran. Every section is a function of a Report too, that gives
// HTML. What does not change from page to page (skeletons, style, script) lies in src/cli/report
// and is filled in by report_text.h; numbers are those of `tang derive` and `tang bench`.
//
// Text of the user goes through `escape`, also where it is an attribute; `formula` and
// `highlighted` do so themselves. Without times the page is the same for the same program, byte by
// byte.
#pragma once

#include "cli/timing.h"

namespace tang::cli {

struct Report {
  std::string name;   // of the program's file
  std::string text;   // of the program
  std::string again;  // the command line that makes the page
  Derivation derivation;
  Variant naive, derived;
  std::optional<Times> naive_times, derived_times;
  std::string untimed;  // why times are missing, a sentence
};

std::string report_page(const Report& r);

// The parts of the page, each the inside of a section.
std::string graphs_section(const Report& r);
std::string derivation_section(const Report& r);
std::string kernels_section(const Report& r);
std::string times_section(const Report& r);
std::string memory_section(const Report& r);

// The kernels of a program as boxes with their inputs and outputs, as SVG. Formulas are those of
// `text`, the graph before the softmax reading. `links`: a box leads to its kernel on the page.
std::string graph_picture(const Graph& text, const Variant& v, const std::string& label,
                          bool links);

// Bars beside each other, as SVG that is as wide as its place.
struct Bar {
  enum class Of : uint8_t { both, naive, derived };  // programs
  std::string label, text;                           // what is measured and how much, for people
  double value = 0;
  Of of = Of::both;
};
std::string bar_plot(const std::vector<Bar>& bars, const std::string& label);

// Every param has a value.
bool has_sizes(const Graph& g);
// "f32 [8, seq, 64]", with numbers where params are bound.
std::string type_text(const Graph& g, TensorId t);
// Bytes of workspace: as planned where sizes are numbers, otherwise the sum of its buffers.
Poly workspace_bytes(const Variant& v);
// Bytes of all buffers with a role; an output that takes an input's place is not counted again.
Poly role_bytes(const Variant& v, loop::Role role);

}  // namespace tang::cli
