// Rows of the instruction tables for an operation on vectors, as C.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "loop/program.h"

namespace tang {

struct Row;
using RowHoles = std::map<std::string, std::string, std::less<>>;

// The feature a row needs for code under TANG_AVX2; rows of plain C need nothing.
inline constexpr std::string_view vector_feature = "avx2";

// The row that computes `op` on registers of the shape, all alike; null if there is none. fma is a
// row that adds a product to its result.
const Row* find_operation(loop::Op op, loop::Shape shape, std::string_view needs);
// The row that copies one register's value into every place.
const Row* find_spread(loop::Shape shape, std::string_view needs);
// The row that moves consecutive elements of the shape's type between memory and a register, those
// of a mask alone if `masked`.
const Row* find_move(loop::Shape shape, bool stores, bool masked, std::string_view needs,
                     bool streams = false);

// The row's text, a statement or more, with the values of its holes: operands by name.
std::string row_text(const Row& row, const RowHoles& holes);
// The operands that a row reads, by the names that a function's parameters have: a, b, c.
RowHoles row_operands(const Row& row);

}  // namespace tang
