#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/elementwise.h>
#include <ingot/kernels/ops/structured/data.h>

namespace ingot {
inline namespace INGOT_ISA {

void copy_on_device(const BufferView& out, const BufferView& in) {
  if (out.meta->numel() == 0) return;
  const DType compute = compute_type(out.meta->dtype);
  run_cuda_elementwise({structured_op<structured::Clone>, &in, 1, &out, 1, kNoAttrs, {}},
                       copy_kernels(compute), compute);
}

void copy_overlapping_on_device(const BufferView& out, const BufferView& in) {
  if (!may_overlap(out, in)) return copy_on_device(out, in);
  Meta dense = *in.meta;
  dense.strides = contiguous_strides(dense.sizes);
  const DeviceScratch copy(static_cast<std::size_t>(dense.numel() * item_size(dense.dtype)));
  const BufferView between{copy.data(), &dense};
  copy_on_device(between, in);
  copy_on_device(out, between);
}

void fill_on_device(const BufferView& out, Scalar value) {
  if (out.meta->numel() == 0) return;
  const DType compute = compute_type(out.meta->dtype);
  const BufferView scalar{nullptr, nullptr};
  Attrs attrs;
  attrs.add_scalar(value);
  run_cuda_elementwise({structured_op<structured::Clone>, &scalar, 1, &out, 1, attrs, {}},
                       copy_kernels(compute), compute);
}

DenseCopy::DenseCopy(const BufferView& view, DType dtype, Copy copy)
    : meta_(*view.meta), view_(view) {
  if (copy == Copy::if_needed && meta_.dtype == dtype && is_contiguous(meta_)) return;
  meta_.dtype = dtype;
  meta_.strides = contiguous_strides(meta_.sizes);
  owned_.emplace(static_cast<std::size_t>(meta_.numel() * item_size(dtype)));
  view_ = {owned_->data(), &meta_};
  copy_on_device(view_, view);
}

}  // namespace INGOT_ISA
}  // namespace ingot
