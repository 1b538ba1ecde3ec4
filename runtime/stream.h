// Streams and events of a GPU, by PyTorch's names.
// Owns: cuda::Stream, StreamGuard, Event. A thread's work on a GPU goes to its current stream: one
// that all threads share, unless a StreamGuard says otherwise. Work on one stream runs in order;
// streams wait for each other by events only. Memory needs no care: what several streams used is
// reused only when all of them are done with it. Must not know: tensors.
//
// Inside a compiled function an event or a wait is a cut, and where a StreamGuard begins or ends
// the rest of the call runs op by op. backward() runs on the stream that is current where it is
// called.
#pragma once

#include <ingot/kernels/core/dtype.h>
#include <ingot/kernels/core/error.h>

struct CUstream_st;
struct CUevent_st;

namespace ingot::cuda {

class Event;

class Stream {
 public:
  // A stream beside the shared one. There are 32 for each device, dealt in turn. Throws DeviceError
  // without a GPU.
  explicit Stream(Device device = kCUDA, Loc loc = Loc::here());
  // That of this thread, and the one that all threads share.
  static Stream current(Device device = kCUDA, Loc loc = Loc::here());
  static Stream default_stream(Device device = kCUDA, Loc loc = Loc::here());

  Device device() const { return device_; }
  bool query(Loc loc = Loc::here()) const;        // whether all its work is done
  void synchronize(Loc loc = Loc::here()) const;  // waits for it; throws errors that kernels found
  // What is given to this stream from now on waits for the event, for all work of the other stream.
  void wait_event(const Event& event, Loc loc = Loc::here()) const;
  void wait_stream(const Stream& other, Loc loc = Loc::here()) const;
  Event record_event(Loc loc = Loc::here()) const;
  CUstream_st* stream() const { return handle_; }  // a cudaStream_t
  bool operator==(const Stream&) const = default;

 private:
  friend class StreamGuard;
  Stream(Device device, CUstream_st* handle, bool shared)
      : device_(device), handle_(handle), shared_(shared) {}
  Device device_;
  CUstream_st* handle_;
  bool shared_;
};

// While one lives, this thread's work on the stream's device goes to the stream.
class StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream, Loc loc = Loc::here());
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;

 private:
  Device device_;
  Loc loc_;
  CUstream_st* outer_;
};

// A point in the work of a stream.
class Event {
 public:
  explicit Event(bool enable_timing = false) : timing_(enable_timing) {}
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  // Behind all that the stream was given so far. Once recorded, an event stays with its device.
  void record(Loc loc = Loc::here());  // on the current stream
  void record(const Stream& stream, Loc loc = Loc::here());
  // What is given to the stream from now on waits; an event never recorded is waited for by nobody.
  void wait(Loc loc = Loc::here()) const;  // the current stream
  void wait(const Stream& stream, Loc loc = Loc::here()) const;
  bool query(Loc loc = Loc::here()) const;
  void synchronize(Loc loc = Loc::here()) const;
  // Milliseconds from this event to `end`. Error unless both were recorded with timing.
  float elapsed_time(const Event& end, Loc loc = Loc::here()) const;

 private:
  CUevent_st* handle_ = nullptr;  // null: never recorded
  Device device_;
  bool timing_;
};

}  // namespace ingot::cuda
