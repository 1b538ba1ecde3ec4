#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cpu/indexing.h>
#include <ingot/kernels/cpu/indexing_rows.h>
#include <ingot/kernels/cpu/iterate.h>
#include <ingot/kernels/cpu/loops.h>
#include <ingot/kernels/ops/structured/indexing.h>

namespace ingot {

namespace {

void fill_zero(const BufferView& out) {
  const i64 zero = 0;
  fill_elements(out, &zero);
}

// Runs sum(target, source) with target holding `start` and ends with it in `out`. Floats of 16 bits
// add up in f32 and are rounded once, at the end.
template <class F>
void accumulate(const BufferView& out, const BufferView& start, const BufferView& source, F&& sum) {
  const DType dtype = out.meta->dtype, compute = compute_type(dtype);
  if (dtype == compute) {
    if (start.data != out.data) copy_elements(out, start);
    return sum(out, source);
  }
  const Contiguous target(start, compute, start.meta->sizes, Contiguous::Copy::always);
  const Contiguous wide(source, compute, source.meta->sizes);
  sum(target.view(), wide.view());
  copy_elements(out, target.view());
}

int indexed_axis(const KernelArgs& args) { return static_cast<int>(args.attrs.a); }

// For index and index_put_, whose negative indices count from the end.
IndexedAxis from_end(const OpInfo& op, int axis) {
  return {.op = op.name, .axis = axis, .size = 0, .from_end = true};
}

// The target shape of index and index_put_: x's with the index shape in place of the indexed axes.
Dims indexed_sizes(const Meta& x, int axis, int n, const Dims& index) {
  Dims sizes;
  for (int d = 0; d < axis; ++d) sizes.push_back(x.sizes[d]);
  for (i64 s : index) sizes.push_back(s);
  for (int d = axis + n; d < x.dim(); ++d) sizes.push_back(x.sizes[d]);
  return sizes;
}

}  // namespace

void cpu_index_select(const KernelArgs& args) {
  const int axis = indexed_axis(args);
  const Meta& x = *args.in[0].meta;
  const Offsets offsets({args.op.name, axis, 0}, x, &args.in[1], 1);
  take_slices(Slices(args.out[0], axis, 1), Slices(args.in[0], axis, 1), x.dtype, offsets);
}

void cpu_index_add(const KernelArgs& args) {
  const int axis = indexed_axis(args);
  const IndexedAxis indexed{args.op.name, axis, args.out[0].meta->sizes[axis]};
  check_indices(indexed, args.in[1]);
  accumulate(args.out[0], args.in[0], args.in[2],
             [&](const BufferView& target, const BufferView& source) {
               const Offsets offsets(indexed, *target.meta, &args.in[1], 1);
               put_slices(Slices(target, axis, 1), target.meta->dtype, offsets,
                          Slices(source, axis, 1), Put::add);
             });
}

void cpu_embedding(const KernelArgs& args) {
  const BufferView &weight = args.in[0], &index = args.in[1], &out = args.out[0];
  INGOT_BUG(is_contiguous(*out.meta), "embedding: the result must be row-major");
  const bool classes = args.op == structured_op<structured::OneHot>;
  const Offsets offsets({args.op.name, 0, 0, classes ? "classes" : "rows"}, *weight.meta, &index,
                        1);
  Slices rows(out, 0, index.meta->dim());
  rows.step = weight.meta->sizes[1];
  take_slices(rows, Slices(weight, 0, 1), weight.meta->dtype, offsets);
}

void cpu_embedding_backward(const KernelArgs& args) {
  const BufferView &index = args.in[1], &out = args.out[0];
  const IndexedAxis indexed{args.op.name, 0, out.meta->sizes[0], "rows"};
  check_indices(indexed, index);
  fill_zero(out);
  accumulate(out, out, args.in[0], [&](const BufferView& target, const BufferView& source) {
    const Contiguous dy(source);
    const Offsets offsets(indexed, *target.meta, &index, 1);
    Slices rows(dy.view(), 0, index.meta->dim());
    rows.step = out.meta->sizes[1];
    put_slices(Slices(target, 0, 1), target.meta->dtype, offsets, rows, Put::add);
  });
}

void cpu_index(const KernelArgs& args) {
  const BufferView &x = args.in[0], &out = args.out[0];
  INGOT_BUG(is_contiguous(*out.meta), "index: the result must be row-major");
  const int axis = static_cast<int>(args.attrs.dims[0]), n = args.attrs.dims.size();
  const Offsets offsets(from_end(args.op, axis), *x.meta, args.in + 1, n);
  Slices slices(out, axis, args.in[1].meta->dim());
  slices.step = 1;
  for (int d = axis + n; d < x.meta->dim(); ++d) slices.step *= x.meta->sizes[d];
  take_slices(slices, Slices(x, axis, n), x.meta->dtype, offsets);
}

void cpu_index_put(const KernelArgs& args) {
  const BufferView &x = args.out[0], &values = args.in[1], *indices = args.in + 2;
  const int axis = static_cast<int>(args.attrs.dims[0]), n = args.attrs.dims.size();
  const IndexedAxis first = from_end(args.op, axis);
  const Dims& index_sizes = indices[0].meta->sizes;
  const Dims target = indexed_sizes(*x.meta, axis, n, index_sizes);
  const auto copy = may_overlap(x, values) ? Contiguous::Copy::always : Contiguous::Copy::if_needed;
  const auto put = [&](const BufferView& into, Put how) {
    const Offsets offsets(first, *into.meta, indices, n);
    const Contiguous source(values, into.meta->dtype, target, copy);
    Slices slices(source.view(), axis, index_sizes.size());
    slices.step = 1;
    for (int d = axis + index_sizes.size(); d < target.size(); ++d) slices.step *= target[d];
    put_slices(Slices(into, axis, n), into.meta->dtype, offsets, slices, how);
  };
  if (args.attrs.a == 0) return put(x, Put::overwrite);
  accumulate(x, x, values, [&](const BufferView& into, const BufferView&) { put(into, Put::add); });
}

void cpu_gather(const KernelArgs& args) {
  const BufferView &x = args.in[0], &index = args.in[1], &out = args.out[0];
  const int axis = indexed_axis(args), item = item_size(x.meta->dtype);
  if (index.meta->numel() == 0) return;
  const bool scalar = x.meta->dim() == 0;  // a 0-d tensor has one element at index 0
  const i64 size = scalar ? 1 : x.meta->sizes[axis], stride = scalar ? 0 : x.meta->strides[axis];
  check_indices({args.op.name, axis, size}, index);
  Dims rest = x.meta->strides;
  if (!scalar) rest[axis] = 0;
  Nest nest(index.meta->sizes);
  nest.add(out.data, out.meta->strides, item);
  nest.add(index.data, index.meta->strides, 8);
  nest.add(x.data, rest, item);
  nest.collapse();
  const i64* strides = nest.run_strides();
  const auto gather = loops().index->gather[item_log2(item)];
  nest.for_each_run([&](i64 n, char* const* at) {
    gather(n, at[0], strides[0], at[2],
           {reinterpret_cast<const i64*>(at[1]), strides[1], stride, strides[2]});
  });
}

void cpu_scatter_add(const KernelArgs& args) {
  const BufferView &index = args.in[1], &out = args.out[0];
  const int axis = indexed_axis(args);
  const bool scalar = out.meta->dim() == 0;
  const i64 size = scalar ? 1 : out.meta->sizes[axis];
  check_indices({args.op.name, axis, size}, index);
  accumulate(out, args.in[0], args.in[2], [&](const BufferView& target, const BufferView& source) {
    const Meta& m = *target.meta;
    const int item = item_size(m.dtype);
    const i64 stride = scalar ? 0 : m.strides[axis];
    Dims rest = m.strides;
    if (!scalar) rest[axis] = 0;
    if (index.meta->numel() == 0) return;
    // The source leads the order of axes: the target stands still along the indexed one.
    Nest nest(index.meta->sizes);
    nest.add(source.data, source.meta->strides, item);
    nest.add(target.data, rest, item);
    nest.add(index.data, index.meta->strides, 8);
    nest.collapse();
    const i64* strides = nest.run_strides();
    const auto scatter_add = loops().index->scatter_add[static_cast<int>(m.dtype)];
    // Threads share the longest axis along which the target moves: equal targets stay with one
    // thread, in order.
    int shared = -1;
    for (int d = 0; d < nest.dim(); ++d) {
      if (nest.stride(d, 1) != 0 && (shared < 0 || nest.size(d) > nest.size(shared))) shared = d;
    }
    const i64 pieces = shared < 0 ? 1 : nest.size(shared);
    const i64 grain = 1 + kParallelGrain / (nest.numel() / pieces);
    parallel_for(pieces, grain, [&](i64 begin, i64 end) {
      const Nest part = shared < 0 ? nest : nest.part(shared, begin, end);
      part.walk(0, part.numel(), [&](i64 n, char* const* at) {
        scatter_add(n, at[1], {reinterpret_cast<const i64*>(at[2]), strides[2], stride, strides[1]},
                    at[0], strides[0]);
      });
    });
  });
}

}  // namespace ingot
