// What the kernels of indexing share: from a thread to its addresses, from index tensors to the
// element that they mean. Owns: Lanes, Place. Must not know: what is done there.
#pragma once

#include <ingot/kernels/cuda/fault.cuh>
#include <ingot/kernels/cuda/indexing_task.h>
#include <ingot/kernels/cuda/launch.cuh>

namespace ingot {
inline namespace INGOT_ISA {

inline constexpr int kIndexThreads = 256;

struct Lanes {
  FastDivisor sizes[kIndexAxes];
  IndexLanes lanes;

  explicit Lanes(const IndexLanes& given) : lanes(given) {
    for (int d = 0; d < lanes.dim; ++d) sizes[d] = FastDivisor(lanes.sizes[d]);
  }

  // Offsets of lane i, by IndexLanes::Operand.
  __device__ __forceinline__ void offsets(Unsigned i, Int64 (&at)[4]) const {
    at[0] = at[1] = at[2] = at[3] = 0;
    Unsigned rest = i;
#pragma unroll 1
    for (int d = 0; d < lanes.dim; ++d) {
      const Unsigned outer = sizes[d].quotient(rest);
      const Unsigned place = rest - outer * sizes[d].value();
      for (int k = 0; k < 4; ++k) at[k] += Int64(place) * lanes.strides[d][k];
      rest = outer;
    }
  }
};

// What the index tensors name at one offset: the number of the slice in row-major order of the
// indexed axes, and its distance from the first one.
struct Place {
  Int64 number, offset;
  bool exists;
};

// `report`: a bad index is a fault.
template <bool report>
__device__ __forceinline__ Place find_place(const IndexTensors& indices, Int64 at) {
  Place place{0, 0, true};
#pragma unroll 1
  for (int k = 0; k < indices.n; ++k) {
    const IndexTensor& tensor = indices.at[k];
    Int64 index = tensor.data[at];
    const Int64 wrapped = index < 0 && indices.from_end ? index + tensor.size : index;
    if (wrapped < 0 || wrapped >= tensor.size) {
      if constexpr (report) report_fault(indices.fault, index, tensor.size, k);
      return {0, 0, false};
    }
    place.number = place.number * tensor.size + wrapped;
    place.offset += wrapped * tensor.stride;
  }
  return place;
}

}  // namespace INGOT_ISA
}  // namespace ingot
