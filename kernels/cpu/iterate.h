// Nest: one loop nest over several strided operands, reduced to the fewest and longest runs.
// Owns: dropping, ordering and merging of axes, the walk over any piece of the nest, and its split
// over threads. Must not know: ops, dtypes, what is done in a run.
#pragma once

#include <ingot/kernels/core/dims.h>
#include <ingot/kernels/cpu/parallel.h>

namespace ingot {

inline constexpr int kMaxOperands = 16;

// Elements that are moved, or gone through once, in the least time that pays for a thread.
inline constexpr i64 kParallelGrain = 65536;

// What an element of an elementwise loop takes one core, as measured with AVX2 in the second-level
// cache.
constexpr double elementwise_nanoseconds(int operands, int flops, int transcendentals) {
  return 0.05 * operands + 0.03 * flops + 0.6 * transcendentals;
}

class Nest {
 public:
  explicit Nest(const Dims& sizes) : dim_(sizes.size()) {
    for (int d = 0; d < dim_; ++d) {
      sizes_[d] = sizes[dim_ - 1 - d];
      numel_ *= sizes_[d];
    }
  }

  // The next operand: address of its first element, strides in elements for the nest's sizes
  // (0 repeats, negative walks back), bytes of one element.
  void add(const void* data, const Dims& strides, int item_size) {
    for (int d = 0; d < dim_; ++d) strides_[d][n_] = strides[dim_ - 1 - d];
    data_[n_] = static_cast<char*>(const_cast<void*>(data));
    item_[n_++] = item_size;
  }

  // An operand of one element, repeated.
  void add_value(const void* data) {
    for (int d = 0; d < dim_; ++d) strides_[d][n_] = 0;
    data_[n_] = static_cast<char*>(const_cast<void*>(data));
    item_[n_++] = 0;
  }

  // Drops axes of size 1, puts the axis of the smallest stride of operand 0 innermost (ties: of
  // operand 1, and so on) and merges axes that all operands walk as one.
  void collapse();
  // Merges neighbours but keeps the logical order of elements.
  void merge();
  // Makes a long axis innermost where the innermost one has at most 4 elements.
  void lengthen_runs();
  // Takes an axis out of the nest; the walk then visits its first element only.
  void remove_axis(int axis);
  // The nest cut to [begin, end) of one axis.
  Nest part(int axis, i64 begin, i64 end) const;

  i64 numel() const { return numel_; }
  int dim() const { return dim_; }
  int operands() const { return n_; }
  // Axis 0 is the innermost.
  i64 size(int axis) const { return sizes_[axis]; }
  i64 stride(int axis, int operand) const { return strides_[axis][operand]; }
  int item_size(int operand) const { return item_[operand]; }
  char* data(int operand) const { return data_[operand]; }
  // Strides of all operands along the innermost axis: those of a run.
  const i64* run_strides() const { return strides_[0]; }

  // Calls f(n, addresses) for each run in [begin, end) of the nest's own order of elements.
  template <class F>
  void walk(i64 begin, i64 end, F&& f) const;

  // The same over all elements, on several threads if there are many.
  template <class F>
  void for_each_run(F&& f, i64 grain = kParallelGrain) const;

 private:
  void swap_axes(int a, int b);

  i64 sizes_[kMaxDims];
  i64 strides_[kMaxDims][kMaxOperands];
  char* data_[kMaxOperands];
  int item_[kMaxOperands];
  int dim_;
  int n_ = 0;
  i64 numel_ = 1;
};

template <class F>
void Nest::walk(i64 begin, i64 end, F&& f) const {
  if (begin >= end) return;
  char* at[kMaxOperands];
  i64 index[kMaxDims];
  for (int k = 0; k < n_; ++k) at[k] = data_[k];
  if (dim_ == 0) return f(i64{1}, at);
  i64 rest = begin;
  for (int d = 0; d < dim_; ++d) {
    index[d] = rest % sizes_[d];
    rest /= sizes_[d];
    for (int k = 0; k < n_ && index[d] != 0; ++k) at[k] += index[d] * strides_[d][k] * item_[k];
  }
  while (true) {
    const i64 left = end - begin, in_run = sizes_[0] - index[0];
    const i64 n = left < in_run ? left : in_run;
    f(n, at);
    begin += n;
    if (begin == end) return;
    for (int k = 0; k < n_ && index[0] != 0; ++k) at[k] -= index[0] * strides_[0][k] * item_[k];
    index[0] = 0;
    for (int d = 1; d < dim_; ++d) {
      const bool wraps = ++index[d] == sizes_[d];
      const i64 steps = wraps ? 1 - sizes_[d] : 1;
      for (int k = 0; k < n_; ++k) at[k] += steps * strides_[d][k] * item_[k];
      if (!wraps) break;
      index[d] = 0;
    }
  }
}

template <class F>
void Nest::for_each_run(F&& f, i64 grain) const {
  if (numel_ < 2 * grain) return walk(0, numel_, f);
  parallel_for(numel_, grain, [&](i64 begin, i64 end) { walk(begin, end, f); });
}

}  // namespace ingot
