#pragma once
// How columns lie on the threads of a block, and how their rows are cut into pieces. Owns: this
// rule, which the bits of every column reduction depend on. Must not know: formulas, memory.
// Freestanding.
#include <ingot/kernels/cuda/row_shape.h>

namespace ingot {
inline namespace INGOT_ISA {

inline constexpr int kColumnThreads = 256, kMostColumnLanes = 8;

// Threads side by side: fewer for few columns, so that the others take rows.
INGOT_DEVICE constexpr int column_lanes(Int64 cols, int width) {
  int lanes = 1;
  while (lanes < kMostColumnLanes && lanes * width < cols) lanes *= 2;
  return lanes;
}

// What the blocks of a launch share. A kernel that divided by these in 64 bits would take as long
// for that as for a small reduction's loads.
struct ColumnGrid {
  int shift;        // log2 of the threads side by side
  unsigned strips;  // blocks side by side

  INGOT_DEVICE constexpr ColumnGrid(Int64 cols, int width) {
    const int lanes = column_lanes(cols, width);
    shift = log2_of(lanes);
    strips = static_cast<unsigned>((cols + lanes * width - 1) / (lanes * width));
  }
};

struct ColumnPieces {
  Int64 count, rows;  // pieces, and rows of each but the last
};

// Pieces of a reduction of `n` rows: the fewest, a power of two, that make 256 blocks, as long as
// each row lane keeps 8 rows. `groups`: as many matrices of `cols` columns.
INGOT_DEVICE constexpr ColumnPieces column_pieces(Int64 n, Int64 cols, Int64 groups, int width) {
  const int lanes = column_lanes(cols, width);
  const Int64 blocks = groups * ((cols + lanes * width - 1) / (lanes * width));
  const Int64 least = Int64(8) * (kColumnThreads / lanes);
  Int64 count = 1;
  while (blocks * count < 256 && n >= 2 * count * least) count *= 2;
  return {count, (n + count - 1) / count};
}

}  // namespace INGOT_ISA
}  // namespace ingot
