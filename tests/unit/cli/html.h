// A small checker of HTML as `tang report` writes it: a subset of HTML5 in which every element but
// the void ones is closed and every attribute is quoted.
#pragma once

#include <string>

namespace tang {

// What is wrong first, with some text around it; empty if nothing is. Checks tags and their
// nesting, attributes, character references, that ids are unique, and that links within the page
// lead to one.
std::string html_fault(const std::string& page);

}  // namespace tang
