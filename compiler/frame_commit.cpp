// What a stop executes: the plan (commit), or the matched ops one by one (flush); and what becomes
// of results when that fails.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <ingot/compiler/entry.h>
#include <ingot/compiler/frame.h>
#include <ingot/kernels/core/check.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/observer.h>
#include <ingot/runtime/op_errors.h>
#include <ingot/runtime/transfer.h>

namespace ingot::compiler {

namespace {

// The error of a kernel, completed with the operands and the line as eager dispatch does it.
std::exception_ptr completed(std::exception_ptr error, const OpInfo& op,
                             const std::vector<const Meta*>& in, Loc loc) {
  try {
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      throw_complete(e, op, in.data(), static_cast<int>(in.size()), loc);
    }
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

void Frame::commit(const TrieNode& stop) {
  if (timed_) replay_ns_ += clock_ns() - mark_;
  try {
    for (int b : stop.kept) {
      Storage& storage = *t_.buffers[static_cast<std::size_t>(b)].storage;
      bool pending = storage.state.load(std::memory_order_relaxed) == ByteState::pending;
      if (pending && storage.bytes > 0) storage.materialize();
    }
    bind(stop.plan);
  } catch (const OutOfMemoryError&) {
    flush();  // nothing has run yet: eager needs less at a time
    return;
  }
  if (entry_.options().verify) verify_plan(stop.plan);
  run_plan(stop.plan);
  for (int b : stop.kept) {
    t_.buffers[static_cast<std::size_t>(b)].storage->state.store(ByteState::real,
                                                                 std::memory_order_release);
  }
  t_.matched.clear();
  t_.n_attrs = 0;
  if (timed_) mark_ = clock_ns();
}

void Frame::bind(const SegmentPlan& plan) {
  Binding& binding = t_.binding;
  binding.buffers.resize(plan.buffers.size());
  void** address = binding.buffers.data();
  for (int b : plan.buffers) *address++ = t_.buffers[static_cast<std::size_t>(b)].storage->data;
  binding.offsets.resize(plan.values.size());
  i64* offset = binding.offsets.data();
  for (const Source& value : plan.values) {
    auto index = static_cast<std::size_t>(value.index);
    *offset++ = value.kind == Source::slot ? t_.slots[index].offset : t_.results[index].offset;
  }
  binding.attrs.resize(t_.matched.size());
  binding.tickets.resize(t_.matched.size());
  const Attrs** attrs = binding.attrs.data();
  Ticket* ticket = binding.tickets.data();
  for (const Matched& m : t_.matched) {
    *attrs++ = m.attrs < 0 ? &m.node->attrs : &t_.attrs[static_cast<std::size_t>(m.attrs)];
    *ticket++ = m.ticket;
  }
}

void Frame::run_plan(const SegmentPlan& plan) {
  int failed = -1;
  try {
    ScopedEvent event({.kind = EventKind::replay, .name = "plan", .loc = entry_.loc()});
    plan.plan->run(t_.binding, &failed);
  } catch (...) {
    std::vector<bool> ran(t_.matched.size(), false);
    for (int k = 0; k < failed; ++k) {
      for (int i : plan.plan->steps()[static_cast<std::size_t>(k)]->ops()) {
        ran[static_cast<std::size_t>(i)] = true;
      }
    }
    const std::vector<int>& ops = plan.plan->steps()[static_cast<std::size_t>(failed)]->ops();
    const Segment& segment = plan.plan->segment();
    auto culprit =
        std::find_if(ops.begin(), ops.end(), [&](int i) { return may_throw(*segment.op(i).op); });
    const SegmentOp& op = segment.op(culprit == ops.end() ? ops.front() : *culprit);
    std::vector<const Meta*> in;
    for (int v : op.in) in.push_back(v < 0 ? nullptr : &segment.meta(v));
    std::exception_ptr error = completed(std::current_exception(), *op.op, in, op.loc);
    poison_ops(ran, error);
    std::rethrow_exception(error);
  }
}

void Frame::poison_ops(const std::vector<bool>& ran, std::exception_ptr error) {
  auto shared = std::make_shared<const std::exception_ptr>(std::move(error));
  for (std::size_t i = 0; i < t_.matched.size(); ++i) {
    for (const NewResult& r : t_.matched[i].node->results) {
      if (!r.new_buffer) continue;
      Storage& storage = *t_.buffers[static_cast<std::size_t>(r.buffer)].storage;
      if (storage.state.load(std::memory_order_relaxed) != ByteState::pending) continue;
      if (ran[i]) {
        storage.state.store(ByteState::real, std::memory_order_release);
      } else {
        poison(storage, shared);
      }
    }
  }
  t_.matched.clear();
  t_.n_attrs = 0;
}

void Frame::flush() {
  std::size_t next = 0;
  try {
    for (; next < t_.matched.size(); ++next) run_matched(t_.matched[next]);
  } catch (...) {
    std::vector<bool> ran(t_.matched.size(), false);
    for (std::size_t i = 0; i < next; ++i) ran[i] = true;
    const TrieNode& node = *t_.matched[next].node;
    std::vector<const Meta*> in;
    for (const Source& source : node.in) {
      auto i = static_cast<std::size_t>(source.index);
      in.push_back(source.kind == Source::none   ? nullptr
                   : source.kind == Source::slot ? t_.slots[i].meta
                                                 : t_.results[i].meta);
    }
    std::exception_ptr error = completed(std::current_exception(), *node.info, in, node.loc);
    poison_ops(ran, error);
    std::rethrow_exception(error);
  }
  t_.matched.clear();
  t_.n_attrs = 0;
}

void Frame::run_matched(const Matched& m) {
  const TrieNode& node = *m.node;
  if (node.info->kind == OpKind::view) return;
  std::vector<BufferView> in(node.in.size());
  auto view = [&](int buffer, i64 offset, const Meta& meta) {
    char* data = static_cast<char*>(t_.buffers[static_cast<std::size_t>(buffer)].storage->data);
    return BufferView{data + offset * item_size(meta.dtype), &meta};
  };
  for (std::size_t i = 0; i < node.in.size(); ++i) {
    auto index = static_cast<std::size_t>(node.in[i].index);
    in[i] = {nullptr, nullptr};
    if (node.in[i].kind == Source::none) continue;
    in[i] = node.in[i].kind == Source::slot
                ? view(t_.slots[index].buffer, t_.slots[index].offset, *t_.slots[index].meta)
                : view(t_.results[index].buffer, t_.results[index].offset, *t_.results[index].meta);
  }
  BufferView out[kMaxOutputs];
  for (std::size_t r = 0; r < node.results.size(); ++r) {
    const NewResult& result = node.results[r];
    Storage& storage = *t_.buffers[static_cast<std::size_t>(result.buffer)].storage;
    if (result.new_buffer && storage.data == nullptr && storage.bytes > 0) storage.materialize();
    i64 offset = t_.results[static_cast<std::size_t>(node.first_result) + r].offset;
    out[r] = view(result.buffer, offset, result.meta);
  }
  const Attrs& attrs = m.attrs < 0 ? node.attrs : t_.attrs[static_cast<std::size_t>(m.attrs)];
  run_kernel({*node.info, in.data(), static_cast<int>(in.size()), out,
              static_cast<int>(node.results.size()), attrs, m.ticket},
             node.loc);
  for (const NewResult& r : node.results) {
    if (!r.new_buffer) continue;
    t_.buffers[static_cast<std::size_t>(r.buffer)].storage->state.store(ByteState::real,
                                                                        std::memory_order_release);
  }
}

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
      Storage& storage = *t_.buffers[static_cast<std::size_t>(plan.buffers[b])].storage;
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
      std::size_t bytes = t_.buffers[static_cast<std::size_t>(plan.buffers[b])].storage->bytes;
      i64 at = first_difference(segment.meta(v).dtype, segment.meta(v).device, eager.buffers[b],
                                fused.buffers[b], bytes);
      INGOT_CHECK(at < 0, "verify: {}: compiled {} (at {}) differs from eager at element {} of {}",
                  entry_.options().name, segment.ops[i].op->name, to_string(segment.ops[i].loc), at,
                  describe(segment.meta(v)));
    }
  }
}

}  // namespace ingot::compiler
