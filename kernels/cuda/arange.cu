// CUDA unit: arange.
#include <ingot/kernels/cuda/arange.h>
#include <ingot/kernels/cuda/storage.cuh>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

constexpr int kArangeThreads = 256;

__global__ void __launch_bounds__(kArangeThreads) arange_kernel(const ArangeTask task) {
  wait_for_previous();
  const Int64 i = Int64(blockIdx.x) * kArangeThreads + threadIdx.x;
  if (i >= task.n) return;
  if (task.floating) {
    store_as<double>(task.out, i * task.stride, task.dtype,
                     Num<double>(task.start + double(i) * task.step));
  } else {
    store_as<Int64>(task.out, i * task.stride, task.dtype,
                    Num<Int64>(task.first) + Num<Int64>(i) * Num<Int64>(task.by));
  }
}

}  // namespace

void launch_arange(const ArangeTask& task) {
  launch(arange_kernel, {(task.n + kArangeThreads - 1) / kArangeThreads, kArangeThreads}, task);
}

}  // namespace INGOT_ISA
}  // namespace ingot
