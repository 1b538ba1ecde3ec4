// Cross entropy of logits [rows, classes] against class numbers, and its gradient.
#include <cstring>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/reduce_scratch.h>
#include <ingot/kernels/cpu/rowops.h>
#include <ingot/kernels/cpu/rowops_rows.h>
#include <ingot/kernels/ops/structured/composites.h>

namespace ingot {
namespace {

using structured::Reduction;

// What both directions need: targets checked, weights dense, the loss of which rows counts.
struct Problem {
  const Meta& logits;
  DType compute;
  i64 item, classes, ignored;
  double smoothing;
  Reduction reduction;
  DenseOperand target, weight;

  Problem(const KernelArgs& args, const BufferView& x, const BufferView& y, const BufferView& w)
      : logits(*x.meta),
        compute(compute_type(x.meta->dtype)),
        item(item_size(compute)),
        classes(x.meta->sizes[1]),
        ignored(args.attrs.b),
        smoothing(args.attrs.n_scalars > 0 ? args.attrs.s[0].to_double() : 0),
        reduction(static_cast<Reduction>(args.attrs.a)),
        target(y, DType::i64),
        weight(w, compute) {
    for (i64 row = 0; row < logits.sizes[0]; ++row) {
      const i64 t = target_of(row);
      INGOT_CHECK_AS(IndexError, t == ignored || (t >= 0 && t < classes),
                     "cross_entropy: target {} of row {} is not in [0, {})", t, row, classes);
    }
  }

  i64 target_of(i64 row) const { return static_cast<const i64*>(target.data())[row]; }
  bool counts(i64 row) const { return target_of(row) != ignored; }
  const void* weights() const { return weight.data(); }

  // The weight of a row's target in the compute dtype; 0 for an ignored row.
  void store_weight(i64 row, char* to) const {
    const double plain = counts(row) ? 1 : 0;
    if (counts(row) && weights() != nullptr) {
      std::memcpy(to, weight.at(target_of(row)), static_cast<std::size_t>(item));
    } else {
      convert(1, DType::f64, &plain, compute, to);
    }
  }

  static void convert(i64 n, DType from, const void* in, DType to, void* out) {
    loops().copy->cast[static_cast<int>(from)][static_cast<int>(to)](n, out, in);
  }
};

BufferView operand(const KernelArgs& args, int i) {
  return i < args.n_in ? args.in[i] : BufferView{nullptr, nullptr};
}

}  // namespace

void cpu_cross_entropy(const KernelArgs& args) {
  const Problem p(args, args.in[0], args.in[1], operand(args, 2));
  const RowLoops& formulas = row_loops(p.compute);
  const i64 rows = p.logits.sizes[0], n = p.classes;
  const Scratch losses(rows * p.item), weights(rows * p.item);
  char* const logsumexp = static_cast<char*>(args.out[1].data);
  void* const total_weight = args.out[2].data;

  RowJob job(p.logits.sizes, 1, 1, p.compute);
  job.add_input(args.in[0]);
  job.run([&](i64 row, const void* const* in, void*) {
    char* const loss = losses.data() + row * p.item;
    p.store_weight(row, weights.data() + row * p.item);
    if (p.counts(row)) {
      formulas.cross_entropy(n, in[0], p.target_of(row), p.weights(), p.smoothing, loss,
                             logsumexp + row * p.item);
    } else {
      std::memset(loss, 0, static_cast<std::size_t>(p.item));
      formulas.logsumexp(n, in[0], logsumexp + row * p.item);
    }
  });

  formulas.sum(rows, weights.data(), total_weight);
  double result = 0;  // room for one element of the compute dtype
  const void* losses_out = &result;
  if (p.reduction == Reduction::none) {
    losses_out = losses.data();
  } else {
    formulas.sum(rows, losses.data(), &result);
    if (p.reduction == Reduction::mean) formulas.divide(&result, total_weight, &result);
  }
  Problem::convert(p.reduction == Reduction::none ? rows : 1, p.compute, losses_out,
                   args.out[0].meta->dtype, args.out[0].data);
}

void cpu_cross_entropy_backward(const KernelArgs& args) {
  const Problem p(args, args.in[1], args.in[2], operand(args, 3));
  const RowLoops& formulas = row_loops(p.compute);
  const i64 n = p.classes;
  const DenseOperand dy(args.in[0], p.compute), logsumexp(args.in[4], p.compute);
  const DenseOperand total_weight(args.in[5], p.compute);
  double weight_sum = 0, scaled = 0;  // room for one element of the compute dtype each
  if (p.weights() != nullptr) {
    formulas.sum(n, p.weights(), &weight_sum);
  } else {
    const double count = static_cast<double>(n);
    Problem::convert(1, DType::f64, &count, p.compute, &weight_sum);
  }
  const bool each = p.reduction == Reduction::none;
  if (p.reduction == Reduction::mean) formulas.divide(dy.data(), total_weight.data(), &scaled);

  RowJob job(p.logits.sizes, 1, 1, p.compute);
  job.add_input(args.in[1]);
  job.set_output(args.out[0]);
  job.run([&](i64 row, const void* const* in, void* out) {
    if (!p.counts(row)) {
      if (n > 0) std::memset(out, 0, static_cast<std::size_t>(n * p.item));
      return;
    }
    const void* g = &scaled;
    if (p.reduction != Reduction::mean) g = dy.at(each ? row : 0);
    formulas.cross_entropy_backward(n, in[0], p.target_of(row), p.weights(), p.smoothing,
                                    &weight_sum, logsumexp.at(row), g, out);
  });
}

}  // namespace ingot
