// Copies between strided buffers on the host: casts, broadcasts, transposes, overlap.
// Owns: copy_elements, fill_elements and Contiguous, which every other data kernel is made of. Must
// not know: ops.
#pragma once

#include <optional>

#include <ingot/kernels/core/meta.h>
#include <ingot/kernels/cpu/reduce_scratch.h>

namespace ingot {

// to[i] = from[i], cast; `from` broadcasts to the sizes of `to`. Strides of `from` may be negative.
// Source and destination must not overlap, or be the same elements at the same places.
void copy_elements(const BufferView& to, const BufferView& from);

// The same where they may overlap in any way.
void copy_overlapping(const BufferView& to, const BufferView& from);

// Every element of `to` becomes the value of its item size behind `value`.
void fill_elements(const BufferView& to, const void* value);

// The bytes of a scalar in a dtype, 16-bit floats included (at most 8).
void store_scalar(Scalar s, DType dtype, void* to);

// Whether the byte ranges that two buffers reach have a byte in common.
bool may_overlap(const BufferView& a, const BufferView& b);

// A view's elements in row-major order: the view's own memory where it is contiguous already, else
// scratch memory, which makes this a local of the calling thread.
class Contiguous {
 public:
  enum class Copy { if_needed, always };
  explicit Contiguous(const BufferView& view, Copy copy = Copy::if_needed);
  // Cast on the way, and broadcast to `sizes`.
  Contiguous(const BufferView& view, DType dtype, const Dims& sizes, Copy copy = Copy::if_needed);

  void* data() const { return data_; }
  const Meta& meta() const { return meta_; }
  BufferView view() const { return {data_, &meta_}; }

 private:
  Meta meta_;
  std::optional<Scratch> owned_;
  void* data_;
};

}  // namespace ingot
