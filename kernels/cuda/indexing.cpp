#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/indexing.h>
#include <ingot/kernels/cuda/indexing_access.h>
#include <ingot/kernels/ops/structured/indexing.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// x's slices in place of `n` axes from `axis` on, where the index tensors' axes stand: the shape
// that index and its like read or write. `plain` has that shape (strides for it are given).
IndexAccess slices_access(const Meta& x, int axis, int n, const Meta& index, const Dims& plain) {
  IndexAccess access;
  access.plain = plain;
  access.position_axis = axis;
  access.position_dims = index.dim();
  const auto add_axis = [&](i64 size, i64 x_stride, i64 index_stride) {
    access.sizes.push_back(size);
    access.x.push_back(x_stride);
    access.index.push_back(index_stride);
  };
  for (int d = 0; d < axis; ++d) add_axis(x.sizes[d], x.strides[d], 0);
  for (int d = 0; d < index.dim(); ++d) add_axis(index.sizes[d], 0, index.strides[d]);
  for (int d = axis + n; d < x.dim(); ++d) add_axis(x.sizes[d], x.strides[d], 0);
  return access;
}

// The same where the positions are one axis, also for an index without dims.
IndexAccess axis_access(const Meta& x, int axis, const Meta& index, const Meta& plain) {
  Meta flat = index;
  if (index.dim() == 0) {
    flat.sizes = {1};
    flat.strides = {0};
  }
  return slices_access(x, axis, 1, flat, plain.strides);
}

// Along one axis, an index for every element of the plain tensor.
IndexAccess elements_access(const Meta& x, int axis, const Meta& index, const Meta& plain) {
  IndexAccess access{index.sizes, plain.strides, x.strides, index.strides};
  if (x.dim() > 0) {
    access.x[axis] = 0;
    access.position_axis = axis;
    access.position_dims = 1;
  }
  return access;
}

int indexed_axis(const KernelArgs& args) { return static_cast<int>(args.attrs.a); }

// For index and index_put_, whose negative indices count from the end.
IndexedAxes from_end(const OpInfo& op, int axis) {
  return {.op = op.name, .axis = axis, .from_end = true};
}

}  // namespace

void cuda_index_select(const KernelArgs& args) {
  const int axis = indexed_axis(args);
  const IndexOperands index(&args.in[1], 1, nullptr);
  take({args.op.name, axis}, axis_access(*args.in[0].meta, axis, index.meta(), *args.out[0].meta),
       args.out[0], args.in[0], index);
}

void cuda_index_add(const KernelArgs& args) {
  const BufferView& out = args.out[0];
  const int axis = indexed_axis(args);
  IndexOperands index(&args.in[1], 1, nullptr);
  if (args.in[0].data != out.data) copy_on_device(out, args.in[0]);
  put({args.op.name, axis}, axis_access(*out.meta, axis, index.meta(), *args.in[2].meta), out,
      args.in[2], index, true);
}

void cuda_embedding(const KernelArgs& args) {
  const BufferView &weight = args.in[0], &out = args.out[0];
  const IndexOperands index(&args.in[1], 1, nullptr);
  const bool classes = args.op == structured_op<structured::OneHot>;
  take({args.op.name, 0, classes ? "classes" : "rows"},
       slices_access(*weight.meta, 0, 1, index.meta(), out.meta->strides), out, weight, index);
}

void cuda_embedding_backward(const KernelArgs& args) {
  const BufferView &dy = args.in[0], &out = args.out[0];
  IndexOperands index(&args.in[1], 1, nullptr);
  fill_on_device(out, 0);
  put({args.op.name, 0, "rows"}, slices_access(*out.meta, 0, 1, index.meta(), dy.meta->strides),
      out, dy, index, true);
}

void cuda_index(const KernelArgs& args) {
  const BufferView &x = args.in[0], &out = args.out[0];
  const int axis = static_cast<int>(args.attrs.dims[0]), n = args.attrs.dims.size();
  const IndexOperands indices(args.in + 1, n, nullptr);
  take(from_end(args.op, axis), slices_access(*x.meta, axis, n, indices.meta(), out.meta->strides),
       out, x, indices);
}

void cuda_index_put(const KernelArgs& args) {
  const BufferView& x = args.out[0];
  const int axis = static_cast<int>(args.attrs.dims[0]), n = args.attrs.dims.size();
  IndexOperands indices(args.in + 2, n, &x);
  const auto copy =
      may_overlap(x, args.in[1]) ? DenseCopy::Copy::always : DenseCopy::Copy::if_needed;
  std::optional<DenseCopy> copied;
  if (copy == DenseCopy::Copy::always) copied.emplace(args.in[1], args.in[1].meta->dtype, copy);
  const BufferView& values = copied ? copied->view() : args.in[1];
  IndexAccess access = slices_access(*x.meta, axis, n, indices.meta(), {});
  access.plain = broadcast_strides(*values.meta, access.sizes);
  put(from_end(args.op, axis), access, x, values, indices, args.attrs.a != 0);
}

void cuda_gather(const KernelArgs& args) {
  const BufferView &x = args.in[0], &out = args.out[0];
  const int axis = indexed_axis(args);
  const IndexOperands index(&args.in[1], 1, nullptr);
  take({args.op.name, axis}, elements_access(*x.meta, axis, index.meta(), *out.meta), out, x,
       index);
}

void cuda_scatter_add(const KernelArgs& args) {
  const BufferView &out = args.out[0], &source = args.in[2];
  const int axis = indexed_axis(args);
  IndexOperands index(&args.in[1], 1, nullptr);
  if (args.in[0].data != out.data) copy_on_device(out, args.in[0]);
  put({args.op.name, axis}, elements_access(*out.meta, axis, index.meta(), *source.meta), out,
      source, index, true);
}

}  // namespace INGOT_ISA
}  // namespace ingot
