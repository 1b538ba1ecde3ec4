#include <ingot/kernels/cpu/data.h>
#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cpu/iterate.h>
#include <ingot/kernels/cpu/loops.h>

namespace ingot {

namespace {

char* at_element(const BufferView& view, i64 element) {
  return static_cast<char*>(view.data) + element * item_size(view.meta->dtype);
}

// The part of `whole` that starts at `start` along `axis` and has `length` elements, `step` apart.
Meta narrowed(const Meta& whole, int axis, i64 length, i64 step) {
  Meta part = whole;
  part.sizes[axis] = length;
  part.strides[axis] *= step;
  return part;
}

}  // namespace

void cpu_clone(const KernelArgs& args) { copy_elements(args.out[0], args.in[0]); }

void cpu_copy(const KernelArgs& args) { copy_overlapping(args.out[0], args.in[1]); }

void cpu_full(const KernelArgs& args) {
  alignas(8) char value[8];
  store_scalar(args.attrs.s[0], args.out[0].meta->dtype, value);
  fill_elements(args.out[0], value);
}

void cpu_arange(const KernelArgs& args) {
  constexpr i64 kTile = 512;
  const BufferView& out = args.out[0];
  const Meta& meta = *out.meta;
  const Scalar start = args.attrs.s[0], step = args.attrs.s[1];
  const bool floating = is_floating_point(meta.dtype);
  const CopyLoops& copy = *loops().copy;
  const auto cast =
      copy.cast[static_cast<int>(floating ? DType::f64 : DType::i64)][static_cast<int>(meta.dtype)];
  const int item = item_size(meta.dtype);
  const i64 out_step = meta.dim() == 0 ? 1 : meta.strides[0];

  parallel_for(meta.numel(), kParallelGrain, [&](i64 begin, i64 end) {
    double reals[kTile];
    std::uint64_t wholes[kTile];
    char done[kTile * 8];
    for (i64 first = begin; first < end; first += kTile) {
      const i64 n = end - first < kTile ? end - first : kTile;
      if (floating) {
        const double a = start.to_double(), d = step.to_double();
        for (i64 i = 0; i < n; ++i) reals[i] = a + static_cast<double>(first + i) * d;
        cast(n, done, reals);
      } else {
        const auto a = static_cast<std::uint64_t>(start.to_int());
        const auto d = static_cast<std::uint64_t>(step.to_int());
        for (i64 i = 0; i < n; ++i) wholes[i] = a + static_cast<std::uint64_t>(first + i) * d;
        cast(n, done, wholes);
      }
      copy.move[item_log2(item)](n, at_element(out, first * out_step), out_step, done, 1);
    }
  });
}

void cpu_cat(const KernelArgs& args) {
  const BufferView& out = args.out[0];
  const int axis = static_cast<int>(args.attrs.a);
  i64 start = 0;
  for (int i = 0; i < args.n_in; ++i) {
    const i64 length = args.in[i].meta->sizes[axis];
    const Meta part = narrowed(*out.meta, axis, length, 1);
    copy_elements({at_element(out, start * out.meta->strides[axis]), &part}, args.in[i]);
    start += length;
  }
}

void cpu_flip(const KernelArgs& args) {
  // The source read backwards: from the last element of each axis, with its stride negated.
  Meta reversed = *args.in[0].meta;
  i64 last = 0;
  if (reversed.numel() == 0) return;
  for (i64 d : args.attrs.dims) {
    const int axis = static_cast<int>(d);
    last += (reversed.sizes[axis] - 1) * reversed.strides[axis];
    reversed.strides[axis] = -reversed.strides[axis];
  }
  copy_elements(args.out[0], {at_element(args.in[0], last), &reversed});
}

void cpu_slice_backward(const KernelArgs& args) {
  const BufferView& out = args.out[0];
  const i64 zero = 0;
  fill_elements(out, &zero);
  const int axis = static_cast<int>(args.attrs.a);
  const Meta part = narrowed(*out.meta, axis, args.in[0].meta->sizes[axis], args.attrs.b);
  const i64 start = args.attrs.s[0].to_int();
  if (part.numel() != 0) {
    copy_elements({at_element(out, start * out.meta->strides[axis]), &part}, args.in[0]);
  }
}

}  // namespace ingot
