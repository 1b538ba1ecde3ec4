// Ops that gradient rules and loaders use and users do not see. Found by ADL from the rows' vjp
// templates.
// Owns: their declarations. Must not know: kernels.
#pragma once

#include <utility>

#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/ops.h>

namespace ingot {

// x summed over the axes that broadcasting added or stretched, so that it has `sizes` again.
Tensor sum_to_size(const Tensor& x, const Dims& sizes, Loc loc = Loc::here());
// x in the dtype and on the device of m.
Tensor to_meta(const Tensor& x, const Meta& m, Loc loc = Loc::here());
// Zeros with the sizes of m and the dtype and device of `like`; row-major, or in m's own strides.
Tensor zeros_meta(const Tensor& like, const Meta& m, Loc loc = Loc::here());
Tensor zeros_geometry(const Tensor& like, const Meta& m, Loc loc = Loc::here());
// Row-major, in page-locked memory of no bytes worth reading yet. A compiled call runs op by op
// from here on, since `what` is not recorded.
Tensor empty_pinned(const Dims& sizes, DType dtype, const char* what, Loc loc = Loc::here());
// The standard deviation from the variance: sqrt with a gradient of 0 at 0.
Tensor std_of_var(const Tensor& variance, Loc loc = Loc::here());
Tensor as_strided(const Tensor& x, const Dims& sizes, const Dims& strides, i64 offset,
                  Loc loc = Loc::here());
Tensor slice_backward(const Tensor& dy, const Dims& sizes, int axis, i64 start, i64 step,
                      Loc loc = Loc::here());
Tensor embedding_backward(const Tensor& dy, const Tensor& index, i64 rows, Loc loc = Loc::here());
Tensor index(const Tensor& x, const Dims& axes, const Tensor* indices, Loc loc = Loc::here());
// A copy of x with values written (or added) at the indices.
Tensor index_put(const Tensor& x, const Dims& axes, const Tensor* indices, const Tensor& values,
                 bool accumulate, Loc loc = Loc::here());
Tensor softmax_backward(const Tensor& dy, const Tensor& y, int axis, Loc loc = Loc::here());
Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, int axis, Loc loc = Loc::here());
Tensor layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean,
                           const Tensor& rstd, const Tensor& weight, int trailing,
                           Loc loc = Loc::here());
std::pair<Tensor, Tensor> layer_norm_backward_params(const Tensor& dy, const Tensor& x,
                                                     const Tensor& mean, const Tensor& rstd,
                                                     int trailing, Loc loc = Loc::here());
Tensor cross_entropy_backward(const Tensor& dy, const Tensor& logits, const Tensor& target,
                              const Tensor& weight, const Tensor& logsumexp,
                              const Tensor& total_weight, const Attrs& attrs,
                              Loc loc = Loc::here());

}  // namespace ingot
