// The device's side of faults: reporting an index.
// Owns: report_fault. Without a fault nothing is written or waited for. Must not know: what is done
// with the index.
#pragma once

#include <ingot/kernels/cuda/fault_site.h>
#include <ingot/kernels/cuda/launch.cuh>

namespace ingot {
inline namespace INGOT_ISA {

// An index outside of `size` elements. The calling kernel goes on, without reading or writing
// there. `axis` counts from the site's. The site comes by value: by its address, a kernel would
// keep all of its parameters in local memory.
inline __device__ __noinline__ void report_fault(FaultSite site, Int64 index, Int64 size,
                                                 int axis = 0) {
  FaultRecord* r = site.record;
  if (atomicCAS(&r->state, unsigned(FaultRecord::empty), unsigned(FaultRecord::claimed)) !=
      unsigned(FaultRecord::empty)) {
    return;
  }
  r->index = index;
  r->size = size;
  r->axis = site.axis + axis;
  r->op = site.op;
  r->unit = site.unit;
  r->file = site.file;
  r->line = site.line;
  __threadfence_system();
  atomicExch(&r->state, unsigned(FaultRecord::filled));
}

}  // namespace INGOT_ISA
}  // namespace ingot
