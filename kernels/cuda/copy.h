// Copies between strided device buffers: casts, broadcasts, transposes, overlap; fills.
// Owns: copy_on_device, fill_on_device, DenseCopy, which every other data kernel is made of. Must
// not know: ops.
#pragma once

#include <optional>

#include <ingot/kernels/core/attrs.h>
#include <ingot/kernels/core/meta.h>
#include <ingot/kernels/cuda/elementwise_task.h>
#include <ingot/kernels/cuda/scratch.h>

namespace ingot {
inline namespace INGOT_ISA {

// out[i] = in[i], cast; `in` broadcasts to the sizes of `out`. Strides of `in` may be negative. No
// overlap, or the same elements.
void copy_on_device(const BufferView& out, const BufferView& in);
// The same where they may overlap in any way.
void copy_overlapping_on_device(const BufferView& out, const BufferView& in);
// Every element of `out` becomes `value`, cast.
void fill_on_device(const BufferView& out, Scalar value);

// A view's elements in row-major order, as `dtype`: the view itself where it is that already, else
// a copy in scratch memory.
class DenseCopy {
 public:
  enum class Copy { if_needed, always };
  DenseCopy(const BufferView& view, DType dtype, Copy copy = Copy::if_needed);
  const void* data() const { return view_.data; }
  const BufferView& view() const { return view_; }

 private:
  Meta meta_;
  std::optional<DeviceScratch> owned_;
  BufferView view_;
};

// The kernels of the identity for a compute type.
const ElementwiseKernels& copy_kernels(DType compute);

}  // namespace INGOT_ISA
}  // namespace ingot
