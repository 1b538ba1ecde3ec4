// Page-locked host memory, and copies that do not wait for the GPU.
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/stream.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/check_at.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/stream.h>
#include <ingot/runtime/transfer.h>

namespace ingot {

namespace {

// Row-major, page-locked, of no bytes worth reading yet.
Tensor pinned_like(const Tensor& x, DType dtype) {
  Meta m = x.meta();
  m.device = kCPU;
  m.dtype = dtype;
  m.strides = contiguous_strides(m.sizes);
  const auto bytes = static_cast<std::size_t>(m.numel() * item_size(m.dtype));
  return Tensor(TensorImpl::create(Storage::create_pinned(bytes), m, 0));
}

// Memory that no op made, and copies whose end nobody waits for, are not recorded.
void leave_compiled(const char* what, Loc loc) {
  if (t_interceptor != nullptr) t_interceptor->leave(what, loc);
}

// The memory pool asks for the current stream. Unlike a StreamGuard this gives the stream no work,
// so a compiled call goes on.
class AsCurrent {
 public:
  explicit AsCurrent(const cuda::Stream& stream)
      : device_(stream.device()), outer_(cuda::thread_stream()) {
    cuda::set_current_stream(stream.stream() == cuda::shared_stream() ? nullptr : stream.stream());
  }
  ~AsCurrent() { cuda::set_current_stream(outer_); }
  AsCurrent(const AsCurrent&) = delete;

 private:
  cuda::DeviceGuard device_;
  cuda::StreamHandle outer_;
};

}  // namespace

Tensor Tensor::to(TensorOptions options, bool non_blocking, Loc loc) const {
  if (!non_blocking) return to(options, loc);
  const bool to_host = defined() && device().is_cuda() && options.has_device() &&
                       options.device().is_cpu() && !(requires_grad() && grad_enabled());
  if (!to_host) {
    const NonBlocking scope(true);
    return to(options, loc);
  }
  leave_compiled("to(cpu) that does not wait", loc);
  Tensor out = pinned_like(*this, options.has_dtype() ? options.dtype() : dtype());
  return out.copy_(*this, true, loc);
}

Tensor& Tensor::copy_(const Tensor& source, bool non_blocking, Loc loc) {
  const NonBlocking scope(non_blocking);
  return copy_(source, loc);
}

Tensor Tensor::pin_memory(Loc loc) const {
  INGOT_CHECK_AT("pin_memory", loc, defined() && device().is_cpu(),
                 "only memory of the host can be page-locked");
  if (is_pinned(loc)) return *this;
  leave_compiled("pin_memory", loc);
  Tensor out = pinned_like(*this, dtype());
  out.copy_(*this, loc);
  return out;
}

bool Tensor::is_pinned(Loc loc) const {
  if (!defined() || !device().is_cpu() || numel() == 0) return false;
  observe(*this, Access::read, "is_pinned", loc);
  return cuda::is_pinned(get().data());
}

void Tensor::record_stream(const cuda::Stream& stream, Loc loc) const {
  INGOT_CHECK_AT("record_stream", loc, defined() && device() == stream.device(),
                 "the tensor is not on {}", stream.device().str());
  observe(*this, Access::write, "record_stream", loc);
  const AsCurrent current(stream);
  used_on_stream(get().data(), device());
}

}  // namespace ingot
