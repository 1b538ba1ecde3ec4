// CUDA devices as the layers above see them: which there are, the current one, its stream, raw
// memory and copies. Owns: every call of the CUDA runtime but kernel launches. Without CUDA in the
// build (absent.cpp) or a usable GPU, each function that needs one throws DeviceError with the
// reason. Must not know: tensors, caching. Includes no CUDA header.
#pragma once

#include <cstddef>
#include <string>

#include <ingot/kernels/core/dims.h>
#include <ingot/kernels/core/dtype.h>

struct CUstream_st;
struct CUevent_st;

namespace ingot::cuda {

using StreamHandle = CUstream_st*;
using EventHandle = CUevent_st*;

// The most devices that one process uses; what more are visible are left alone.
inline constexpr int kMaxDevices = 64;

// Asked once per process; nothing of CUDA is started before the first such question.
bool is_available();
std::string unavailable_reason();  // empty when it is; else a sentence with the remedy
int device_count();                // 0 when unavailable; at most kMaxDevices

struct DeviceProperties {
  std::string name;  // "NVIDIA H200"
  int major = 0, minor = 0;
  int multiprocessors = 0;
  i64 memory = 0, l2 = 0;  // bytes
  int clock_khz = 0;       // the highest of its multiprocessors
  int threads_per_multiprocessor = 0, registers_per_multiprocessor = 0;
  i64 shared_per_multiprocessor = 0;  // bytes
  int driver = 0, runtime = 0;        // 13000 is 13.0
};
const DeviceProperties& properties(int device = 0);

// Whether this process has given the device anything to do.
bool in_use(int device);

// The device that this thread's CUDA work goes to.
int current_device();
void set_current_device(int device);

class DeviceGuard {
 public:
  explicit DeviceGuard(int device) : outer_(current_device()) { set_current_device(device); }
  explicit DeviceGuard(Device device) : DeviceGuard(device.index()) {}
  ~DeviceGuard() { set_current_device(outer_); }
  DeviceGuard(const DeviceGuard&) = delete;

 private:
  int outer_;
};

// The stream of the current device on which this thread's work is ordered. All threads share one
// per device unless a StreamGuard says otherwise, so tensors may pass between threads freely.
StreamHandle current_stream();
void set_current_stream(StreamHandle stream);  // nullptr: the shared one
StreamHandle thread_stream();                  // what was set last; nullptr: the shared one
StreamHandle shared_stream();                  // of the current device

// Held while a thread records a graph: waiting for a whole device meanwhile fails, and breaks the
// recording.
class RecordingLock {
 public:
  RecordingLock();
  ~RecordingLock();
  RecordingLock(const RecordingLock&) = delete;
};

// Waits for everything given to the current stream, or to a device.
void synchronize_stream();
void synchronize_device(int device);

// Memory of the current device; nullptr when there is none left.
void* allocate_raw(std::size_t bytes);
void free_raw(void* block) noexcept;
// Free and all memory of the current device, in bytes.
struct MemoryInfo {
  i64 free, total;
};
MemoryInfo memory_info();
// Page-locked host memory, as CUDA copies it without a stop; nullptr when there is none left.
void* allocate_pinned(std::size_t bytes);
void free_pinned(void* block) noexcept;

// Bytes between host and device, or on and between devices, in the order of the current stream.
// From pageable host memory the call returns once the bytes are read; to pageable host memory once
// they are written.
void copy(void* to, const void* from, std::size_t bytes);
void fill_zero(void* to, std::size_t bytes);

// Throws what a status of the CUDA runtime (a cudaError_t) means; `call` is where it came from.
[[noreturn]] void throw_status(int status, const char* call);

}  // namespace ingot::cuda
