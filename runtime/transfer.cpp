#include <cstring>
#include <optional>

#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/fault.h>
#include <ingot/kernels/cuda/stream.h>
#include <ingot/kernels/ops/structured/data.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/transfer.h>

namespace ingot {

namespace {

// A row-major buffer of its own, for the length of a copy.
class Staging {
 public:
  Staging(const Meta& like, Device device) : meta_(like) {
    meta_.device = device;
    meta_.strides = contiguous_strides(meta_.sizes);
    bytes_ = static_cast<std::size_t>(meta_.numel() * item_size(meta_.dtype));
    data_ = allocate(bytes_, device);
  }
  ~Staging() { deallocate(data_, bytes_, meta_.device); }
  Staging(const Staging&) = delete;
  BufferView view() const { return {data_, &meta_}; }

 private:
  Meta meta_;
  std::size_t bytes_;
  void* data_;
};

thread_local bool t_non_blocking = false;

// The current stream waits for what was given to this thread's stream of the other device: its
// memory may still be in use there.
void wait_for_device(Device other) {
  const cuda::StreamHandle here = cuda::current_stream();
  cuda::EventHandle event = nullptr;
  {
    const cuda::DeviceGuard guard(other);
    event = cuda::make_event(false);
    cuda::record_event(event, cuda::current_stream());
  }
  cuda::wait_event(here, event);
  cuda::free_event(event);  // once it has passed
}

void copy_on_one_device(const BufferView& to, const BufferView& from, Loc loc) {
  Attrs attrs;
  attrs.a = 1;
  run_kernel({structured_op<structured::Clone>, &from, 1, &to, 1, attrs, {}}, loc);
}

}  // namespace

NonBlocking::NonBlocking(bool on) : outer_(t_non_blocking) { t_non_blocking = on; }
NonBlocking::~NonBlocking() { t_non_blocking = outer_; }

void copy_bytes(void* to, Device to_device, const void* from, Device from_device,
                std::size_t bytes) {
  if (bytes == 0) return;
  if (to_device.is_cpu() && from_device.is_cpu()) {
    std::memcpy(to, from, bytes);
    return;
  }
  const cuda::DeviceGuard guard(from_device.is_cuda() ? from_device : to_device);
  used_on_stream(from, from_device);
  used_on_stream(to, to_device);
  if (from_device.is_cuda() && to_device.is_cuda() && !(from_device == to_device)) {
    wait_for_device(to_device);
  }
  cuda::copy(to, from, bytes);
  if (from_device == to_device) return;
  const bool from_host = from_device.is_cpu();
  if (from_host || (to_device.is_cpu() && t_non_blocking)) {
    const void* host = from_host ? from : to;
    const bool pinned = cuda::is_pinned(host);
    if (from_host && !pinned) return;  // pageable bytes have been read
    if (pinned && t_non_blocking) {
      return pinned_used_on_stream(host, from_host ? to_device : from_device);
    }
  }
  // To the host: the caller reads the bytes. From page-locked memory: the caller may write them.
  // Between devices: the other one's stream does not wait for this one's.
  cuda::synchronize_stream();
  if (from_device.is_cuda()) cuda::check_fault(from_device.index());
}

void transfer(const BufferView& to, const BufferView& from, Loc loc) {
  if (to.meta->numel() == 0) return;
  // The bytes travel row-major in the source's dtype; casts, strides and broadcasts are done on
  // either side of the way.
  std::optional<Staging> packed, arrived;
  BufferView source = from;
  if (!is_contiguous(*from.meta)) {
    packed.emplace(*from.meta, from.meta->device);
    source = packed->view();
    copy_on_one_device(source, from, loc);
  }
  BufferView target = to;
  const bool plain = is_contiguous(*to.meta) && to.meta->dtype == from.meta->dtype &&
                     to.meta->sizes == from.meta->sizes;
  if (!plain) {
    arrived.emplace(*from.meta, to.meta->device);
    target = arrived->view();
  }
  const i64 bytes = source.meta->numel() * item_size(source.meta->dtype);
  copy_bytes(target.data, to.meta->device, source.data, from.meta->device,
             static_cast<std::size_t>(bytes));
  if (!plain) copy_on_one_device(to, target, loc);
}

}  // namespace ingot
