// Streams, and events between them, as the layers above see them, beside the shared stream of
// device.h. Owns: the pool of streams, the calls of CUDA on streams and events. Without CUDA each
// function that needs it throws DeviceError. Must not know: tensors, memory. Includes no CUDA
// header.
#pragma once

#include <ingot/kernels/cuda/timing.h>

namespace ingot::cuda {

// One of 32 streams of the current device, dealt in turn and never destroyed.
StreamHandle take_stream();
// Whether any was ever dealt. Until then all work of a device is in the order of one stream.
bool streams_in_use();
// The stream of `device` that a StreamGuard gave this thread; nullptr: the shared one.
StreamHandle thread_stream(int device);

bool stream_done(StreamHandle stream);
void synchronize_stream(StreamHandle stream);

// Events are of the current device; timing.h has what else there is of them.
EventHandle make_event(bool timing);
void record_event(EventHandle event, StreamHandle stream);
void wait_event(StreamHandle stream, EventHandle event);
bool event_done(EventHandle event);

// Whether the address is page-locked host memory: copies from and to it do not wait.
bool is_pinned(const void* address);

// While one lives, this thread's work on the current device goes to `stream` to be recorded, but
// memory is still that of the stream that was current before.
class CaptureStream {
 public:
  explicit CaptureStream(StreamHandle stream);
  ~CaptureStream();
  CaptureStream(const CaptureStream&) = delete;

 private:
  StreamHandle outer_;
};

}  // namespace ingot::cuda
