// The launch signature of every kernel, and the table (op, device) -> kernel.
// Owns: KernelArgs, LoopFn and the look-up. Kernels see addresses and metas only: no tensor, no
// allocation of results. Must not know: tensors, graphs.
#pragma once

#include <ingot/kernels/core/attrs.h>
#include <ingot/kernels/core/meta.h>
#include <ingot/kernels/ops/op_info.h>

namespace ingot {

// One execution of an op. A null `in[i].data` is an operand that was left out; a null
// `in[i].meta` with elementwise ops is a host scalar: the next of attrs.s, in operand order.
// Ops that write an input (copy_, fill_, in-place elementwise) get it again as out[0].
struct KernelArgs {
  const OpInfo& op;
  const BufferView* in;
  int n_in;
  const BufferView* out;
  int n_out;
  const Attrs& attrs;
  Ticket ticket;  // random ops
};

// Throws IndexError before the first write when an index operand is out of range.
using Kernel = void (*)(const KernelArgs&);

// One row over n elements of a 1-d run: out advances by strides[0], operand k by strides[1 + k]
// (elements; 0 repeats one value). Results and operands may be the same run, or disjoint.
using LoopFn = void (*)(i64 n, void* out, const void* const* in, const i64* strides);

// The kernel of an op on a device type; throws Error "op: no kernel for ..." when there is none.
Kernel kernel_for(const OpInfo& op, DeviceType device);

// The loop of an elementwise op for a compute dtype at this machine's ISA level (CPU); nullptr
// when the row does not exist for that dtype.
LoopFn loop_for(const OpInfo& op, DType compute);

// The dtype an elementwise op computes in: that of its operands (masks of where() apart).
DType elementwise_dtype(const OpInfo& op, const BufferView* in, int n_in);

}  // namespace ingot
