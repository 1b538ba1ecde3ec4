// Copies between devices. Owns: the staging of strided and cast operands around a plain copy of
// bytes. Must not know: tensors, ops.
#pragma once

#include <ingot/kernels/core/error.h>
#include <ingot/kernels/core/meta.h>

namespace ingot {

// While one lives, this thread's copies between page-locked host memory and a device do not wait:
// the host's bytes are read or written in the order of the device's stream.
class NonBlocking {
 public:
  explicit NonBlocking(bool on);
  ~NonBlocking();
  NonBlocking(const NonBlocking&) = delete;

 private:
  bool outer_;
};

// to[i] = from[i], cast; `from` broadcasts to the sizes of `to`. On return the host's bytes are
// read (from) or written (to), but for NonBlocking; work on the devices is in the order of their
// streams.
void transfer(const BufferView& to, const BufferView& from, Loc loc);

// Plain bytes, on one device or between two. The same promise.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device,
                std::size_t bytes);

}  // namespace ingot
