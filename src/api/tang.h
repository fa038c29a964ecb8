// The C++ API: everything that a program needs to use tang as a library.
//
//   tang::parse(text) or tang::Builder (ir/builder.h)   a Graph, or what is wrong with it
//   tang::print(graph)                                  the form that parse reads
//   tang::compile(graph, settings), Program::run        api/program.h
//
// Errors are values, Result<T>: nothing throws, prints or reads the environment.
#pragma once

#include "api/program.h"
#include "front/elaborate.h"
#include "front/render.h"
#include "ir/builder.h"
#include "ir/print.h"
