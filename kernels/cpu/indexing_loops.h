// The innermost loops of indexing, compiled once per instruction set level.
// Owns: their signatures and a level's table. An index array moves its operand: element i of the
// run is at base + i * step + index[i * index_step] * stride. Indices were checked before: none is
// negative. Must not know: metas, threads.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {

struct IndexedRun {
  using Int = __INT64_TYPE__;
  const Int* index;
  Int index_step;
  Int stride;  // elements from one index to the next
  Int step;    // elements from one run position to the next, besides the index
};

struct IndexLoops {
  using Int = __INT64_TYPE__;
  // By the log2 of the item size: out[i * out_step] = in at the index; out at the index = in[i].
  void (*gather[4])(Int n, void* out, Int out_step, const void* in, const IndexedRun& at);
  void (*scatter[4])(Int n, void* out, const IndexedRun& at, const void* in, Int in_step);
  // By DType: out at the index += in[i], in order. Null for f16 and bf16, which add up in f32.
  void (*scatter_add[8])(Int n, void* out, const IndexedRun& at, const void* in, Int in_step);
};

inline namespace INGOT_ISA {

extern const IndexLoops kIndexLoops;

}  // namespace INGOT_ISA
}  // namespace ingot
