#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cpu/iterate.h>
#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/elementwise.h>
#include <ingot/kernels/cuda/transpose.h>
#include <ingot/kernels/ops/structured/data.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// Copies whose sides run along different axes go through tiles, so that both are read and written
// in whole lines.
bool copy_transposed(const BufferView& out, const BufferView& in) {
  constexpr i64 kLeast = 16, kMost = (i64{1} << 31) - 1;
  if (out.meta->dtype != in.meta->dtype || out.meta->numel() > kMost) return false;
  const int item = item_size(out.meta->dtype);
  Nest nest(out.meta->sizes);
  nest.add(out.data, out.meta->strides, item);
  nest.add(in.data, broadcast_strides(*in.meta, out.meta->sizes), item);
  nest.collapse();
  if (nest.stride(0, 0) != 1 || nest.stride(0, 1) == 1 || nest.size(0) < kLeast) return false;
  int along = -1;
  for (int d = 1; d < nest.dim(); ++d) {
    if (nest.stride(d, 1) == 1 && nest.size(d) >= kLeast) along = d;
  }
  if (along < 0) return false;
  TransposeTask task{nest.data(0),      nest.data(1),         item, nest.size(0), nest.size(along),
                     nest.stride(0, 1), nest.stride(along, 0)};
  for (int d = 1; d < nest.dim(); ++d) {
    if (d == along) continue;
    task.sizes[task.outer] = nest.size(d);
    task.out_strides[task.outer] = nest.stride(d, 0);
    task.in_strides[task.outer++] = nest.stride(d, 1);
  }
  launch_transpose(task);
  return true;
}

}  // namespace

void copy_on_device(const BufferView& out, const BufferView& in) {
  if (out.meta->numel() == 0 || copy_transposed(out, in)) return;
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
