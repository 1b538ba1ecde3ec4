// From metas to the tasks of indexing's kernels: nests cut to what a launch can number, index
// tensors with common strides, the widest item that fits. Owns: IndexOperands, IndexAccess, take(),
// put(). Must not know: the operand conventions of ops.
#pragma once

#include <optional>

#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/indexing_task.h>

namespace ingot {
inline namespace INGOT_ISA {

// One or more index tensors (i64) of one shape, with the same strides. `written`: what the op
// writes while it still reads them, or nullptr.
class IndexOperands {
 public:
  IndexOperands(const BufferView* indices, int n, const BufferView* written);

  int size() const { return n_; }
  const Meta& meta() const { return *views_[0].meta; }
  const i64* data(int k) const { return static_cast<const i64*>(views_[k].data); }
  // Row-major copies where they are not row-major.
  void make_dense();

 private:
  void copy(int k, bool always);

  int n_;
  BufferView views_[kMaxDims];
  std::optional<DenseCopy> copies_[kMaxDims];
};

// An indexed tensor x, the plain tensor (result or values) and the indices, walked together over
// `sizes`. Strides are those of `sizes`' axes: x's are 0 where an index moves it.
struct IndexAccess {
  Dims sizes, plain, x, index;
  // Axes of positions: [position_axis, position_axis + position_dims), row-major among themselves.
  int position_axis = 0, position_dims = 0;
};

// The indexed axes of x: from `axis` on, one for each index tensor. `unit` as for fault_site().
struct IndexedAxes {
  const char* op;
  int axis;
  const char* unit = nullptr;
  bool from_end = false;  // negative indices count from there
};

// out = x at the indices.
void take(const IndexedAxes& axes, const IndexAccess& access, const BufferView& out,
          const BufferView& x, const IndexOperands& indices);

// x at the indices = values, or += values, in the order of positions.
void put(const IndexedAxes& axes, const IndexAccess& access, const BufferView& x,
         const BufferView& values, IndexOperands& indices, bool add);

}  // namespace INGOT_ISA
}  // namespace ingot
