// Reads and writes through index tensors as their CUDA kernels see them.
// Owns: TakeTask, PutTask, CheckTask and the functions that launch them. Host code without CUDA
// headers. Must not know: metas, ops.
#pragma once

#include <ingot/kernels/cuda/fault_site.h>
#include <ingot/kernels/ops/isa.h>

namespace ingot {

inline constexpr int kIndexAxes = 8;

// A loop nest of elements whose addresses move in step. Axis 0 is the innermost; n is below 2^31.
struct IndexLanes {
  // What moves: the tensor that is not indexed, the indexed one (without what the index adds), the
  // index tensors, the number of the position.
  enum Operand { plain, indexed, index, position };
  using Int = __INT64_TYPE__;
  unsigned n;
  int dim;
  unsigned sizes[kIndexAxes];
  Int strides[kIndexAxes][4];  // in elements
};

// One index tensor, for one axis of the indexed tensor.
struct IndexTensor {
  const __INT64_TYPE__* data;
  __INT64_TYPE__ size;    // of the axis
  __INT64_TYPE__ stride;  // of the axis, in elements of the indexed tensor
};

struct IndexTensors {
  int n;
  bool from_end;  // negative indices count from there
  IndexTensor at[kIndexAxes];
  FaultSite fault;
};

// plain = indexed at the index; 0 where there is none.
struct TakeTask {
  void* out;
  const void* x;
  int item;  // bytes of an element: 1, 2, 4, 8, 16
  IndexLanes lanes;
  IndexTensors indices;
};

// indexed at the index = plain, or += plain, in the order of positions.
struct PutTask {
  using Int = __INT64_TYPE__;
  void* x;
  const void* values;
  int dtype;
  bool add;
  Int positions;               // below 2^31
  Int value_step, index_step;  // from one position to the next
  // Direct: all elements, positions among them. By order: those of one position (`slices`), or all.
  IndexLanes lanes;
  IndexTensors indices;
};

// Every index is looked at, and reported where it names nothing; no element moves. For slices of no
// elements, over which no other kernel runs. The lanes are those of the positions.
struct CheckTask {
  IndexLanes lanes;
  IndexTensors indices;
};

// The elements that are written, numbered, in ascending order, and equal ones in the order of
// positions. Numbers from `limit` on are no elements.
using IndexKey = unsigned __INT64_TYPE__;
struct IndexOrder {
  const IndexKey* keys;
  const unsigned* order;  // what stood here before sorting
  __INT64_TYPE__ n;
  IndexKey limit;
  bool slices;  // a key is the number of a slice; else the place of one element, lanes included
};

inline namespace INGOT_ISA {

void launch_take(const TakeTask& task);
void launch_check(const CheckTask& task);

// For few positions: each finds out by itself which others write the same element.
void launch_put_direct(const PutTask& task);

// The keys of the positions, or, without `slices`, of all lanes; `limit` for a bad index.
void launch_put_keys(const PutTask& task, IndexKey* keys, IndexKey limit, bool slices);
void launch_put_ordered(const PutTask& task, const IndexOrder& order);

}  // namespace INGOT_ISA
}  // namespace ingot
