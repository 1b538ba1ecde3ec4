// Page-locked host memory, and copies that do not wait for the GPU.
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/cuda/stream.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/arguments.h>
#include <ingot/runtime/check_cuda.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/internal_ops.h>
#include <ingot/runtime/stream.h>
#include <ingot/runtime/transfer.h>

namespace ingot {

namespace {

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

Tensor empty_pinned(const Dims& sizes, DType dtype, const char* what, Loc loc) {
  check_cuda(what, kCUDA, loc);
  // Memory that no op made, and copies whose end nobody waits for, are not recorded.
  if (t_interceptor != nullptr) t_interceptor->leave(what, loc);
  Meta m;
  m.sizes = sizes;
  m.strides = contiguous_strides(sizes);
  m.dtype = dtype;
  const auto bytes = static_cast<std::size_t>(m.numel() * item_size(dtype));
  Ref<Storage> storage = with_line(what, loc, [&] { return Storage::create_pinned(bytes); });
  return Tensor(TensorImpl::create(std::move(storage), m, 0));
}

Tensor Tensor::to(TensorOptions options, Flag non_blocking, Loc loc) const {
  if (!non_blocking) return to(options, loc);
  const bool to_host = defined() && device().is_cuda() && options.has_device() &&
                       options.device().is_cpu() && !(requires_grad() && grad_enabled());
  if (!to_host) {
    const NonBlocking scope(true);
    return to(options, loc);
  }
  const DType t = options.has_dtype() ? options.dtype() : dtype();
  Tensor out = empty_pinned(sizes(), t, "to(cpu) that does not wait", loc);
  return out.copy_(*this, true, loc);
}

Tensor& Tensor::copy_(const Tensor& source, Flag non_blocking, Loc loc) & {
  const NonBlocking scope(non_blocking);
  return copy_(source, loc);
}

Tensor Tensor::pin_memory(Loc loc) const {
  INGOT_CHECK_AT("pin_memory", loc, given(*this, "pin_memory", loc).device().is_cpu(),
                 "only memory of the host can be page-locked");
  if (is_pinned(loc)) return *this;
  Tensor out = empty_pinned(sizes(), dtype(), "pin_memory", loc);
  out.copy_(*this, loc);
  return out;
}

bool Tensor::is_pinned(Loc loc) const {
  if (!defined() || !device().is_cpu() || numel() == 0) return false;
  observe(*this, Access::read, "is_pinned", loc);
  return cuda::is_pinned(get().data());
}

void Tensor::record_stream(const cuda::Stream& stream, Loc loc) const {
  INGOT_CHECK_AT("record_stream", loc,
                 given(*this, "record_stream", loc).device() == stream.device(),
                 "the tensor is not on {}", stream.device().str());
  observe(*this, Access::write, "record_stream", loc);
  const AsCurrent current(stream);
  used_on_stream(get().data(), device());
}

}  // namespace ingot
