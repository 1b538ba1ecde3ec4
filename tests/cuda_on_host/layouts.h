// Tensors of given sizes in every layout that kernels must read and write.
// Owns: Layout, tensor_in. Must not know: ops.
#pragma once

#include <random>

#include <ingot/runtime/tensor.h>

namespace ingot::emulation {

using Rng = std::mt19937_64;

enum class Layout { dense, permuted, stepped, shifted, expanded };
inline constexpr Layout kLayouts[] = {Layout::dense, Layout::permuted, Layout::stepped,
                                      Layout::shifted, Layout::expanded};

// Values in [-3, 3) (whole for integers, not negative for u8), now and then one that is special.
// shifted: off the alignment of vectors; expanded: strides of 0 along some axes.
Tensor tensor_in(Layout layout, const Dims& sizes, DType dtype, Rng& rng);

// 0 to 4 axes.
Dims random_sizes(Rng& rng, i64 longest);

}  // namespace ingot::emulation
