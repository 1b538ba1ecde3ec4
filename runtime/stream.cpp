#include <utility>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/cuda/fault.h>
#include <ingot/kernels/cuda/stream.h>
#include <ingot/runtime/check_cuda.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/stream.h>

namespace ingot::cuda {

namespace {

Device checked(Device device, Loc loc) {
  check_cuda("cuda::Stream", device, loc);
  return device;
}

// What a compiled function left pending is given to the stream first.
void in_order(const char* what, Loc loc) {
  if (t_interceptor != nullptr) t_interceptor->observe(Access::device_order, nullptr, what, loc);
}

}  // namespace

Stream::Stream(Device device, Loc loc) : device_(checked(device, loc)), shared_(false) {
  const DeviceGuard guard(device_);
  handle_ = take_stream();
}

Stream Stream::current(Device device, Loc loc) {
  const DeviceGuard guard(checked(device, loc));
  const StreamHandle own = thread_stream();
  return {device, own == nullptr ? shared_stream() : own, own == nullptr};
}

Stream Stream::default_stream(Device device, Loc loc) {
  const DeviceGuard guard(checked(device, loc));
  return {device, shared_stream(), true};
}

bool Stream::query(Loc loc) const {
  in_order("Stream::query", loc);
  return stream_done(handle_);
}

void Stream::synchronize(Loc loc) const {
  in_order("Stream::synchronize", loc);
  synchronize_stream(handle_);
  check_fault(device_.index());
}

void Stream::wait_event(const Event& event, Loc loc) const { event.wait(*this, loc); }

void Stream::wait_stream(const Stream& other, Loc loc) const {
  wait_event(other.record_event(loc), loc);
}

Event Stream::record_event(Loc loc) const {
  Event event;
  event.record(*this, loc);
  return event;
}

StreamGuard::StreamGuard(const Stream& stream, Loc loc) : device_(stream.device()), loc_(loc) {
  // A recorded path says nothing of streams.
  if (t_interceptor != nullptr) t_interceptor->leave("a StreamGuard", loc);
  const DeviceGuard guard(device_);
  outer_ = thread_stream();
  set_current_stream(stream.shared_ ? nullptr : stream.stream());
}

StreamGuard::~StreamGuard() {
  // One that began outside a compiled function may end inside: what is pending is its stream's.
  if (t_interceptor != nullptr) {
    try {
      t_interceptor->leave("the end of a StreamGuard", loc_);
    } catch (...) {
      // What could not run is poisoned and says so when it is used.
    }
  }
  const DeviceGuard guard(device_);
  set_current_stream(outer_);
}

Event::~Event() {
  if (handle_ != nullptr) free_event(handle_);
}

Event::Event(Event&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      device_(other.device_),
      timing_(other.timing_) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(device_, other.device_);
  std::swap(timing_, other.timing_);
  return *this;
}

void Event::record(Loc loc) {
  check_cuda("Event::record", handle_ == nullptr ? kCUDA : device_, loc);
  record(Stream::current(handle_ == nullptr ? kCUDA : device_), loc);
}

void Event::record(const Stream& stream, Loc loc) {
  in_order("Event::record", loc);
  const DeviceGuard guard(stream.device());
  if (handle_ == nullptr) {
    handle_ = make_event(timing_);
    device_ = stream.device();
  }
  INGOT_CHECK_AT("Event::record", loc, device_ == stream.device(),
                 "the event is of {}, the stream of {}", device_.str(), stream.device().str());
  record_event(handle_, stream.stream());
}

void Event::wait(Loc loc) const {
  if (handle_ != nullptr) wait(Stream::current(device_), loc);
}

void Event::wait(const Stream& stream, Loc loc) const {
  in_order("Event::wait", loc);
  if (handle_ == nullptr) return;
  const DeviceGuard guard(stream.device());
  wait_event(stream.stream(), handle_);
}

bool Event::query(Loc loc) const {
  in_order("Event::query", loc);
  return handle_ == nullptr || event_done(handle_);
}

void Event::synchronize(Loc loc) const {
  in_order("Event::synchronize", loc);
  if (handle_ == nullptr) return;
  wait_for_event(handle_);
  check_fault(device_.index());
}

float Event::elapsed_time(const Event& end, Loc loc) const {
  INGOT_CHECK_AT("Event::elapsed_time", loc,
                 handle_ != nullptr && end.handle_ != nullptr && timing_ && end.timing_,
                 "both events must have been recorded, with timing enabled");
  end.synchronize(loc);
  return static_cast<float>(elapsed_ms(handle_, end.handle_));
}

}  // namespace ingot::cuda
