#include <algorithm>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/axis_order.h>
#include <ingot/kernels/cuda/reduce.h>
#include <ingot/kernels/cuda/row_shape.h>
#include <ingot/kernels/ops/structured/list.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// An operand on its way to one value for each kept element; the reduced axes are marked. Each step
// reduces the innermost run of marked axes.
class Operand {
 public:
  Operand(const BufferView& in, const Dims& axes)
      : data_(in.data), dtype_(in.meta->dtype), axes_(*in.meta, axes) {
    find_run();
  }

  const AxisOrder& axes() const { return axes_; }
  AxisOrder kept() const { return axes_.only(false); }
  bool is_last() const { return axes_.without(begin_, end_).only(true).size() == 0; }
  i64 count() const { return axes_.only(true).count(); }
  i64 outputs() const { return kept().count(); }
  ReduceAlong along() const {
    return end_ < axes_.size() && begin_ < end_ ? ReduceAlong::columns : ReduceAlong::rows;
  }

  // Dense, with its axes in this order.
  void rearrange(const AxisOrder& order) {
    const Meta meta = order.meta(dtype_);
    copy_.emplace(BufferView{const_cast<void*>(data_), &meta}, dtype_);
    data_ = copy_->data();
    axes_ = order;
    axes_.make_dense();
    find_run();
  }
  // All kept axes, then all reduced ones.
  void rearrange_to_rows() {
    AxisOrder order = kept();
    const AxisOrder reduced = axes_.only(true);
    for (int i = 0; i < reduced.size(); ++i) order.push_back(reduced[i]);
    rearrange(order);
  }
  // As the kernels take it, by a copy if need be. Small matrices of columns become rows: a block
  // for each of them would be too much.
  void prepare() {
    const bool few = columns_count() * run_count() <= 256 && outer_count() >= 32;
    if (along() == ReduceAlong::columns && few && is_last()) {
      rearrange_to_rows();
    } else if (!is_ready()) {
      rearrange(axes_);
    }
  }

  // The task of the next step, without results.
  ReduceTask task() const {
    ReduceTask t;
    t.in = data_;
    t.storage = static_cast<int>(dtype_);
    t.n = run_count();
    t.groups = outer_count();
    t.at = row_places(axes_.merged(0, begin_));
    if (along() == ReduceAlong::columns) {
      t.cols = columns_count();
      t.step = axes_.merged(begin_, end_)[0].stride;
    }
    return t;
  }

  // The results of that step, dense, are the operand of the next one.
  void advance(DeviceScratch& results, DType dtype) {
    data_ = results.data();
    dtype_ = dtype;
    axes_ = axes_.without(begin_, end_);
    axes_.make_dense();
    find_run();
  }

 private:
  void find_run() {
    end_ = axes_.size();
    while (end_ > 0 && !axes_[end_ - 1].marked) --end_;
    if (end_ == 0) end_ = axes_.size();  // nothing to reduce: rows of one element
    begin_ = end_;
    while (begin_ > 0 && axes_[begin_ - 1].marked) --begin_;
  }
  i64 outer_count() const { return axes_.count(0, begin_); }
  i64 run_count() const { return axes_.count(begin_, end_); }
  i64 columns_count() const { return axes_.count(end_, axes_.size()); }

  bool is_ready() const {
    if (axes_.count() == 0) return true;
    const AxisOrder outer = axes_.merged(0, begin_), run = axes_.merged(begin_, end_);
    const AxisOrder columns = axes_.merged(end_, axes_.size());
    if (outer.size() > 2 || run.size() > 1 || columns.size() > 1) return false;
    if (along() == ReduceAlong::columns) return columns[0].stride == 1;
    return run.size() == 0 || run[0].stride == 1;
  }

  const void* data_;
  DType dtype_;
  AxisOrder axes_;
  int begin_ = 0, end_ = 0;
  std::optional<DenseCopy> copy_;
};

std::size_t scratch_bytes(i64 n, DType dtype) {
  return static_cast<std::size_t>(n * item_size(dtype));
}

void set_out(ReduceTask& task, void* out, DType dtype) {
  task.out = out;
  task.out_dtype = static_cast<int>(dtype);
}

struct ReduceCall {
  CudaReduce kind;
  DType compute;  // of what lies between steps
  bool smallest = false;
  bool mean = false;
};

void reduce_to(const ReduceCall& r, const BufferView& in, const Dims& axes, const BufferView& out) {
  Operand x(in, axes);
  const double count = static_cast<double>(x.count());
  if (x.outputs() == 0) return;
  // Each step's results live until the end: memory is taken in stream order, none of them is large.
  std::optional<DeviceScratch> between[kMaxDims];
  for (int step = 0;; ++step) {
    x.prepare();
    const bool last = x.is_last();
    ReduceTask task = x.task();
    task.smallest = r.smallest;
    if (last) {
      const OrderedResult result(x.kept(), out);
      set_out(task, result.data(), result.dtype());
      task.divides = r.mean;
      task.by = count;
      reduce_on_device(r.kind, x.along(), task, r.compute);
      return result.finish();
    }
    between[step].emplace(scratch_bytes(task.groups * task.cols, r.compute));
    set_out(task, between[step]->data(), r.compute);
    reduce_on_device(r.kind, x.along(), task, r.compute);
    x.advance(*between[step], r.compute);
  }
}

// Places count in the logical order of the reduced axes.
void reduce_extremes(const BufferView& in, const Dims& axes, bool smallest, const BufferView* value,
                     const BufferView& place) {
  Operand x(in, axes);
  if (x.outputs() == 0) return;
  if (!x.is_last() || !x.axes().only(true).in_own_order()) {
    AxisOrder order = x.kept();
    const AxisOrder reduced = x.axes().only(true);
    for (int d = 0; d < kMaxDims; ++d) {
      for (int i = 0; i < reduced.size(); ++i) {
        if (reduced[i].place == d) order.push_back(reduced[i]);
      }
    }
    x.rearrange(order);
  }
  x.prepare();
  const OrderedResult places(x.kept(), place);
  std::optional<OrderedResult> values;
  if (value != nullptr) values.emplace(x.kept(), *value);
  ReduceTask task = x.task();
  task.smallest = smallest;
  task.out_place = static_cast<i64*>(places.data());
  if (values) set_out(task, values->data(), values->dtype());
  const DType storage = in.meta->dtype;
  const DType compute = is_floating_point(storage) ? compute_type(storage) : DType::i64;
  reduce_on_device(CudaReduce::extreme, x.along(), task, compute);
  places.finish();
  if (values) values->finish();
}

// centre_row() and squares_row() of kernels/ops/row_formulas.h: all passes over a row by one block,
// or one pass over all rows or columns after the other.
void variance(const BufferView& in, const Dims& axes, i64 correction, const BufferView& out) {
  const DType compute = compute_type(in.meta->dtype);
  Operand x(in, axes);
  if (x.outputs() == 0) return;
  if (!x.is_last()) x.rearrange_to_rows();
  x.prepare();
  const i64 n = x.count();
  const double freedom = static_cast<double>(std::max<i64>(0, n - correction));
  const OrderedResult result(x.kept(), out);
  ReduceTask task = x.task();
  if (x.along() == ReduceAlong::rows && n <= kLongRow) {
    RowValueTask row;
    row.rows = task.groups;
    row.n = n;
    row.storage = task.storage;
    row.in[0] = {const_cast<void*>(task.in), task.at};
    row.vectors = has_vectors(task.in, task.at, in.meta->dtype);
    row.freedom = freedom;
    row.result = result.data();
    row.result_dtype = static_cast<int>(result.dtype());
    launch_variance(row);
    return result.finish();
  }
  const std::size_t bytes = scratch_bytes(x.outputs(), compute);
  const DeviceScratch mean(bytes), centre(bytes);
  task.divides = true;
  task.by = static_cast<double>(n);
  set_out(task, mean.data(), compute);
  reduce_on_device(CudaReduce::sum, x.along(), task, compute);
  task.centre = task.add = mean.data();
  set_out(task, centre.data(), compute);
  reduce_on_device(CudaReduce::centred, x.along(), task, compute);
  task.centre = centre.data();
  task.add = nullptr;
  task.squares = true;
  task.by = freedom;
  set_out(task, result.data(), result.dtype());
  reduce_on_device(CudaReduce::centred, x.along(), task, compute);
  result.finish();
}

}  // namespace

void cuda_reduce(const KernelArgs& args) {
  using namespace structured;
  const BufferView &in = args.in[0], &out = args.out[0];
  const Dims& axes = args.attrs.dims;
  const DType dtype = in.meta->dtype;
  const DType wide = is_floating_point(dtype) ? compute_type(dtype) : DType::i64;
  switch (args.op.id) {
    case id_of<Sum>():
      return reduce_to({CudaReduce::sum, wide}, in, axes, out);
    case id_of<Mean>():
      return reduce_to({.kind = CudaReduce::sum, .compute = wide, .mean = true}, in, axes, out);
    case id_of<Prod>():
      return reduce_to({CudaReduce::prod, wide}, in, axes, out);
    case id_of<Amax>():
      return reduce_to({CudaReduce::largest, wide}, in, axes, out);
    case id_of<Amin>():
      return reduce_to({CudaReduce::largest, wide, true}, in, axes, out);
    case id_of<Any>():
      return reduce_to({CudaReduce::any, DType::boolean}, in, axes, out);
    case id_of<All>():
      return reduce_to({CudaReduce::all, DType::boolean}, in, axes, out);
    case id_of<Var>():
      return variance(in, axes, args.attrs.b, out);
    case id_of<Argmax>():
      return reduce_extremes(in, axes, false, nullptr, out);
    case id_of<Argmin>():
      return reduce_extremes(in, axes, true, nullptr, out);
    case id_of<MaxDim>():
      return reduce_extremes(in, axes, false, &out, args.out[1]);
    case id_of<MinDim>():
      return reduce_extremes(in, axes, true, &out, args.out[1]);
    default:
      INGOT_BUG(false, "cuda_reduce: {} is not a reduction", args.op.name);
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
