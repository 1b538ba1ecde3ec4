// What INGOT_VERIFY does: runs a segment op by op and as planned, and compares the bytes.
#include <cmath>
#include <cstring>
#include <utility>

#include <ingot/compiler/entry.h>
#include <ingot/compiler/frame.h>
#include <ingot/kernels/core/check.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/transfer.h>

namespace ingot::compiler {

namespace {

struct BytesOn {
  BytesOn(std::size_t n, Device where) : bytes(n), device(where), data(allocate(n, where)) {}
  BytesOn(BytesOn&& o) noexcept
      : bytes(o.bytes), device(o.device), data(std::exchange(o.data, nullptr)) {}
  ~BytesOn() { deallocate(data, bytes, device); }
  std::size_t bytes;
  Device device;
  void* data;
};

// The first element in which two dense runs differ; NaNs of any sign and payload are equal.
template <class T>
i64 first_difference(const void* a, const void* b, std::size_t bytes) {
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
    if (std::memcmp(&x[i], &y[i], sizeof(T)) == 0) continue;
    if (x[i] != x[i] && y[i] != y[i]) continue;
    return static_cast<i64>(i);
  }
  return -1;
}

i64 first_difference(DType t, Device device, const void* a, const void* b, std::size_t bytes) {
  if (device.is_cuda()) {
    const BytesOn x(bytes, kCPU), y(bytes, kCPU);
    copy_bytes(x.data, kCPU, a, device, bytes);
    copy_bytes(y.data, kCPU, b, device, bytes);
    return first_difference(t, kCPU, x.data, y.data, bytes);
  }
  if (t == DType::f32) return first_difference<float>(a, b, bytes);
  if (t == DType::f64) return first_difference<double>(a, b, bytes);
  return first_difference<unsigned char>(a, b, bytes);
}

}  // namespace

// Runs the ops one by one on copies, then the plan on the real memory's copies, and compares every
// buffer that outlives the segment. The caller then runs the plan for real.
void Frame::verify_plan(const SegmentPlan& plan) {
  const Segment& segment = plan.plan->segment();
  auto copy_of = [&](Binding& binding, std::vector<BytesOn>& memory, bool all_temporaries) {
    for (std::size_t b = 0; b < segment.buffers.size(); ++b) {
      const Buffer& buffer = segment.buffers[b];
      Storage& storage = *t_.buffer(plan.buffers[b]).storage;
      bool outlives = buffer.live && buffer.produced;
      if (!outlives && !buffer.written && !(all_temporaries && buffer.produced)) continue;
      const Device device = storage.device;
      memory.emplace_back(storage.bytes, device);
      binding.buffers[b] = memory.back().data;
      if (!buffer.produced) {
        copy_bytes(memory.back().data, device, storage.data, device, storage.bytes);
      }
    }
  };
  Binding eager = t_.binding, fused = t_.binding;
  std::vector<BytesOn> eager_memory, fused_memory;
  copy_of(eager, eager_memory, true);
  copy_of(fused, fused_memory, false);
  try {
    for (std::size_t i = 0; i < segment.ops.size(); ++i) {
      if (!segment.ops[i].is_view())
        make_op_step(segment, static_cast<int>(i))->run(segment, eager);
    }
  } catch (...) {
    return;  // the real run meets the same data
  }
  int failed = -1;
  plan.plan->run(fused, &failed);
  for (std::size_t i = segment.ops.size(); i-- > 0;) {
    for (int v : segment.ops[i].out) {
      auto b = static_cast<std::size_t>(segment.buffer_of(v));
      const Buffer& buffer = segment.buffers[b];
      if (segment.ops[i].is_view() || (!buffer.written && !(buffer.live && buffer.produced))) {
        continue;
      }
      if (buffer.produced && !buffer.live) continue;
      std::size_t bytes = t_.buffer(plan.buffers[b]).storage->bytes;
      i64 at = first_difference(segment.meta(v).dtype, segment.meta(v).device, eager.buffers[b],
                                fused.buffers[b], bytes);
      INGOT_CHECK(at < 0, "verify: {}: compiled {} (at {}) differs from eager at element {} of {}",
                  entry_.options().name, segment.ops[i].op->name, to_string(segment.ops[i].loc), at,
                  describe(segment.meta(v)));
    }
  }
}

}  // namespace ingot::compiler
