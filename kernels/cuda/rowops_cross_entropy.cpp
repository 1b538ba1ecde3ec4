// Cross entropy of logits [rows, classes] against class numbers, and its gradient.
#include <ingot/kernels/cuda/axis_order.h>
#include <ingot/kernels/cuda/fault.h>
#include <ingot/kernels/cuda/reduce.h>
#include <ingot/kernels/cuda/row_operands.h>
#include <ingot/kernels/cuda/row_shape.h>
#include <ingot/kernels/cuda/rowops.h>
#include <ingot/kernels/ops/structured/composites.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

using structured::Reduction;

std::size_t bytes_of(i64 n, DType dtype) { return static_cast<std::size_t>(n * item_size(dtype)); }

// What both directions have in common.
struct Problem {
  RowAxes axes;
  DType storage, compute;
  RowInput x;
  DenseCopy target;
  RowParameters weight;

  Problem(const KernelArgs& args, int logits, int weight_operand)
      : axes(args.in[logits].meta->sizes, 1, 1),
        storage(args.in[logits].meta->dtype),
        compute(compute_type(storage)),
        x(args.in[logits], axes),
        target(args.in[logits + 1], DType::i64),
        weight(args, weight_operand, storage) {}

  CrossEntropyTask task(const KernelArgs& args, const RowResult* out) const {
    CrossEntropyTask t;
    set_rows(t, axes, storage, &x, nullptr, out);
    t.vectors = t.vectors && weight.has_vectors();
    t.target = static_cast<const i64*>(target.data());
    t.ignored = args.attrs.b;
    t.weight = weight.data();
    t.smoothing = args.attrs.n_scalars > 0 ? args.attrs.s[0].to_double() : 0;
    t.fault = cuda::fault_site(args.op.name, 0, "classes");
    return t;
  }
};

}  // namespace

void cuda_cross_entropy(const KernelArgs& args) {
  const Problem p(args, 0, 2);
  const auto reduction = static_cast<Reduction>(args.attrs.a);
  const BufferView &out = args.out[0], &total_weight = args.out[2];
  const i64 rows = p.axes.rows;
  const DeviceScratch losses(bytes_of(rows, p.compute)), weights(bytes_of(rows, p.compute));
  CrossEntropyTask task = p.task(args, nullptr);
  task.loss = losses.data();
  task.target_weight = weights.data();
  task.logsumexp = args.out[1].data;
  const int lanes = row_shape(p.axes.n, vector_width(item_size(p.storage))).lanes;
  task.at_once = rows > 0 && fits_one_block(rows, lanes, vector_width(item_size(p.compute)));
  if (task.at_once) {
    task.weight_total = total_weight.data;
    task.loss_total = reduction == Reduction::none ? nullptr : out.data;
    task.total_dtype = static_cast<int>(out.meta->dtype);
    task.mean = reduction == Reduction::mean;
  }
  launch_cross_entropy(task);
  if (task.loss_total != nullptr) return;

  if (!task.at_once) sum_on_device(weights.data(), p.compute, rows, total_weight.data, p.compute);
  if (reduction == Reduction::none) {
    Meta meta = *out.meta;
    meta.dtype = p.compute;
    return copy_on_device(out, {losses.data(), &meta});
  }
  sum_on_device(losses.data(), p.compute, rows, out.data, out.meta->dtype,
                reduction == Reduction::mean ? total_weight.data : nullptr);
}

void cuda_cross_entropy_backward(const KernelArgs& args) {
  const Problem p(args, 1, 3);
  if (p.axes.rows * p.axes.n == 0) return;
  const auto reduction = static_cast<Reduction>(args.attrs.a);
  const DenseCopy dy(args.in[0], p.compute), logsumexp(args.in[4], p.compute);
  const DenseCopy total_weight(args.in[5], p.compute);
  const DeviceScratch weight_sum(bytes_of(1, p.compute));
  const RowResult out(args.out[0], p.axes);
  CrossEntropyTask task = p.task(args, &out);
  if (task.weight != nullptr) {
    sum_on_device(task.weight, p.storage, p.axes.n, weight_sum.data(), p.compute);
    task.weight_sum = weight_sum.data();
  }
  task.dy = dy.data();
  task.dy_each = reduction == Reduction::none;
  task.divisor = reduction == Reduction::mean ? total_weight.data() : nullptr;
  task.logsumexp = const_cast<void*>(logsumexp.data());
  launch_cross_entropy_backward(task);
  out.finish();
}

}  // namespace INGOT_ISA
}  // namespace ingot
