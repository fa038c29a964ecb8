// Elements of buffers in C: their types, and how one is read and written.
#pragma once

#include <string>
#include <string_view>

#include "loop/program.h"

namespace tang {

std::string_view c_type(loop::Type type);
std::string_view c_storage(Format format);  // the type of a buffer's elements; i4, u4 two to a byte

// Whether elements are read as f64, in which they are exact.
bool is_wide_block(Format format);

// The expression that reads base[at] as `as`: the format's compute type or, of a wide block, f32.
std::string decode_element(Format format, loop::Type as, std::string_view base,
                           std::string_view at);

// The statement that stores a value of `type` into base[at]. `atom` is the value as an operand of a
// cast.
std::string encode_element(Format format, loop::Type type, std::string_view base,
                           std::string_view at, std::string_view value, std::string_view atom);

}  // namespace tang
