// argmax, argmin, and max and min with index, over any axes and strides.
// Owns: the search for the first extreme in logical (row-major) order; NaN is the extreme. Must not
// know: the tree of sums (no order shows here).
#pragma once

#include <ingot/kernels/core/meta.h>

namespace ingot {

// index: i64, the place of the first extreme in the row-major order of the reduced axes; value:
// that element, in the dtype of `in`, or null. Both row-major.
void reduce_extremes(const BufferView& in, const Dims& axes, bool smallest, const BufferView* value,
                     const BufferView& index);

}  // namespace ingot
