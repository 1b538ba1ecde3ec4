#include <algorithm>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/reduce_plan.h>
#include <ingot/kernels/cpu/reduce_scratch.h>
#include <ingot/kernels/cpu/rowops_rows.h>

namespace ingot {
namespace {

// Rows side by side that are turned together: several cache lines of each element's neighbours,
// fewer where the panel would leave the second-level cache, one line as long as memory allows.
i64 panel_width(i64 length) {
  constexpr i64 kMost = 64, kLine = 16, kCached = i64{1} << 17, kElements = i64{1} << 20;
  if (length * kLine > kElements) return std::max<i64>(1, kElements / length);
  return std::clamp(kCached / length, kLine, kMost);
}

CopyLoops::Cast cast_unless_same(DType from, DType to) {
  return from == to ? nullptr : loops().copy->cast[static_cast<int>(from)][static_cast<int>(to)];
}

i64 row_grain(i64 length) { return kReduceGrain / 8 / (length + kTreeLanes) + 1; }

}  // namespace

RowJob::RowJob(const Dims& sizes, int first, int n_axes, DType compute)
    : sizes_(sizes), first_(first), n_axes_(n_axes), compute_(compute) {
  for (int d = 0; d < sizes.size(); ++d) {
    (d >= first && d < first + n_axes ? length_ : rows_) *= sizes[d];
  }
}

void RowJob::add(const BufferView& view) {
  INGOT_BUG(n_ < kWalkOperands && view.meta->sizes == sizes_, "operands of a row formula differ");
  Operand& operand = operand_[n_++];
  operand = {static_cast<char*>(view.data), view.meta->dtype, {}, view.meta->strides};
  for (int d = first_; d < first_ + n_axes_ && d < sizes_.size(); ++d) {
    operand.axes.push_back({sizes_[d], {view.meta->strides[d]}});
  }
}

AxisList RowJob::kept_axes() const {
  AxisList kept;
  for (int d = 0; d < sizes_.size(); ++d) {
    if (d >= first_ && d < first_ + n_axes_) continue;
    LoopAxis axis{sizes_[d], {}};
    for (int k = 0; k < n_; ++k) axis.stride[k] = operand_[k].strides[d];
    kept.push_back(axis);
  }
  return kept;
}

bool RowJob::side_by_side(const AxisList& kept) const {
  constexpr i64 kFewest = 4;
  if (kept.empty() || kept.back().size < kFewest) return false;
  bool across = false;
  for (int k = 0; k < n_; ++k) {
    const AxisList& axes = operand_[k].axes;
    if (axes.size() != 1 || kept.back().stride[k] != 1) return false;
    across = across || axes[0].stride[0] != 1;
  }
  return across;
}

void RowJob::run(RowFn f, void* context) {
  if (length_ == 0) {  // nothing to read or write, but each row may have a result of its own
    const void* const none[kWalkOperands] = {};
    for (i64 row = 0; row < rows_; ++row) f(context, row, none, nullptr);
    return;
  }
  const AxisList kept = kept_axes();
  if (side_by_side(kept)) {
    run_panels(kept, f, context);
  } else {
    run_single(kept, f, context);
  }
}

void RowJob::run_single(const AxisList& kept, RowFn f, void* context) const {
  const int n_in = n_ - (has_output_ ? 1 : 0);
  const i64 item = item_size(compute_), n = length_;
  // Every operand's part of the work buffer: its row, and what converts it.
  const i64 part = n * (item + 8) + 64;
  parallel_for(rows_, row_grain(n), [&](i64 begin, i64 end) {
    RowReader readers[kWalkOperands] = {{operand_[0].axes, operand_[0].storage, compute_},
                                        {operand_[1].axes, operand_[1].storage, compute_},
                                        {operand_[2].axes, operand_[2].storage, compute_},
                                        {operand_[3].axes, operand_[3].storage, compute_}};
    bool buffered = false;
    for (int k = 0; k < n_; ++k) buffered = buffered || !readers[k].in_place();
    const Scratch work(buffered ? n_ * part : 0);

    AxisWalk walk(kept, begin);
    for (i64 row = begin; row < end; ++row, walk.advance(1)) {
      const void* in[kWalkOperands];
      for (int k = 0; k < n_in; ++k) {
        const char* at = operand_[k].data + walk.offset(k) * item_size(operand_[k].storage);
        in[k] = readers[k].read(at, 0, n, work.data() + k * part);
      }
      if (!has_output_) {
        f(context, row, in, nullptr);
        continue;
      }
      const Operand& out = operand_[n_in];
      char* to = out.data + walk.offset(n_in) * item_size(out.storage);
      if (readers[n_in].in_place()) {
        f(context, row, in, to);
        continue;
      }
      char* result = work.data() + n_in * part;
      f(context, row, in, result);
      if (const CopyLoops::Cast cast = cast_unless_same(compute_, out.storage)) {
        char* converted = result + (n * item + 63) / 64 * 64;
        cast(n, converted, result);
        result = converted;
      }
      const i64 step = out.axes.empty() ? 1 : out.axes.back().stride[0];
      loops().copy->move[item_log2(item_size(out.storage))](n, to, step, result, 1);
    }
  });
}

void RowJob::run_panels(const AxisList& kept, RowFn f, void* context) const {
  const int n_in = n_ - (has_output_ ? 1 : 0);
  const i64 item = item_size(compute_), n = length_, across = kept.back().size;
  AxisList outer = kept;
  outer.erase(kept.size() - 1);
  const i64 width = panel_width(n);
  const i64 panels = (across + width - 1) / width;
  const i64 part = (n * width * item + 63) / 64 * 64, raw_part = n * width * 8;

  parallel_for(outer.count() * panels, row_grain(n * width), [&](i64 begin, i64 end) {
    const Scratch work(n_ * part + raw_part);
    char* const raw = work.data() + n_ * part;
    for (i64 t = begin; t < end; ++t) {
      const i64 group = t / panels, first = t % panels * width;
      const i64 rows = std::min(width, across - first);
      const AxisWalk place(outer, group);
      const auto address = [&](int k) {
        return operand_[k].data + (place.offset(k) + first) * item_size(operand_[k].storage);
      };
      for (int k = 0; k < n_in; ++k) {
        const CopyLoops::Cast cast = cast_unless_same(operand_[k].storage, compute_);
        char* to = work.data() + k * part;
        loops().copy->transpose[item_log2(item_size(operand_[k].storage))](
            n, rows, cast == nullptr ? to : raw, n, address(k), operand_[k].axes[0].stride[0]);
        if (cast != nullptr) cast(n * rows, to, raw);
      }
      char* result = work.data() + n_in * part;
      for (i64 r = 0; r < rows; ++r) {
        const void* in[kWalkOperands];
        for (int k = 0; k < n_in; ++k) in[k] = work.data() + k * part + r * n * item;
        f(context, group * across + first + r, in, has_output_ ? result + r * n * item : nullptr);
      }
      if (!has_output_) continue;
      const Operand& out = operand_[n_in];
      if (const CopyLoops::Cast cast = cast_unless_same(compute_, out.storage)) {
        cast(n * rows, raw, result);
        result = raw;
      }
      loops().copy->transpose[item_log2(item_size(out.storage))](rows, n, address(n_in),
                                                                 out.axes[0].stride[0], result, n);
    }
  });
}

DenseOperand::DenseOperand(const BufferView& view, DType compute) : item_(item_size(compute)) {
  if (view.data == nullptr) return;
  if (view.meta->dtype == compute && is_contiguous(*view.meta)) {
    data_ = view.data;
    return;
  }
  owned_.emplace(view.meta->numel() * item_size(compute));
  data_ = owned_->data();
  Meta dense = *view.meta;
  dense.dtype = compute;
  dense.strides = contiguous_strides(dense.sizes);
  copy_elements({owned_->data(), &dense}, view);
}

}  // namespace ingot
