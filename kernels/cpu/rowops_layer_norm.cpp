// layer_norm over trailing axes and its gradients.
#include <algorithm>
#include <cstring>

#include <ingot/kernels/cpu/reduce.h>
#include <ingot/kernels/cpu/reduce_plan.h>
#include <ingot/kernels/cpu/reduce_scratch.h>
#include <ingot/kernels/cpu/rowops.h>
#include <ingot/kernels/cpu/rowops_rows.h>

namespace ingot {
namespace {

BufferView operand_at(const KernelArgs& args, int i) {
  return i < args.n_in ? args.in[i] : BufferView{nullptr, nullptr};
}

RowJob job_of(const KernelArgs& args, const Meta& x) {
  const int trailing = static_cast<int>(args.attrs.c);
  return RowJob(x.sizes, x.dim() - trailing, trailing, compute_type(x.dtype));
}

Meta dense_meta(DType dtype, const Dims& sizes) {
  Meta m;
  m.dtype = dtype;
  m.sizes = sizes;
  m.strides = contiguous_strides(sizes);
  return m;
}

}  // namespace

void cpu_layer_norm(const KernelArgs& args) {
  const Meta& x = *args.in[0].meta;
  const DType compute = compute_type(x.dtype);
  const RowLoops& formulas = row_loops(compute);
  const DenseOperand weight(operand_at(args, 1), compute), bias(operand_at(args, 2), compute);
  const double eps = args.attrs.s[0].to_double();
  char* const mean = static_cast<char*>(args.out[1].data);
  char* const rstd = static_cast<char*>(args.out[2].data);
  const i64 item = item_size(compute);
  RowJob job = job_of(args, x);
  job.add_input(args.in[0]);
  job.set_output(args.out[0]);
  const i64 n = job.length();
  job.run([&](i64 row, const void* const* in, void* out) {
    formulas.layer_norm(n, in[0], weight.data(), bias.data(), eps, out, mean + row * item,
                        rstd + row * item);
  });
}

void cpu_layer_norm_backward(const KernelArgs& args) {
  const Meta& x = *args.in[1].meta;
  const DType compute = compute_type(x.dtype);
  const RowLoops& formulas = row_loops(compute);
  const DenseOperand mean(args.in[2], compute), rstd(args.in[3], compute);
  const DenseOperand weight(operand_at(args, 4), compute);
  RowJob job = job_of(args, x);
  job.add_input(args.in[0]);
  job.add_input(args.in[1]);
  job.set_output(args.out[0]);
  const i64 n = job.length();
  job.run([&](i64 row, const void* const* in, void* out) {
    formulas.layer_norm_backward(n, in[0], in[1], weight.data(), mean.at(row), rstd.at(row), out);
  });
}

void cpu_layer_norm_backward_params(const KernelArgs& args) {
  const Meta& x = *args.in[1].meta;
  const DType compute = compute_type(x.dtype);
  const i64 item = item_size(compute);
  const int lead = x.dim() - static_cast<int>(args.attrs.c);
  i64 rows = 1, width = 1;
  for (int d = 0; d < x.dim(); ++d) (d < lead ? rows : width) *= x.sizes[d];
  if (width == 0) return;

  // Both operands as dense [rows, width]: their own memory, but for views and 16-bit types.
  const DenseOperand dy(args.in[0], compute), from(args.in[1], compute);
  const DenseOperand mean(args.in[2], compute), rstd(args.in[3], compute);
  const Meta table = dense_meta(compute, {rows, width});
  const BufferView dy_view{const_cast<void*>(dy.data()), &table};
  sum_over(dy_view, {0}, args.out[1]);

  const RowLoops& formulas = row_loops(compute);
  const ReduceLoops::Kind& sum = reduce_loops(compute).kind[static_cast<int>(ReduceKind::sum)];
  const i64 blocks = std::max<i64>(1, (rows + kTreeBlock - 1) / kTreeBlock);
  const Scratch partials(blocks * width * item);
  for_column_tiles(
      blocks, width, std::min(rows, kTreeBlock), item, [&](i64 block, i64 first, i64 end) {
        const i64 cols = end - first, begin = block * kTreeBlock;
        const i64 at = rows == 0 ? 0 : begin * width + first;  // no rows, no address
        const Scratch lanes(kTreeLanes * cols * item);
        const i64 block_rows = std::min(kTreeBlock, rows - begin);
        sum.start(block_rows, cols, lanes.data());
        formulas.weight_terms(0, block_rows, cols, dy.at(at), width, from.at(at), width,
                              mean.at(begin), rstd.at(begin), lanes.data());
        sum.fold(block_rows, cols, lanes.data(), partials.data() + (block * width + first) * item);
      });
  const Meta upper = dense_meta(compute, {blocks, width});
  sum_over({partials.data(), &upper}, {0}, args.out[0]);
}

}  // namespace ingot
