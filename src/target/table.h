// Instruction tables: `.def` texts of rows, read at first use.
//
//   place NAME (axes) = PLACEMENT         a placement that several rows use, over the axes in order
//   layout NAME (axes) major AXIS spans 32 64 128 = STORAGE
//   row NAME                              with holes for sizes: `wgmma.m64n{n}k16.bf16.ss`
//     each t bits : bf16 16 | f32 32      several rows (target/families.h)
//     do d[m, n] = sum a[m, k] * b[n, k]  what it computes
//     size m 64, n 8..256/8, k 16         allowed values of each axis: `8 16 24 32 48..256/16`
//     d reg f32 accumulates overwrites : PLACEMENT
//     a shared bf16 negates : k_span, k_plain
//     b packed/global f32                 spaces, formats (`bf16,f16`), facts
//     a gives 16 : PLACEMENT              who gives the addresses of which 16 bytes
//     run warpgroup commit_group async    scope, done and proxy; default thread blocking generic
//     needs sm90a
//     sum bits 25 truncates promote 4     how a sum rounds
//     cost issue n/2 latency 18           cycles, expressions of sizes
//     text …                              a line of the instruction's text; lines add up
//
// What a row can compute:
//   d[x] = a[x]                           a move: load, store or copy, by the operands' spaces
//   d[x] = max(a[x], b[x])                a map; cast(a[x]) converts
//   d[m, n] = sum a[m, k] * b[n, k]       a contraction; over nothing it is a multiply-add
//   d[] = fold max a[l]                   a fold
//   d[l] = shuffle xor a[l]               an exchange between lanes: xor, up, down or index
//   prefetch a[x]
//
// A line goes on over lines that are indented deeper. Facts of an operand: accumulates, overwrites,
// negates, masks, fills, clips, multicast, streams, not_negative, align N, strides N, step N
// (Operand).
#pragma once

#include "target/row.h"

namespace tang {

struct Tables {
  std::vector<Layout> layouts;
  std::vector<Row> rows;  // names differ

  struct Found {
    const Row* row = nullptr;
    Sizes sizes;
  };
  // The row and the sizes that `wgmma.m64n176k16.bf16.ss` names; a size that is not in the row's
  // name is the least. Error E0910.
  Result<Found> find(std::string_view name) const;
};

// Adds the rows of a text to `tables`. Errors: E0111 with `file` and line.
Result<void> read_table(std::string_view text, const std::string& file, Tables& tables);

// The shipped tables: nvidia, cpu and generic.
const Result<Tables>& shipped_tables();

}  // namespace tang
