#include <algorithm>
#include <cstring>
#include <optional>

#include <ingot/compiler/cuda/graph_cache.h>
#include <ingot/compiler/plan.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/kernel_launch.h>
#include <ingot/kernels/cuda/stream.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/dispatch.h>

namespace ingot::compiler {

namespace {

constexpr i64 align_up(i64 bytes) {
  constexpr auto a = static_cast<i64>(kStorageAlignment);
  return (bytes + a - 1) / a * a;
}

class OpStep final : public Step {
 public:
  explicit OpStep(int op) : ops_{op} {}

  void run(const Segment& segment, const Binding& binding) const override {
    auto index = static_cast<std::size_t>(ops_[0]);
    const SegmentOp& op = segment.ops[index];
    constexpr std::size_t kInline = 8;
    BufferView inline_views[kInline];
    std::vector<BufferView> heap;
    BufferView* in = inline_views;
    if (op.in.size() > kInline) {
      heap.resize(op.in.size());
      in = heap.data();
    }
    for (std::size_t i = 0; i < op.in.size(); ++i) {
      in[i] = op.in[i] < 0
                  ? BufferView{nullptr, nullptr}
                  : BufferView{binding.address(segment, op.in[i]), &segment.meta(op.in[i])};
    }
    BufferView out[kMaxOutputs];
    for (std::size_t i = 0; i < op.out.size(); ++i) {
      out[i] = {binding.address(segment, op.out[i]), &segment.meta(op.out[i])};
    }
    run_kernel({*op.op, in, static_cast<int>(op.in.size()), out, static_cast<int>(op.out.size()),
                *binding.attrs[index], binding.tickets[index]},
               op.loc);
  }
  const std::vector<int>& ops() const override { return ops_; }

 private:
  std::vector<int> ops_;
};

constexpr std::size_t kMaxArenas = 8;
constexpr int kUnknown = -1;

struct ArenaMemory {
  ArenaMemory(i64 b, Device where)
      : bytes(static_cast<std::size_t>(b)), device(where), data(allocate(bytes, device)) {}
  ~ArenaMemory() { deallocate(data, bytes, device); }
  ArenaMemory(const ArenaMemory&) = delete;
  std::size_t bytes;
  Device device;
  void* data;
};

}  // namespace

std::vector<int> Step::touched(const Segment& segment) const {
  std::vector<int> buffers;
  for (int i : ops()) {
    const SegmentOp& op = segment.ops[static_cast<std::size_t>(i)];
    for (int v : op.in) {
      if (v >= 0) buffers.push_back(segment.buffer_of(v));
    }
    for (int v : op.out) buffers.push_back(segment.buffer_of(v));
  }
  return buffers;
}

std::unique_ptr<Step> make_op_step(const Segment&, int op) { return std::make_unique<OpStep>(op); }

std::vector<bool> needed_ops(const Segment& segment) {
  std::vector<bool> needed(segment.ops.size(), false);
  std::vector<bool> buffer_needed(segment.buffers.size());
  for (std::size_t b = 0; b < segment.buffers.size(); ++b) {
    buffer_needed[b] = segment.buffers[b].live || !segment.buffers[b].produced;
  }
  for (std::size_t i = segment.ops.size(); i-- > 0;) {
    const SegmentOp& op = segment.ops[i];
    if (op.is_view()) continue;
    bool keep = may_throw(*op.op);
    for (int v : op.out) keep |= buffer_needed[static_cast<std::size_t>(segment.buffer_of(v))];
    if (!keep) continue;
    needed[i] = true;
    for (int v : op.in) {
      if (v >= 0) buffer_needed[static_cast<std::size_t>(segment.buffer_of(v))] = true;
    }
    for (int v : op.out) buffer_needed[static_cast<std::size_t>(segment.buffer_of(v))] = true;
  }
  return needed;
}

std::vector<std::unique_ptr<Step>> single_steps(const Segment& segment) {
  std::vector<bool> needed = needed_ops(segment);
  std::vector<std::unique_ptr<Step>> steps;
  for (std::size_t i = 0; i < segment.ops.size(); ++i) {
    if (needed[i]) steps.push_back(make_op_step(segment, static_cast<int>(i)));
  }
  return steps;
}

Plan::Plan(Segment segment, std::vector<std::unique_ptr<Step>> steps)
    : segment_(std::move(segment)),
      steps_(std::move(steps)),
      made_(std::make_unique<std::atomic<int>[]>(steps_.size())) {
  for (std::size_t k = 0; k < steps_.size(); ++k) made_[k] = kUnknown;
  plan_arena();
}

Plan::~Plan() = default;

int Plan::arena_of(Device device) {
  for (std::size_t k = 0; k < arenas_.size(); ++k) {
    if (arenas_[k].device == device) return static_cast<int>(k);
  }
  INGOT_CHECK(arenas_.size() < kMaxArenas,
              "compile: temporaries on more than {} devices in one plan", kMaxArenas);
  arenas_.push_back({device});
  return static_cast<int>(arenas_.size()) - 1;
}

i64 Plan::arena_bytes() const {
  i64 bytes = 0;
  for (const Arena& a : arenas_) bytes += a.bytes;
  return bytes;
}

void Plan::plan_arena() {
  // Life of each temporary: from the first to the last step that touches its buffer.
  struct Life {
    int first = -1, last = -1;
  };
  std::vector<Life> lives(segment_.buffers.size());
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    for (int i : steps_[k]->touched(segment_)) {
      Life& life = lives[static_cast<std::size_t>(i)];
      if (life.first < 0) life.first = static_cast<int>(k);
      life.last = static_cast<int>(k);
    }
  }
  std::vector<int> order;
  for (std::size_t b = 0; b < lives.size(); ++b) {
    const Buffer& buffer = segment_.buffers[b];
    if (!buffer.produced || buffer.live) continue;
    if (lives[b].first >= 0) {
      order.push_back(static_cast<int>(b));
    } else {
      bytes_saved_ += 2 * buffer.bytes;  // neither written nor read back
    }
  }
  // Largest first, each at the lowest offset that is free during its life.
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return segment_.buffer(a).bytes > segment_.buffer(b).bytes;
  });
  for (int b : order) {
    const Life& life = lives[static_cast<std::size_t>(b)];
    i64 bytes = align_up(std::max<i64>(segment_.buffer(b).bytes, 1));
    const int arena = arena_of(segment_.buffer(b).device);
    std::vector<std::pair<i64, i64>> taken;
    for (const ArenaSlot& slot : slots_) {
      if (slot.arena != arena) continue;
      const Life& other = lives[static_cast<std::size_t>(slot.buffer)];
      if (other.first > life.last || other.last < life.first) continue;
      taken.emplace_back(slot.offset, slot.offset + align_up(std::max<i64>(
                                                        segment_.buffer(slot.buffer).bytes, 1)));
    }
    std::sort(taken.begin(), taken.end());
    i64 offset = 0;
    for (auto [begin, end] : taken) {
      if (offset + bytes <= begin) break;
      offset = std::max(offset, end);
    }
    slots_.push_back({b, arena, offset});
    i64& size = arenas_[static_cast<std::size_t>(arena)].bytes;
    size = std::max(size, offset + bytes);
    unplanned_bytes_ += bytes;
  }
}

void Plan::run(Binding& binding, int* failed_step) const {
  *failed_step = kNoArena;
  std::optional<ArenaMemory> memory[kMaxArenas];
  for (std::size_t k = 0; k < arenas_.size(); ++k) {
    memory[k].emplace(arenas_[k].bytes, arenas_[k].device);
  }
  for (const ArenaSlot& slot : slots_) {
    binding.buffers[static_cast<std::size_t>(slot.buffer)] =
        static_cast<char*>(memory[slot.arena]->data) + slot.offset;
  }
  for (std::size_t b = 0; cuda::streams_in_use() && b < binding.buffers.size(); ++b) {
    used_on_stream(binding.buffers[b], segment_.buffers[b].device);
  }
  int failed = 0;
  std::size_t first = 0;
  try {
    if (stretches_.empty()) run_steps(binding, 0, steps_.size(), &failed, nullptr);
    for (const Stretch& stretch : stretches_) {
      first = stretch.first;
      if (stretch.graphs != nullptr) {
        run_graph(stretch, binding, &failed);
      } else {
        run_steps(binding, stretch.first, stretch.end, &failed, nullptr);
      }
    }
  } catch (...) {
    *failed_step = static_cast<int>(first) + failed;
    throw;
  }
  *failed_step = kNoneFailed;
}

void Plan::run_steps(const Binding& binding, std::size_t first, std::size_t end, int* failed,
                     std::vector<int>* nodes) const {
  for (std::size_t k = first; k < end; ++k) {
    *failed = static_cast<int>(k - first);
    const std::int64_t before = cuda::launches_made();
    steps_[k]->run(segment_, binding);
    if (nodes != nullptr) nodes->push_back(cuda::Graph::nodes_recorded());
    std::atomic<int>& made = made_[k];
    if (made.load(std::memory_order_relaxed) == kUnknown) {
      made.store(static_cast<int>(cuda::launches_made() - before), std::memory_order_relaxed);
    }
  }
}

int Plan::launches() const {
  int sum = 0;
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const int made = made_[k].load(std::memory_order_relaxed);
    const int op = steps_[k]->ops()[0];
    const bool on_gpu = segment_.meta(segment_.op(op).out[0]).device.is_cuda();
    sum += on_gpu && made != kUnknown ? made : 1;
  }
  return sum;
}

GraphUse Plan::graph_use() const {
  GraphUse all;
  for (const Stretch& stretch : stretches_) {
    if (stretch.graphs == nullptr) continue;
    const GraphUse use = stretch.graphs->use();
    all.recorded += use.recorded;
    all.launches += use.launches;
    all.updates += use.updates;
    all.dropped += use.dropped;
  }
  return all;
}

// None: it runs on the host, or copies from one device to another.
std::optional<Device> Plan::gpu_of(const Step& step) const {
  std::optional<Device> found;
  for (int i : step.ops()) {
    const SegmentOp& op = segment_.op(i);
    for (const std::vector<int>* values : {&op.in, &op.out}) {
      for (int v : *values) {
        if (v < 0) continue;
        const Device device = segment_.meta(v).device;
        if (!device.is_cuda() || (found && !(*found == device))) return std::nullopt;
        found = device;
      }
    }
  }
  return found;
}

void Plan::use_graphs() {
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const std::optional<Device> gpu = gpu_of(*steps_[k]);
    const Device device = gpu.value_or(Device(kCPU));
    if (stretches_.empty() || !(stretches_.back().device == device)) {
      stretches_.push_back({k, k, device, nullptr});
    }
    stretches_.back().end = k + 1;
  }
  for (Stretch& stretch : stretches_) {
    if (!stretch.device.is_cuda()) continue;
    std::vector<StepNote> notes;
    for (std::size_t k = stretch.first; k < stretch.end; ++k) {
      notes.push_back(note_of(*steps_[k], segment_));
    }
    stretch.graphs = std::make_unique<GraphCache>(std::move(notes), stretch.device);
  }
}

void Plan::run_graph(const Stretch& stretch, const Binding& binding, int* failed) const {
  const cuda::DeviceGuard guard(stretch.device);
  // All that steps on this device read from the binding. What the host's steps read makes no
  // difference to them.
  static thread_local std::vector<std::uint64_t> words;
  words.clear();
  const auto add = [&](const void* bytes, std::size_t n) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, n);
    words.push_back(word);
  };
  for (std::size_t b = 0; b < binding.buffers.size(); ++b) {
    if (segment_.buffers[b].device == stretch.device) add(&binding.buffers[b], sizeof(void*));
  }
  for (std::size_t v = 0; v < binding.offsets.size(); ++v) {
    const Meta& meta = segment_.values[v].meta;
    const i64 bytes = binding.offsets[v] * item_size(meta.dtype);
    if (meta.device == stretch.device) add(&bytes, sizeof bytes);
  }
  const std::size_t places = words.size();
  // A graph's scratch memory belongs to the stream that it is launched on.
  const cuda::StreamHandle stream = cuda::thread_stream();
  add(&stream, sizeof stream);
  for (const Attrs* attrs : binding.attrs) {
    for (int i = 0; attrs != nullptr && i < attrs->n_scalars; ++i) {
      const Scalar s = attrs->s[i];
      const double real = s.to_double();
      const i64 whole = s.is_floating() ? 0 : s.to_int();
      add(&real, sizeof real);
      add(&whole, sizeof whole);
    }
  }
  for (const Ticket& ticket : binding.tickets) {
    add(&ticket.seed, sizeof ticket.seed);
    add(&ticket.offset, sizeof ticket.offset);
  }
  const auto launches = [&](std::vector<int>* nodes) {
    run_steps(binding, stretch.first, stretch.end, failed, nodes);
  };
  stretch.graphs->run(words, places, launches, failed);
}

}  // namespace ingot::compiler
