// Eager ops of users' rows on a GPU: a fused group of one, compiled from the row's text at first
// use.
#include <map>
#include <mutex>

#include <ingot/compiler/cuda/attach.h>
#include <ingot/compiler/cuda/cuda_step.h>
#include <ingot/compiler/user_op.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/kernel_table.h>
#include <ingot/runtime/env.h>

namespace ingot::compiler {

namespace {

// What a step is made for: the op and all metas.
using Key = std::vector<i64>;

void add(const Meta* m, Key* key) {
  if (m == nullptr) {
    key->push_back(-1);
    return;
  }
  key->push_back(static_cast<i64>(m->dtype) << 8 | m->device.index());
  key->push_back(m->dim());
  for (i64 size : m->sizes) key->push_back(size);
  for (i64 stride : m->strides) key->push_back(stride);
}

struct Made {
  Segment segment;
  std::unique_ptr<CudaStep> step;
  std::string error;
};

std::unique_ptr<Made> make(const KernelArgs& args) {
  auto made = std::make_unique<Made>();
  Segment& s = made->segment;
  const auto value = [&](const Meta& m) {
    s.buffers.push_back({false, true, false, 0, m.device});
    s.values.push_back({static_cast<int>(s.buffers.size()) - 1, m});
    return static_cast<int>(s.values.size()) - 1;
  };
  SegmentOp op;
  op.op = &args.op;
  for (int i = 0; i < args.n_in; ++i) {
    op.in.push_back(args.in[i].meta == nullptr ? -1 : value(*args.in[i].meta));
  }
  op.out.push_back(value(*args.out[0].meta));
  s.ops.push_back(op);
  Group group;
  group.kind = Group::pointwise;
  group.ops = {0};
  made->step = std::make_unique<CudaStep>(make_program(s, group), s);
  PlanReport report;
  attach_cuda_kernels({made->step.get()}, !env().disables("disk_cache"), nullptr, &report);
  if (!made->step->has_kernel()) {
    made->error = report.not_fused.empty() ? "there is no kernel" : report.not_fused[0].what;
  }
  return made;
}

}  // namespace

void run_user_row_on_cuda(const KernelArgs& args) {
  static std::mutex mutex;
  static auto* const steps = new std::map<Key, std::unique_ptr<Made>>;
  Key key{static_cast<i64>(reinterpret_cast<std::uintptr_t>(&args.op))};
  for (int i = 0; i < args.n_in; ++i) add(args.in[i].meta, &key);
  add(args.out[0].meta, &key);
  const Made* made = nullptr;
  {
    const std::lock_guard lock(mutex);
    std::unique_ptr<Made>& slot = (*steps)[key];
    if (slot == nullptr) slot = make(args);
    made = slot.get();
  }
  INGOT_CHECK_AS(DeviceError, made->error.empty(), "{}: {}", args.op.name, made->error);
  Binding binding;
  for (int i = 0; i < args.n_in; ++i) {
    if (args.in[i].meta != nullptr) binding.buffers.push_back(args.in[i].data);
  }
  binding.buffers.push_back(args.out[0].data);
  binding.offsets.assign(binding.buffers.size(), 0);
  binding.attrs = {&args.attrs};
  binding.tickets = {args.ticket};
  made->step->run(made->segment, binding);
}

}  // namespace ingot::compiler
