// softmax and its kin, layer_norm: along one axis or the last ones.
#include <ingot/kernels/cuda/axis_order.h>
#include <ingot/kernels/cuda/column_shape.h>
#include <ingot/kernels/cuda/reduce.h>
#include <ingot/kernels/cuda/row_operands.h>
#include <ingot/kernels/cuda/rowops.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

void run_along_axis(const KernelArgs& args, void (*formula)(const RowTask&)) {
  const Meta& x = *args.in[0].meta;
  if (x.numel() == 0) return;
  const RowAxes axes(x.sizes, static_cast<int>(args.attrs.a), x.dim() == 0 ? 0 : 1);
  const RowInput in(args.in[0], axes);
  std::optional<RowInput> second;
  if (args.n_in == 2) second.emplace(args.in[1], axes);
  const RowResult out(args.out[0], axes);
  RowTask task;
  set_rows(task, axes, x.dtype, &in, second ? &*second : nullptr, &out);
  formula(task);
  out.finish();
}

RowAxes trailing_axes(const KernelArgs& args, const Meta& x) {
  const int count = static_cast<int>(args.attrs.c);
  return {x.sizes, x.dim() - count, count};
}

}  // namespace

void cuda_softmax(const KernelArgs& args) { run_along_axis(args, launch_softmax); }
void cuda_log_softmax(const KernelArgs& args) { run_along_axis(args, launch_log_softmax); }
void cuda_softmax_backward(const KernelArgs& args) {
  run_along_axis(args, launch_softmax_backward);
}
void cuda_log_softmax_backward(const KernelArgs& args) {
  run_along_axis(args, launch_log_softmax_backward);
}

void cuda_logsumexp(const KernelArgs& args) {
  const Meta& x = *args.in[0].meta;
  const int axis = args.attrs.dims.empty() ? 0 : static_cast<int>(args.attrs.dims[0]);
  const RowAxes axes(x.sizes, axis, x.dim() == 0 ? 0 : 1);
  const RowInput in(args.in[0], axes);
  RowValueTask task;
  set_rows(task, axes, x.dtype, &in, nullptr, nullptr);
  task.result = args.out[0].data;
  task.result_dtype = static_cast<int>(args.out[0].meta->dtype);
  launch_logsumexp(task);
}

void cuda_layer_norm(const KernelArgs& args) {
  const Meta& x = *args.in[0].meta;
  const RowAxes axes = trailing_axes(args, x);
  const RowInput in(args.in[0], axes);
  const RowParameters weight(args, 1, x.dtype), bias(args, 2, x.dtype);
  const RowResult out(args.out[0], axes);
  LayerNormTask task;
  set_rows(task, axes, x.dtype, &in, nullptr, &out);
  task.vectors = task.vectors && weight.has_vectors() && bias.has_vectors();
  task.weight = weight.data();
  task.bias = bias.data();
  task.eps = args.attrs.s[0].to_double();
  task.mean = args.out[1].data;
  task.rstd = args.out[2].data;
  launch_layer_norm(task);
  out.finish();
}

void cuda_layer_norm_backward(const KernelArgs& args) {
  const Meta& x = *args.in[1].meta;
  if (x.numel() == 0) return;
  const RowAxes axes = trailing_axes(args, x);
  const RowInput dy(args.in[0], axes), in(args.in[1], axes);
  const DType compute = compute_type(x.dtype);
  const DenseCopy mean(args.in[2], compute), rstd(args.in[3], compute);
  const RowParameters weight(args, 4, x.dtype);
  const RowResult out(args.out[0], axes);
  LayerNormTask task;
  set_rows(task, axes, x.dtype, &dy, &in, &out);
  task.vectors = task.vectors && weight.has_vectors();
  task.weight = weight.data();
  task.mean = const_cast<void*>(mean.data());
  task.rstd = const_cast<void*>(rstd.data());
  launch_layer_norm_backward(task);
  out.finish();
}

void cuda_layer_norm_backward_params(const KernelArgs& args) {
  const Meta& x = *args.in[1].meta;
  const RowAxes axes = trailing_axes(args, x);
  if (axes.n == 0) return;
  const DType compute = compute_type(x.dtype);
  const DenseCopy dy(args.in[0], x.dtype), in(args.in[1], x.dtype);
  const DenseCopy mean(args.in[2], compute), rstd(args.in[3], compute);
  NormParametersTask task;
  task.dy = dy.data();
  task.x = in.data();
  task.mean = mean.data();
  task.rstd = rstd.data();
  task.storage = static_cast<int>(x.dtype);
  const RowPlaces places{0, 0, axes.n};
  task.vectors = has_vectors(task.dy, places, x.dtype) && has_vectors(task.x, places, x.dtype);
  task.rows = axes.rows;
  task.cols = axes.n;
  const ColumnPieces cut = column_pieces(task.rows, task.cols, 1, 16 / item_size(x.dtype));
  task.pieces = cut.count;
  task.piece = cut.rows;
  task.out_dtype = static_cast<int>(x.dtype);
  task.weight = args.out[0].data;
  task.bias = args.out[1].data;
  if (cut.count == 1) return launch_norm_parameters(task);

  const i64 item = item_size(compute);
  const DeviceScratch partial(static_cast<std::size_t>(cut.count * 2 * task.cols * item));
  task.out_dtype = static_cast<int>(compute);
  task.weight = partial.data();
  task.bias = partial.data<char>() + task.cols * item;
  launch_norm_parameters(task);
  for (int k = 0; k < 2; ++k) {
    ReduceTask sum;
    sum.in = k == 0 ? task.weight : task.bias;
    sum.storage = static_cast<int>(compute);
    sum.n = cut.count;
    sum.groups = 1;
    sum.cols = task.cols;
    sum.step = 2 * task.cols;
    sum.out = args.out[k].data;
    sum.out_dtype = static_cast<int>(x.dtype);
    reduce_on_device(CudaReduce::sum, ReduceAlong::columns, sum, compute);
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
