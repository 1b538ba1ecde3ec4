// Products in a segment on the GPU: how kernels see them, which are small, what the small kernel is
// called with.
// Owns: the way from an op of a segment to the kernel's view of it. Must not know: groups, text.
#pragma once

#include <vector>

#include <ingot/compiler/segment.h>
#include <ingot/kernels/cuda/product_view.h>
#include <ingot/kernels/cuda/small_shape.h>

namespace ingot::compiler {

// binding null: an operand's address only says that it is there. The result may have no memory: a
// tail uses it as it is made.
ProductView segment_product(const Segment& segment, const SegmentOp& op, const Binding* binding,
                            const Attrs& attrs);

// By op: whether it is a product on the GPU that eager computes by the small kernel.
std::vector<bool> find_small_products(const Segment& segment, const std::vector<bool>& needed);

struct SmallCall {
  SmallProduct product;
  SmallShape shape;
};
// Of a small product. binding null: the shape only, and no addresses.
SmallCall small_call(const Segment& segment, const SegmentOp& op, const Binding* binding,
                     const Attrs& attrs);

}  // namespace ingot::compiler
