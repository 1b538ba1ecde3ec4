#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/axis_order.h>
#include <ingot/kernels/cuda/row_operands.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// The view with the axes of its rows last.
Meta rows_last(const Meta& m, const RowAxes& axes) {
  Meta moved;
  moved.dtype = m.dtype;
  for (int pass = 0; pass < 2; ++pass) {
    for (int d = 0; d < m.dim(); ++d) {
      if ((d >= axes.first && d < axes.first + axes.count) != (pass == 1)) continue;
      moved.sizes.push_back(m.sizes[d]);
      moved.strides.push_back(m.strides[d]);
    }
  }
  return moved;
}

// In logical order, so that numbers of rows and elements stay what they are.
AxisOrder logical(const Meta& m, int begin, int end) {
  AxisOrder order;
  for (int d = begin; d < end; ++d) {
    if (m.sizes[d] != 1) order.push_back({m.sizes[d], m.strides[d], d, false});
  }
  return order.merged(0, order.size());
}

}  // namespace

RowAxes::RowAxes(const Dims& sizes, int first_axis, int n_axes) : first(first_axis), count(n_axes) {
  for (int d = 0; d < sizes.size(); ++d) {
    (d >= first && d < first + count ? n : rows) *= sizes[d];
  }
}

RowInput::RowInput(const BufferView& view, const RowAxes& axes) {
  const Meta moved = rows_last(*view.meta, axes);
  const int cut = moved.dim() - axes.count;
  const AxisOrder outer = logical(moved, 0, cut), along = logical(moved, cut, moved.dim());
  const bool in_place = along.size() == 0 || (along.size() == 1 && along[0].stride == 1);
  if (moved.numel() == 0 || (in_place && outer.size() <= 2)) {
    operand_ = {view.data, row_places(outer.size() <= 2 ? outer : AxisOrder{})};
  } else {
    copy_.emplace(BufferView{view.data, &moved}, moved.dtype);
    operand_ = {const_cast<void*>(copy_->data()), {0, 0, axes.n}};
  }
  vectors_ = ingot::has_vectors(operand_.data, operand_.places, moved.dtype);
}

RowResult::RowResult(const BufferView& out, const RowAxes& axes)
    : out_(out), moved_(rows_last(*out.meta, axes)) {
  INGOT_BUG(ingot::is_contiguous(*out.meta), "the result of a row formula is not row-major");
  operand_ = {out.data, {0, 0, axes.n}};
  if (!ingot::is_contiguous(moved_)) {
    scratch_.emplace(static_cast<std::size_t>(moved_.numel() * item_size(moved_.dtype)));
    operand_.data = scratch_->data();
  }
  vectors_ = ingot::has_vectors(operand_.data, operand_.places, moved_.dtype);
}

void RowResult::finish() const {
  if (!scratch_) return;
  Meta dense = moved_;
  dense.strides = contiguous_strides(dense.sizes);
  copy_on_device({out_.data, &moved_}, {scratch_->data(), &dense});
}

void set_rows(RowTask& task, const RowAxes& axes, DType storage, const RowInput* in0,
              const RowInput* in1, const RowResult* out) {
  task.rows = axes.rows;
  task.n = axes.n;
  task.storage = static_cast<int>(storage);
  task.vectors = in0->has_vectors();
  task.in[0] = in0->operand();
  if (in1 != nullptr) {
    task.in[1] = in1->operand();
    task.vectors = task.vectors && in1->has_vectors();
  }
  if (out != nullptr) {
    task.out = out->operand();
    task.vectors = task.vectors && out->has_vectors();
  }
}

RowParameters::RowParameters(const KernelArgs& args, int i, DType storage) {
  if (i < args.n_in && args.in[i].data != nullptr) copy_.emplace(args.in[i], storage);
}

bool RowParameters::has_vectors() const {
  return reinterpret_cast<std::uintptr_t>(data()) % 16 == 0;
}

}  // namespace INGOT_ISA
}  // namespace ingot
