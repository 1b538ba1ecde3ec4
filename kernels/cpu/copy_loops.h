// The innermost loops of copies, casts and fills, compiled once per instruction set level.
// Owns: their signatures, the table of a level, and the moves that other loops of the same level
// use to pack strided operands. Must not know: metas, threads; includes nothing with inline code
// that a level would leave behind as a weak symbol.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {

inline constexpr int kItemSizes = 4;  // 1, 2, 4 and 8 bytes, by their log2

struct CopyLoops {
  using Int = __INT64_TYPE__;
  // n elements, strides in elements.
  using Move = void (*)(Int n, void* out, Int out_stride, const void* in, Int in_stride);
  using Cast = void (*)(Int n, void* out, const void* in);
  // out[c * out_stride + r] = in[r * in_stride + c]
  using Transpose = void (*)(Int rows, Int cols, void* out, Int out_stride, const void* in,
                             Int in_stride);

  Move move[kItemSizes];
  Transpose transpose[kItemSizes];
  Cast cast[8][8];  // [from][to], in the order of DType; runs without gaps
};

inline namespace INGOT_ISA {

extern const CopyLoops kCopyLoops;

// Moves of one item size, for units of this level.
void move_items(CopyLoops::Int n, int item_size, void* out, CopyLoops::Int out_stride,
                const void* in, CopyLoops::Int in_stride);

}  // namespace INGOT_ISA
}  // namespace ingot
