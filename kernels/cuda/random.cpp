#include <ingot/kernels/cpu/data_random.h>
#include <ingot/kernels/cpu/iterate.h>
#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/random.h>
#include <ingot/kernels/cuda/random_task.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// Calls generate(fill) on the result, or on scratch memory that is copied to it where its elements
// do not lie in their logical order.
template <class F>
void fill_with(const KernelArgs& args, const F& generate) {
  const BufferView& out = args.out[0];
  RandomFill fill{out.data,
                  static_cast<int>(out.meta->dtype),
                  out.meta->numel(),
                  {args.ticket.seed, args.ticket.offset}};
  if (is_contiguous(*out.meta)) return generate(fill);
  Meta dense = *out.meta;
  dense.strides = contiguous_strides(dense.sizes);
  const DeviceScratch drawn(static_cast<std::size_t>(fill.n * item_size(dense.dtype)));
  fill.out = drawn.data();
  generate(fill);
  copy_on_device(out, {drawn.data(), &dense});
}

}  // namespace

void cuda_uniform(const KernelArgs& args) {
  const UniformDraw draw = uniform_draw(args);
  fill_with(args,
            [&](const RandomFill& fill) { launch_uniform(fill, draw.low, draw.width, draw.last); });
}

void cuda_normal(const KernelArgs& args) {
  const NormalDraw draw = normal_draw(args);
  fill_with(args, [&](const RandomFill& fill) { launch_normal(fill, draw.mean, draw.deviation); });
}

void cuda_randint(const KernelArgs& args) {
  const IntegerDraw draw = integer_draw(args);
  fill_with(args, [&](const RandomFill& fill) {
    launch_integers(fill, draw.low, draw.width, draw.wide);
  });
}

void cuda_dropout(const KernelArgs& args) {
  const BufferView &x = args.in[0], &y = args.out[0], &mask = args.out[1];
  Nest nest(y.meta->sizes);
  const int item = item_size(y.meta->dtype);
  nest.add(y.data, y.meta->strides, item);
  nest.add(mask.data, mask.meta->strides, 1);
  nest.add(x.data, x.meta->strides, item);
  nest.merge();
  DropoutTask task{};
  task.y = y.data;
  task.mask = mask.data;
  task.x = x.data;
  task.dtype = static_cast<int>(y.meta->dtype);
  task.n = nest.numel();
  task.dim = nest.dim();
  task.dense = task.dim == 0;
  for (int d = 0; d < task.dim; ++d) {
    task.sizes[d] = nest.size(d);
    for (int k = 0; k < 3; ++k) task.strides[d][k] = nest.stride(d, k);
  }
  if (task.dim == 1) {
    task.dense = nest.stride(0, 0) == 1 && nest.stride(0, 1) == 1 && nest.stride(0, 2) == 1;
  }
  task.stream = {args.ticket.seed, args.ticket.offset};
  task.threshold = dropout_threshold(args.attrs.s[0].to_double());
  task.scale = args.attrs.s[1].to_double();
  launch_dropout(task);
}

}  // namespace INGOT_ISA
}  // namespace ingot
