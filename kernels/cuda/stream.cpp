#include <array>
#include <atomic>
#include <cuda_runtime_api.h>
#include <mutex>

#include <ingot/kernels/cuda/check.h>
#include <ingot/kernels/cuda/stream.h>

namespace ingot::cuda {

namespace {

constexpr std::size_t kStreams = 32;
std::atomic<bool> g_in_use{false};

// Asked whether something is finished; errors of earlier work show up here.
bool done(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return true;
  if (status != cudaErrorNotReady) throw_status(static_cast<int>(status), call);
  (void)cudaGetLastError();
  return false;
}

}  // namespace

StreamHandle take_stream() {
  struct Dealer {
    std::array<StreamHandle, kStreams> streams{};
    std::size_t next = 0;
  };
  static std::mutex mutex;
  static std::array<Dealer, kMaxDevices> dealers;
  (void)current_stream();  // the context exists from here on
  const std::lock_guard lock(mutex);
  Dealer& dealer = dealers[static_cast<std::size_t>(current_device())];
  StreamHandle& stream = dealer.streams[dealer.next++ % kStreams];
  if (stream == nullptr) {
    INGOT_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  g_in_use.store(true, std::memory_order_relaxed);
  return stream;
}

bool streams_in_use() { return g_in_use.load(std::memory_order_relaxed); }

bool stream_done(StreamHandle stream) { return done(cudaStreamQuery(stream), "cudaStreamQuery"); }
void synchronize_stream(StreamHandle stream) { INGOT_CUDA_CHECK(cudaStreamSynchronize(stream)); }

EventHandle make_event(bool timing) {
  (void)current_stream();
  EventHandle event = nullptr;
  INGOT_CUDA_CHECK(
      cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming));
  return event;
}
void record_event(EventHandle event, StreamHandle stream) {
  INGOT_CUDA_CHECK(cudaEventRecord(event, stream));
}
void wait_event(StreamHandle stream, EventHandle event) {
  INGOT_CUDA_CHECK(cudaStreamWaitEvent(stream, event, 0));
}
bool event_done(EventHandle event) { return done(cudaEventQuery(event), "cudaEventQuery"); }

bool is_pinned(const void* address) {
  if (!is_available()) return false;
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

}  // namespace ingot::cuda
