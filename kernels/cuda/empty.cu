// CUDA unit: a kernel that does nothing, as the measure of what a launch costs.
#include <ingot/kernels/cuda/launch.cuh>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

__global__ void __launch_bounds__(32) empty_kernel(const int) { wait_for_previous(); }

}  // namespace

void launch_empty() { launch(empty_kernel, {1, 32}, 0); }

}  // namespace INGOT_ISA
}  // namespace ingot
