#include <cstdlib>
#include <utility>

#include <ingot/kernels/cpu/iterate.h>

namespace ingot {

void Nest::swap_axes(int a, int b) {
  std::swap(sizes_[a], sizes_[b]);
  for (int k = 0; k < n_; ++k) std::swap(strides_[a][k], strides_[b][k]);
}

void Nest::remove_axis(int axis) {
  for (int d = axis; d + 1 < dim_; ++d) swap_axes(d, d + 1);
  numel_ = 1;
  --dim_;
  for (int d = 0; d < dim_; ++d) numel_ *= sizes_[d];
}

Nest Nest::part(int axis, i64 begin, i64 end) const {
  Nest cut = *this;
  cut.numel_ = numel_ / sizes_[axis] * (end - begin);
  cut.sizes_[axis] = end - begin;
  for (int k = 0; k < n_; ++k) cut.data_[k] += begin * strides_[axis][k] * item_[k];
  return cut;
}

void Nest::merge() {
  if (numel_ == 0) return;
  int last = -1;
  for (int d = 0; d < dim_; ++d) {
    if (sizes_[d] == 1) continue;
    bool joins = last >= 0;
    for (int k = 0; k < n_ && joins; ++k) {
      joins = strides_[d][k] == strides_[last][k] * sizes_[last];
    }
    if (joins) {
      sizes_[last] *= sizes_[d];
    } else if (++last != d) {
      sizes_[last] = sizes_[d];
      for (int k = 0; k < n_; ++k) strides_[last][k] = strides_[d][k];
    }
  }
  dim_ = last + 1;
  if (dim_ == 0) {  // one element: still a run
    dim_ = 1;
    sizes_[0] = 1;
    for (int k = 0; k < n_; ++k) strides_[0][k] = 1;
  }
}

void Nest::collapse() {
  if (numel_ == 0) return;
  auto outside = [&](int a, int b) {  // whether axis a belongs outside of axis b
    for (int k = 0; k < n_; ++k) {
      const i64 sa = std::abs(strides_[a][k]), sb = std::abs(strides_[b][k]);
      if (sa != sb) return sa > sb;
    }
    return false;
  };
  // Insertion sort that leaves equal axes in place and lets axes of size 1 sink anywhere.
  for (int d = 1; d < dim_; ++d) {
    if (sizes_[d] == 1) continue;
    for (int e = d; e > 0 && (sizes_[e - 1] == 1 || outside(e - 1, e)); --e) swap_axes(e - 1, e);
  }
  merge();
}

void Nest::lengthen_runs() {
  constexpr i64 kShort = 4;
  if (dim_ < 2 || sizes_[0] > kShort) return;
  int longest = 0;
  for (int d = 1; d < dim_; ++d) {
    if (sizes_[d] > sizes_[longest]) longest = d;
  }
  if (sizes_[longest] > 4 * kShort) swap_axes(0, longest);
}

}  // namespace ingot
