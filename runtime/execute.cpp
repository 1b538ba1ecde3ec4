// run_kernel: from an op on given memory to its kernel, with operands made disjoint first.
#include <vector>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/fault.h>
#include <ingot/kernels/cuda/stream.h>
#include <ingot/kernels/ops/structured/data.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/apply_env.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/observer.h>
#include <ingot/runtime/small_array.h>
#include <ingot/runtime/transfer.h>

namespace ingot {

namespace {

struct Bytes {
  const char *begin, *end;
};

Bytes range(const BufferView& v) {
  auto* begin = static_cast<const char*>(v.data);
  return {begin, begin + extent(*v.meta) * item_size(v.meta->dtype)};
}

bool same_elements(const BufferView& a, const BufferView& b) {
  return a.data == b.data && a.meta->dtype == b.meta->dtype && a.meta->sizes == b.meta->sizes &&
         a.meta->strides == b.meta->strides;
}

// An operand that shares bytes with the result without being it element for element.
bool hazard(const BufferView& in, const BufferView& out) {
  if (in.meta == nullptr || in.data == nullptr || out.data == nullptr) return false;
  Bytes a = range(in), b = range(out);
  return a.begin < b.end && b.begin < a.end && !same_elements(in, out);
}

// Row-major copies of operands, freed at the end of the kernel.
class Copies {
 public:
  ~Copies() {
    for (const Block& b : blocks_) deallocate(b.data, b.bytes, b.device);
  }
  BufferView add(const BufferView& in, Loc loc) {
    metas_.push_back(std::make_unique<Meta>(*in.meta));
    Meta& m = *metas_.back();
    m.strides = contiguous_strides(m.sizes);
    auto bytes = static_cast<std::size_t>(m.numel() * item_size(m.dtype));
    blocks_.push_back({allocate(bytes, m.device), bytes, m.device});
    BufferView copy{blocks_.back().data, &m};
    Attrs attrs;
    attrs.a = 1;
    run_kernel({structured_op<structured::Clone>, &in, 1, &copy, 1, attrs, {}}, loc);
    return copy;
  }

 private:
  struct Block {
    void* data;
    std::size_t bytes;
    Device device;
  };
  std::vector<std::unique_ptr<Meta>> metas_;
  std::vector<Block> blocks_;
};

// The device of what is copied over by copies, the last operand of which is the source.
Device source_device(const KernelArgs& args) {
  const Meta* source = args.n_in > 0 ? args.in[args.n_in - 1].meta : nullptr;
  return source != nullptr ? source->device : args.out[0].meta->device;
}

// The kernel, where its device is not the host alone.
void run_on_device(const KernelArgs& args, Loc loc) {
  const Device device = args.out[0].meta->device;
  if (!(source_device(args) == device)) {  // to(device) and copy_ from another one
    return transfer(args.out[0], args.in[args.n_in - 1], loc);
  }
  const cuda::DeviceGuard guard(device);
  if (cuda::streams_in_use()) [[unlikely]] {
    for (int i = 0; i < args.n_in; ++i) {
      if (args.in[i].meta != nullptr) used_on_stream(args.in[i].data, args.in[i].meta->device);
    }
    for (int i = 0; i < args.n_out; ++i) used_on_stream(args.out[i].data, device);
  }
  cuda::set_fault_line(loc);
  kernel_for(args.op, device.type())(args);
}

// Where the kernel's work is done: a copy from a GPU to the host is that GPU's.
Device kernel_device(const KernelArgs& args) {
  const Device to = args.out[0].meta->device;
  return to.is_cpu() ? source_device(args) : to;
}

void run_body(const KernelArgs& args, Loc loc) {
  if (kernel_device(args).is_cpu()) [[likely]] {
    kernel_for(args.op, DeviceType::cpu)(args);
  } else {
    run_on_device(args, loc);
  }
}

void launch(const KernelArgs& args, Loc loc) {
  apply_env();
  Observer* o = observer();
  if (o == nullptr) [[likely]] {
    run_body(args, loc);
    return;
  }
  SmallArray<const Meta*, 8> in(args.n_in);
  for (int i = 0; i < args.n_in; ++i) in[i] = args.in[i].meta;
  SmallArray<Meta, kMaxOutputs> several(args.n_out > 1 ? args.n_out : 0);
  for (int i = 0; i < several.size(); ++i) several[i] = *args.out[i].meta;
  const Meta* out = several.size() > 0 ? several.data() : args.out[0].meta;
  OpArgs operands{in.data(), args.n_in, args.attrs, args.out[0].meta->device};
  ScopedEvent event({.kind = EventKind::kernel,
                     .name = args.op.name,
                     .loc = loc,
                     .op = &args.op,
                     .args = &operands,
                     .out = out,
                     .n_out = args.n_out,
                     .device = kernel_device(args)});
  run_body(args, loc);
}

}  // namespace

void run_kernel(const KernelArgs& args, Loc loc) {
  bool has_work = args.op.reads_indices;
  for (int i = 0; i < args.n_out; ++i) has_work |= args.out[i].meta->numel() > 0;
  if (!has_work) return;
  // Only an op that writes into existing memory can meet its own operands there.
  bool overlap = false;
  for (int i = 0; i < args.n_in && !overlap; ++i) {
    for (int k = 0; k < args.n_out && !overlap; ++k) overlap = hazard(args.in[i], args.out[k]);
  }
  if (!overlap) [[likely]] {
    launch(args, loc);
    return;
  }
  Copies copies;
  std::vector<BufferView> in(args.in, args.in + args.n_in);
  for (BufferView& v : in) {
    for (int k = 0; k < args.n_out; ++k) {
      if (hazard(v, args.out[k])) v = copies.add(v, loc);
    }
  }
  launch({args.op, in.data(), args.n_in, args.out, args.n_out, args.attrs, args.ticket}, loc);
}

}  // namespace ingot
