#include <ingot/kernels/cuda/check.h>
#include <ingot/kernels/cuda/kernel_launch.h>
#include <ingot/kernels/cuda/timing.h>

namespace ingot::cuda {

EventHandle make_timing_event() noexcept {
  EventHandle event = nullptr;
  if (cudaEventCreate(&event) == cudaSuccess) return event;
  (void)cudaGetLastError();
  return nullptr;
}

void free_event(EventHandle event) noexcept {
  if (event != nullptr) (void)cudaEventDestroy(event);
}

bool record_time(EventHandle event) noexcept {
  if (event == nullptr || LaunchTape::current() != nullptr) return false;
  if (cudaEventRecord(event, current_stream()) == cudaSuccess) return true;
  (void)cudaGetLastError();
  return false;
}

void wait_for_event(EventHandle event) { INGOT_CUDA_CHECK(cudaEventSynchronize(event)); }

double elapsed_ms(EventHandle from, EventHandle to) noexcept {
  float ms = 0;
  if (cudaEventElapsedTime(&ms, from, to) == cudaSuccess) return ms;
  (void)cudaGetLastError();
  return -1;
}

}  // namespace ingot::cuda
