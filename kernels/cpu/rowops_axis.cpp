// softmax, log_softmax, their gradients, logsumexp: along one axis.
#include <ingot/kernels/cpu/reduce_scratch.h>
#include <ingot/kernels/cpu/rowops.h>
#include <ingot/kernels/cpu/rowops_rows.h>

namespace ingot {
namespace {

void run_axis_row(const KernelArgs& args, RowLoops::AxisRow RowLoops::*formula) {
  const Meta& x = *args.in[0].meta;
  const DType compute = compute_type(x.dtype);
  const RowLoops::AxisRow row_function = row_loops(compute).*formula;
  RowJob job(x.sizes, static_cast<int>(args.attrs.a), x.dim() == 0 ? 0 : 1, compute);
  for (int i = 0; i < args.n_in; ++i) job.add_input(args.in[i]);
  job.set_output(args.out[0]);
  const i64 n = job.length();
  const bool two = args.n_in == 2;
  job.run([&](i64, const void* const* in, void* out) {
    row_function(n, in[0], two ? in[1] : nullptr, out);
  });
}

}  // namespace

void cpu_softmax(const KernelArgs& args) { run_axis_row(args, &RowLoops::softmax); }
void cpu_log_softmax(const KernelArgs& args) { run_axis_row(args, &RowLoops::log_softmax); }
void cpu_softmax_backward(const KernelArgs& args) {
  run_axis_row(args, &RowLoops::softmax_backward);
}
void cpu_log_softmax_backward(const KernelArgs& args) {
  run_axis_row(args, &RowLoops::log_softmax_backward);
}

void cpu_logsumexp(const KernelArgs& args) {
  const Meta& x = *args.in[0].meta;
  const DType compute = compute_type(x.dtype), storage = args.out[0].meta->dtype;
  const i64 item = item_size(compute);
  const RowLoops& formulas = row_loops(compute);
  const int axis = args.attrs.dims.empty() ? 0 : static_cast<int>(args.attrs.dims[0]);
  RowJob job(x.sizes, axis, x.dim() == 0 ? 0 : 1, compute);
  job.add_input(args.in[0]);
  const Scratch converted(storage == compute ? 0 : job.rows() * item);
  char* const to = storage == compute ? static_cast<char*>(args.out[0].data) : converted.data();
  const i64 n = job.length();
  job.run([&](i64 row, const void* const* in, void*) {
    formulas.logsumexp(n, in[0], to + row * item);
  });
  if (storage == compute) return;
  const auto& casts = loops().copy->cast;
  casts[static_cast<int>(compute)][static_cast<int>(storage)](job.rows(), args.out[0].data, to);
}

}  // namespace ingot
