// Walks of a collapsed nest whose plain runs would be slow, by way of small tiles: rows repeated
// under a short innermost axis, and operands that lie across the order of the result.
// Owns: when each walk applies and how tiles are filled. Must not know: what is done in a run.
#pragma once

#include <ingot/kernels/cpu/iterate.h>

namespace ingot {

// A nest of two axes in which every operand is one array over both, one value, or a short row that
// repeats; so that runs over many rows need the row only a few times in a tile.
class RepeatedRows {
 public:
  explicit RepeatedRows(const Nest& nest);
  bool applies() const { return period_ != 0; }

  // f(n, addresses, strides) over all elements; a run is one tile long, or the rest.
  template <class F>
  void for_each_run(F&& f, i64 grain) const;

 private:
  static constexpr i64 kTile = 1024;  // elements
  static constexpr i64 kLongest = kTile / 4;
  void fill(int operand, char* tile) const;

  const Nest& nest_;
  i64 period_ = 0;  // elements of a tile, whole rows; 0: does not apply
  bool repeats_[kMaxOperands];
  i64 strides_[kMaxOperands];
};

// A nest in which some operand has its unit stride along another axis than the first: blocks of
// those operands are transposed into tiles.
class Transposed {
 public:
  explicit Transposed(const Nest& nest);
  bool applies() const { return axis_ != 0; }

  template <class F>
  void for_each_run(F&& f, i64 grain) const;

 private:
  // A block is long where the result has no gaps and as wide as a cache line of the others.
  static constexpr i64 kRows = 256, kColumns = 16;
  static constexpr i64 kLeast = 16;  // rows and columns below which a plain walk is as good
  // Transposes the block of `rows` by `columns` at `from` so that it has no gaps along axis 0.
  void fill(int operand, i64 rows, i64 columns, const char* from, char* tile) const;

  const Nest& nest_;
  int axis_ = 0;
  bool across_[kMaxOperands];
  i64 strides_[kMaxOperands];  // of a run, tiles in place of the operands across
};

template <class F>
void RepeatedRows::for_each_run(F&& f, i64 grain) const {
  const i64 pieces = (nest_.numel() + period_ - 1) / period_;
  parallel_for(pieces, 1 + grain / period_, [&](i64 first, i64 last) {
    alignas(64) char tiles[kMaxOperands][kTile * 8];
    char* at[kMaxOperands];
    for (int k = 0; k < nest_.operands(); ++k) {
      if (repeats_[k]) fill(k, tiles[k]);
    }
    for (i64 piece = first; piece < last; ++piece) {
      const i64 begin = piece * period_, left = nest_.numel() - begin;
      for (int k = 0; k < nest_.operands(); ++k) {
        at[k] = repeats_[k] ? tiles[k] : nest_.data(k) + begin * strides_[k] * nest_.item_size(k);
      }
      f(left < period_ ? left : period_, at, strides_);
    }
  });
}

template <class F>
void Transposed::for_each_run(F&& f, i64 grain) const {
  const i64 rows = nest_.size(0), columns = nest_.size(axis_);
  const i64 strips = (columns + kColumns - 1) / kColumns;
  // What is left to walk: the other axes, each of whose elements is a plane of rows and columns.
  Nest planes = nest_;
  planes.remove_axis(axis_);
  planes.remove_axis(0);
  parallel_for(planes.numel() * strips, 1 + grain / (kColumns * rows), [&](i64 first, i64 last) {
    alignas(64) char tiles[kMaxOperands][kRows * kColumns * 8];
    for (i64 item = first; item < last; ++item) {
      const i64 plane = item / strips, column = item % strips * kColumns;
      const i64 width = columns - column < kColumns ? columns - column : kColumns;
      planes.walk(plane, plane + 1, [&](i64, char* const* start) {
        for (i64 row = 0; row < rows; row += kRows) {
          const i64 height = rows - row < kRows ? rows - row : kRows;
          char *corner[kMaxOperands], *at[kMaxOperands];
          for (int k = 0; k < nest_.operands(); ++k) {
            corner[k] = start[k] + (row * nest_.stride(0, k) + column * nest_.stride(axis_, k)) *
                                       nest_.item_size(k);
            if (across_[k]) fill(k, height, width, corner[k], tiles[k]);
          }
          for (i64 c = 0; c < width; ++c) {
            for (int k = 0; k < nest_.operands(); ++k) {
              at[k] = across_[k] ? tiles[k] + c * kRows * nest_.item_size(k)
                                 : corner[k] + c * nest_.stride(axis_, k) * nest_.item_size(k);
            }
            f(height, at, strides_);
          }
        }
      });
    }
  });
}

}  // namespace ingot
