#include <ingot/kernels/cuda/arange.h>
#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/data.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

char* at_element(const BufferView& view, i64 element) {
  return static_cast<char*>(view.data) + element * item_size(view.meta->dtype);
}

// The part of `whole` that starts anywhere along `axis` and has `length` elements, `step` apart.
Meta narrowed(const Meta& whole, int axis, i64 length, i64 step) {
  Meta part = whole;
  part.sizes[axis] = length;
  part.strides[axis] *= step;
  return part;
}

}  // namespace

void cuda_clone(const KernelArgs& args) { copy_on_device(args.out[0], args.in[0]); }

void cuda_copy(const KernelArgs& args) { copy_overlapping_on_device(args.out[0], args.in[1]); }

void cuda_full(const KernelArgs& args) { fill_on_device(args.out[0], args.attrs.s[0]); }

void cuda_arange(const KernelArgs& args) {
  const Meta& meta = *args.out[0].meta;
  const Scalar start = args.attrs.s[0], step = args.attrs.s[1];
  ArangeTask task{args.out[0].data, static_cast<int>(meta.dtype), meta.numel(),
                  meta.dim() == 0 ? 1 : meta.strides[0]};
  task.floating = is_floating_point(meta.dtype);
  task.start = start.to_double();
  task.step = step.to_double();
  task.first = start.to_int();
  task.by = step.to_int();
  launch_arange(task);
}

void cuda_cat(const KernelArgs& args) {
  const BufferView& out = args.out[0];
  const int axis = static_cast<int>(args.attrs.a);
  i64 start = 0;
  for (int i = 0; i < args.n_in; ++i) {
    const i64 length = args.in[i].meta->sizes[axis];
    const Meta part = narrowed(*out.meta, axis, length, 1);
    copy_on_device({at_element(out, start * out.meta->strides[axis]), &part}, args.in[i]);
    start += length;
  }
}

void cuda_flip(const KernelArgs& args) {
  // The source read backwards: from the last element of each axis, with its stride negated.
  Meta reversed = *args.in[0].meta;
  i64 last = 0;
  if (reversed.numel() == 0) return;
  for (i64 d : args.attrs.dims) {
    const int axis = static_cast<int>(d);
    last += (reversed.sizes[axis] - 1) * reversed.strides[axis];
    reversed.strides[axis] = -reversed.strides[axis];
  }
  copy_on_device(args.out[0], {at_element(args.in[0], last), &reversed});
}

void cuda_slice_backward(const KernelArgs& args) {
  const BufferView& out = args.out[0];
  fill_on_device(out, 0);
  const int axis = static_cast<int>(args.attrs.a);
  const Meta part = narrowed(*out.meta, axis, args.in[0].meta->sizes[axis], args.attrs.b);
  const i64 start = args.attrs.s[0].to_int();
  if (part.numel() != 0) {
    copy_on_device({at_element(out, start * out.meta->strides[axis]), &part}, args.in[0]);
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
