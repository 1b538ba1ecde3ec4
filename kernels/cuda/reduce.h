// Reductions over any axes on CUDA. Owns: the way from strides to rows, columns and pieces. Must
// not know: device code.
#pragma once

#include <ingot/kernels/cuda/reduce_task.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot {
inline namespace INGOT_ISA {

void cuda_reduce(const KernelArgs& args);

// One step: task.groups rows (or columns of as many matrices), cut into pieces as their shape
// demands; the task says all but pieces. `compute`: the type of what lies between.
enum class ReduceAlong { rows, columns };
void reduce_on_device(CudaReduce kind, ReduceAlong along, ReduceTask task, DType compute);

// The sum of n elements side by side, in the compute type, divided by *divisor if there is one.
void sum_on_device(const void* x, DType storage, i64 n, void* out, DType out_dtype,
                   const void* divisor = nullptr);

}  // namespace INGOT_ISA
}  // namespace ingot
