// Meta: what is known about a tensor without its bytes. BufferView: a Meta with an address.
// Owns: contiguity, broadcasting, stride order, overlap tests on these. Must not know: storage,
// ownership, ops.
#pragma once

#include <ingot/kernels/core/dims.h>
#include <ingot/kernels/core/dtype.h>

namespace ingot {

// Strides are in elements; an entry of size 1 may carry any stride.
struct Meta {
  DType dtype = DType::f32;
  Device device;
  Dims sizes;
  Dims strides;

  int dim() const { return sizes.size(); }
  i64 numel() const { return sizes.product(); }
  bool operator==(const Meta&) const = default;
};

struct BufferView {
  void* data;        // the first element: the offset is applied
  const Meta* meta;  // nullptr: a host scalar of the kernel's compute type behind `data`
};

// Row-major without gaps, ignoring the strides of size-1 axes.
bool is_contiguous(const Meta& m);

// No two indices share an element and the elements fill one range (some permutation of row-major).
bool is_dense(const Meta& m);

// Elements from the first to one past the last that the strides reach; 0 for empty.
i64 extent(const Meta& m);

// True when two different indices of m may share an element (an expanded tensor).
bool overlaps_itself(const Meta& m);

// NumPy broadcasting of two shapes; throws with `op` and both shapes when they do not fit.
Dims broadcast(const Dims& a, const Dims& b, const char* op);

// The strides of m when read as `sizes`: 0 along broadcast axes. The sizes must fit.
Dims broadcast_strides(const Meta& m, const Dims& sizes);

// Dense strides for `sizes` in the axis order of the operand's strides (PyTorch's rule for
// elementwise results: the order of the first operand that has the full shape; else row-major).
Dims strides_like(const Dims& sizes, const Meta* const* operands, int n);

// Axis d in [-dim, dim) as non-negative; a 0-d tensor accepts 0 and -1. Throws IndexError.
int wrap_axis(i64 d, int dim, const char* op);

std::string describe(const Meta& m);  // "f32[2, 3]", "cuda:1 f32[2, 3]"

}  // namespace ingot
