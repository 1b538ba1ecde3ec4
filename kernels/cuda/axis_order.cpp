#include <algorithm>

#include <ingot/kernels/cuda/axis_order.h>

namespace ingot {
inline namespace INGOT_ISA {

AxisOrder::AxisOrder(const Meta& m, const Dims& marked) {
  for (int d = 0; d < m.dim(); ++d) {
    const bool is_marked = std::find(marked.begin(), marked.end(), d) != marked.end();
    if (m.sizes[d] != 1) push_back({m.sizes[d], m.strides[d], d, is_marked});
  }
  std::stable_sort(axis_, axis_ + n_,
                   [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
}

i64 AxisOrder::count(int begin, int end) const {
  i64 n = 1;
  for (int i = begin; i < end; ++i) n *= axis_[i].size;
  return n;
}

AxisOrder AxisOrder::merged(int begin, int end) const {
  AxisOrder out;
  for (int i = begin; i < end; ++i) {
    if (out.n_ > 0 && out.axis_[out.n_ - 1].stride == axis_[i].stride * axis_[i].size) {
      out.axis_[out.n_ - 1].size *= axis_[i].size;
      out.axis_[out.n_ - 1].stride = axis_[i].stride;
    } else {
      out.push_back(axis_[i]);
    }
  }
  return out;
}

AxisOrder AxisOrder::without(int begin, int end) const {
  AxisOrder out;
  for (int i = 0; i < n_; ++i) {
    if (i < begin || i >= end) out.push_back(axis_[i]);
  }
  return out;
}

AxisOrder AxisOrder::only(bool marked) const {
  AxisOrder out;
  for (int i = 0; i < n_; ++i) {
    if (axis_[i].marked == marked) out.push_back(axis_[i]);
  }
  return out;
}

bool AxisOrder::in_own_order() const {
  for (int i = 1; i < n_; ++i) {
    if (axis_[i].place < axis_[i - 1].place) return false;
  }
  return true;
}

void AxisOrder::make_dense() {
  i64 step = 1;
  for (int i = n_ - 1; i >= 0; --i) {
    axis_[i].stride = step;
    step *= axis_[i].size;
  }
}

Meta AxisOrder::meta(DType dtype) const {
  Meta m;
  m.dtype = dtype;
  for (int i = 0; i < n_; ++i) {
    m.sizes.push_back(axis_[i].size);
    m.strides.push_back(axis_[i].stride);
  }
  return m;
}

RowPlaces row_places(const AxisOrder& merged) {
  if (merged.size() == 0) return {};
  if (merged.size() == 1) return {0, 0, merged[0].stride};
  return {merged[1].size, merged[0].stride, merged[1].stride};
}

bool has_vectors(const void* data, const RowPlaces& places, DType dtype) {
  const i64 width = 16 / item_size(dtype);
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && places.stride % width == 0 &&
         places.outer_stride % width == 0;
}

OrderedResult::OrderedResult(const AxisOrder& order, const BufferView& out)
    : order_(order), out_(out) {
  order_.make_dense();
  if (!order_.in_own_order()) {
    scratch_.emplace(static_cast<std::size_t>(order_.count() * item_size(dtype())));
  }
}

void OrderedResult::finish() const {
  if (!scratch_) return;
  AxisOrder own;  // the axes as `out` has them
  for (int place = 0; place < kMaxDims; ++place) {
    for (int i = 0; i < order_.size(); ++i) {
      if (order_[i].place == place) own.push_back(order_[i]);
    }
  }
  const Meta from = own.meta(dtype());
  own.make_dense();
  const Meta to = own.meta(dtype());
  copy_on_device({out_.data, &to}, {scratch_->data(), &from});
}

}  // namespace INGOT_ISA
}  // namespace ingot
