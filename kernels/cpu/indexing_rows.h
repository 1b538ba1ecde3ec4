// Reads and writes of slices through index tensors: what index_select, embedding, index and their
// writing counterparts share.
// Owns: the check of indices, the offsets they stand for, and the loops over slices. Must not know:
// the operand conventions of ops.
#pragma once

#include <string>

#include <ingot/kernels/core/meta.h>
#include <ingot/kernels/cpu/reduce_scratch.h>

namespace ingot {

// What an index counts, for errors: "dim 1 of size 5", or "5 rows" with a unit.
struct IndexedAxis {
  const char* op;
  int axis;
  i64 size;
  const char* unit = nullptr;
  bool from_end = false;  // negative indices count from there
};

// The sentence for an index that is out of range.
std::string out_of_range(const IndexedAxis& axis, i64 index);

// Throws IndexError unless every element of an i64 tensor is an index of the axis.
void check_indices(const IndexedAxis& axis, const BufferView& index);

// For each position of the index tensors (in row-major order) the element that they point at,
// counted from the first element of the indexed tensor. A local of the calling thread (scratch).
class Offsets {
 public:
  // One index tensor for each of `n` adjacent axes of x from first.axis on (first.size is ignored),
  // all of one shape. Checks them.
  Offsets(IndexedAxis first, const Meta& x, const BufferView* indices, int n);

  const i64* data() const { return reinterpret_cast<const i64*>(offsets_.data()); }
  i64 count() const { return count_; }

 private:
  i64 count_;
  Scratch offsets_;
};

// A tensor as slices over positions: the axes of one slice, and what leads to the next one.
struct Slices {
  void* data;
  Dims sizes, strides;
  i64 step = 0;

  // `view` without `n` axes from `axis` on; step is the stride of the last of them.
  Slices(const BufferView& view, int axis, int n);
};

// Slice p of `out` = the slice of x at offsets[p].
void take_slices(const Slices& out, const Slices& x, DType dtype, const Offsets& offsets);

// The slice of x at offsets[p] = slice p of `values`, or += it, for p in order. Sums are in the
// dtype itself, which is not f16 or bf16.
enum class Put { overwrite, add };
void put_slices(const Slices& x, DType dtype, const Offsets& offsets, const Slices& values,
                Put how);

}  // namespace ingot
