// RowSpace: the iteration space of a fused group with reductions or composites: rows along the
// trailing axes of a shape. Owns: how a tensor is walked row by row. Must not know: which ops work
// along rows (row_ops.h), how a group is executed.
#pragma once

#include <optional>

#include <ingot/compiler/segment.h>

namespace ingot::compiler {

struct RowSpace {
  Dims sizes;
  int axes = 1;  // how many trailing ones make a row
  // On a GPU: bytes of an element, which say how a row lies on a block's lanes; 0 on the CPU.
  int item = 0;

  i64 length() const;
  i64 rows() const { return sizes.product() / length(); }
  bool on_gpu() const { return item != 0; }
  i64 longest() const;  // row that is held
  Dims leading() const;
  bool operator==(const RowSpace&) const = default;
};

// Elements of a row below which loops over rows cost more than passes over memory, and above which
// the values of a row no longer stay in the cache.
inline constexpr i64 kShortestRow = 32;
inline constexpr i64 kLongestRow = 8192;
// Longer rows are cut into blocks of the tree of kernels/ops/reduce_rows.h.
inline constexpr i64 kRowBlock = 4096;

// Where the elements of a row are: element i of row r is at sum(lead[d] * r[d]) + inner * i.
struct RowWalk {
  Dims lead;  // strides along RowSpace::leading()
  i64 inner = 0;
  bool operator==(const RowWalk&) const = default;
};

// The space of an op of rows; empty for other ops, other axes than the trailing ones, other dtypes
// than f32 and f64.
std::optional<RowSpace> row_space(const Segment& segment, const SegmentOp& op);

// A tensor of the whole space, or broadcast to it; empty when no single inner stride does it.
std::optional<RowWalk> walk_of_whole(const Meta& m, const RowSpace& space);
// A tensor of one value a row, as an op with a result of `sizes` reads it; empty when `sizes` is
// not the leading sizes, give or take axes of size 1.
std::optional<RowWalk> walk_of_row_values(const Meta& m, const Dims& sizes, const RowSpace& space);

// The walks of row-major results.
RowWalk dense_whole(const RowSpace& space);
RowWalk dense_row_values(const RowSpace& space);

}  // namespace ingot::compiler
