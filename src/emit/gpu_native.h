// What the dialects that address memory in bytes spell alike: cuda, opencl, msl.
#pragma once

#include <string>
#include <string_view>

#include "emit/gpu_dialect.h"

namespace tang {

// The type of a buffer's elements, bits for those that no type of the language holds. `prefix`
// makes an integer unsigned: "unsigned " or "u".
std::string native_element(Format format, std::string_view prefix, std::string_view i64);

// Lines that define the symbols in the index width from those that are passed.
std::string native_symbols(const GpuDialect& dialect, const GpuFrame& frame);

GpuText native_i64(int64_t value, std::string_view suffix);

}  // namespace tang
