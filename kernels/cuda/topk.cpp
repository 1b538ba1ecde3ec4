#include <ingot/kernels/cuda/row_operands.h>
#include <ingot/kernels/cuda/topk.h>

namespace ingot {
inline namespace INGOT_ISA {

void cuda_topk(const KernelArgs& args) {
  const Meta& x = *args.in[0].meta;
  const auto axis = static_cast<int>(args.attrs.a);
  const int count = x.dim() == 0 ? 0 : 1;
  const i64 k = args.attrs.b;
  if (k == 0 || x.numel() == 0) return;
  const RowAxes axes(x.sizes, axis, count), chosen(args.out[0].meta->sizes, axis, count);
  const RowInput in(args.in[0], axes);
  const RowResult values(args.out[0], chosen), places(args.out[1], chosen);
  const DeviceScratch keys(static_cast<std::size_t>(axes.rows * axes.n) * sizeof(i64));
  TopkTask task;
  task.rows = axes.rows;
  task.n = axes.n;
  task.k = k;
  task.x = in.operand();
  task.dtype = static_cast<int>(x.dtype);
  task.item = item_size(x.dtype);
  task.largest = args.attrs.c != 0;
  task.keys = keys.data<i64>();
  task.values = values.operand().data;
  task.places = static_cast<i64*>(places.operand().data);
  launch_topk(task);
  values.finish();
  places.finish();
}

}  // namespace INGOT_ISA
}  // namespace ingot
