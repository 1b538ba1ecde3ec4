#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/reduce.h>
#include <ingot/kernels/cpu/reduce_extremes.h>
#include <ingot/kernels/cpu/reduce_plan.h>
#include <ingot/kernels/cpu/reduce_scratch.h>
#include <ingot/kernels/cpu/rowops_rows.h>
#include <ingot/kernels/ops/structured/list.h>

namespace ingot {
namespace {

// One reduction to values: where its results are computed, and their way into the output.
class Values {
 public:
  Values(const BufferView& in, const Dims& axes, const BufferView& out, DType compute)
      : in_(in),
        out_(out),
        compute_(compute),
        plan_(plan_reduction(*in.meta, axes, Sequence::memory)),
        converted_(in_place() ? 0 : plan_.outputs * item_size(compute)),
        result_(in_place() ? out.data : converted_.data()) {
    INGOT_BUG(is_contiguous(*out.meta), "the result of a reduction is not row-major");
  }

  const ReducePlan& plan() const { return plan_; }
  void* result() const { return result_; }

  // Into `to`, or into the results.
  void reduce(ReduceKind kind, const void* centre = nullptr, void* to = nullptr) const {
    reduce_values(
        {kind, plan_, in_.data, in_.meta->dtype, compute_, centre, to == nullptr ? result_ : to});
  }

  void divide(void* x, double by) const { reduce_loops(compute_).divide(plan_.outputs, x, by); }
  void divide(double by) const { divide(result_, by); }

  void finish() const {
    if (in_place()) return;
    const int from = static_cast<int>(compute_), to = static_cast<int>(out_.meta->dtype);
    loops().copy->cast[from][to](plan_.outputs, out_.data, result_);
  }

 private:
  bool in_place() const { return out_.meta->dtype == compute_; }

  BufferView in_, out_;
  DType compute_;
  ReducePlan plan_;
  Scratch converted_;
  void* result_;
};

void reduce_to(ReduceKind kind, const BufferView& in, const Dims& axes, const BufferView& out,
               DType compute) {
  const Values values(in, axes, out, compute);
  values.reduce(kind);
  values.finish();
}

void mean_kernel(const KernelArgs& args) {
  const Values values(args.in[0], args.attrs.dims, args.out[0],
                      compute_type(args.in[0].meta->dtype));
  values.reduce(ReduceKind::sum);
  values.divide(static_cast<double>(values.plan().count));
  values.finish();
}

// Rows that stay in the cache: all passes over one before the next.
void squares_by_rows(const BufferView& in, const ReducePlan& plan, DType compute, void* out) {
  const RowLoops& formulas = row_loops(compute);
  const RowReader reader(plan.reduced, in.meta->dtype, compute);
  const i64 item = item_size(compute), in_item = item_size(in.meta->dtype);
  parallel_for(plan.outputs, kReduceGrain / (3 * plan.count) + 1, [&](i64 begin, i64 end) {
    const Scratch buffer(reader.buffer_bytes(plan.count));
    AxisWalk walk(plan.kept, begin);
    for (i64 o = begin; o < end; ++o, walk.advance(1)) {
      const char* row = static_cast<const char*>(in.data) + walk.offset(0) * in_item;
      formulas.squares(plan.count, reader.read(row, 0, plan.count, buffer.data()),
                       static_cast<char*>(out) + o * item);
    }
  });
}

// centre_row() and squares_row() of kernels/ops/row_formulas.h, as one pass over all rows or
// columns after the other.
void squares_by_passes(const Values& values, DType compute) {
  const double n = static_cast<double>(values.plan().count);
  const i64 bytes = values.plan().outputs * item_size(compute);
  const Scratch centre(bytes), rest(bytes);
  values.reduce(ReduceKind::sum, nullptr, centre.data());
  values.divide(centre.data(), n);
  values.reduce(ReduceKind::difference, centre.data(), rest.data());
  reduce_loops(compute).add_quotient(values.plan().outputs, centre.data(), rest.data(), n);
  values.reduce(ReduceKind::square, centre.data());
}

void var_kernel(const KernelArgs& args) {
  constexpr i64 kCachedRow = 65536;
  const DType compute = compute_type(args.in[0].meta->dtype);
  const Values values(args.in[0], args.attrs.dims, args.out[0], compute);
  const ReducePlan& plan = values.plan();
  const bool rows_in_cache = plan.count > 0 && plan.count <= kCachedRow && lane_axis(plan) < 0;
  if (rows_in_cache) {
    squares_by_rows(args.in[0], plan, compute, values.result());
  } else {
    squares_by_passes(values, compute);
  }
  const double freedom = static_cast<double>(plan.count - args.attrs.b);
  values.divide(freedom > 0 ? freedom : 0);  // none left: NaN, or inf, as PyTorch
  values.finish();
}

DType sum_type(DType t) { return is_floating_point(t) ? compute_type(t) : DType::i64; }

}  // namespace

void sum_over(const BufferView& in, const Dims& axes, const BufferView& out) {
  reduce_to(ReduceKind::sum, in, axes, out, sum_type(in.meta->dtype));
}

void cpu_reduce(const KernelArgs& args) {
  using namespace structured;
  const BufferView &in = args.in[0], &out = args.out[0];
  const Dims& axes = args.attrs.dims;
  const DType dtype = in.meta->dtype;
  switch (args.op.id) {
    case id_of<Sum>():
      return reduce_to(ReduceKind::sum, in, axes, out, sum_type(dtype));
    case id_of<Prod>():
      return reduce_to(ReduceKind::prod, in, axes, out, sum_type(dtype));
    case id_of<Mean>():
      return mean_kernel(args);
    case id_of<Var>():
      return var_kernel(args);
    case id_of<Amax>():
      return reduce_to(ReduceKind::max, in, axes, out, compute_type(dtype));
    case id_of<Amin>():
      return reduce_to(ReduceKind::min, in, axes, out, compute_type(dtype));
    case id_of<Any>():
      return reduce_to(ReduceKind::any, in, axes, out, DType::boolean);
    case id_of<All>():
      return reduce_to(ReduceKind::all, in, axes, out, DType::boolean);
    case id_of<Argmax>():
      return reduce_extremes(in, axes, false, nullptr, out);
    case id_of<Argmin>():
      return reduce_extremes(in, axes, true, nullptr, out);
    case id_of<MaxDim>():
      return reduce_extremes(in, axes, false, &out, args.out[1]);
    case id_of<MinDim>():
      return reduce_extremes(in, axes, true, &out, args.out[1]);
    default:
      INGOT_BUG(false, "cpu_reduce: {} is not a reduction", args.op.name);
  }
}

}  // namespace ingot
