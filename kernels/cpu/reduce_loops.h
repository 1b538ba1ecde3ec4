// The inner loops of reductions, compiled once per instruction set level: one block of a row, the
// rows of a block of columns, the search for an extreme.
// Owns: their signatures and the tables of a level. Must not know: metas, threads, storage types;
// includes nothing with inline code that a level would leave behind as a weak symbol.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {

// difference, square: the sums of x - centre and of its square.
enum class ReduceKind : int { sum, prod, max, min, any, all, difference, square };
inline constexpr int kReduceKinds = 8;

// The loops of one compute type. Null where a kind does not exist for it: sum and prod know f32,
// f64, i64; difference and square f32, f64; any and all u8; max and min everything.
struct ReduceLoops {
  using Int = __INT64_TYPE__;

  struct Kind {
    // out[r] = the result of n contiguous elements, a block, for each of `rows` rows `stride`
    // apart; centre: one element for each row, or null.
    void (*rows)(Int rows, Int n, const void* x, Int stride, const void* centre, void* out);
    // A block of columns: start, add for its rows in order, fold. lanes: kReduceLanes * cols
    // elements; x: rows [first, first + rows) of the block, `stride` elements apart; centre: cols
    // elements, or null.
    void (*start)(Int block_rows, Int cols, void* lanes);
    void (*add)(Int first, Int rows, Int cols, const void* x, Int stride, const void* centre,
                void* lanes);
    void (*fold)(Int block_rows, Int cols, void* lanes, void* out);
  };
  Kind kind[kReduceKinds];

  // The first extreme of each of `rows` rows of n >= 1 elements (a block), `stride` apart: its
  // value, and its place plus `begin`. [0]: largest, [1]: smallest.
  void (*row_extremes[2])(Int rows, Int n, const void* x, Int stride, Int begin, void* value,
                          Int* place);
  // The first extreme of each column of 1 <= rows < 2^31 rows.
  void (*column_extremes[2])(Int rows, Int cols, const void* x, Int stride, void* value, int* row);
  // Whether *a replaces *b as the extreme so far.
  bool (*beats[2])(const void* a, const void* b);
  // x[i] = x[i] / by, and x[i] = x[i] + y[i] / by. Floating types only.
  void (*divide)(Int n, void* x, double by);
  void (*add_quotient)(Int n, void* x, const void* y, double by);
};

inline namespace INGOT_ISA {

extern const ReduceLoops kReduceF32, kReduceF64, kReduceI64, kReduceI32, kReduceU8;

}  // namespace INGOT_ISA
}  // namespace ingot
