#include <ingot/compiler/cuda/product_step.h>
#include <ingot/compiler/fusion/run_apart.h>
#include <ingot/compiler/fusion/step_scalars.h>
#include <ingot/compiler/step_cost.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/kernel_launch.h>
#include <ingot/runtime/observer.h>

namespace ingot::compiler {

namespace {

// The one stride with which `count` indices walk the axes before *end, innermost first; false when
// no axes hold just so many, or not one stride apart.
bool take_axes(const Dims& sizes, const Dims& strides, i64 count, int* end, i64* stride) {
  i64 taken = 1;
  *stride = 0;
  while (taken < count) {
    if (*end == 0) return false;
    const int d = --*end;
    if (sizes[d] == 1) continue;
    if (taken == 1) {
      *stride = strides[d];
    } else if (strides[d] != *stride * taken) {
      return false;
    }
    taken *= sizes[d];
  }
  return taken == count;
}

}  // namespace

bool ProductStep::find_places(const PointwiseProgram& p, const Segment& s, const SmallCall& call,
                              std::vector<Places>* places) {
  const i64 batch = p.space.product() / (i64{call.product.m} * call.product.n);
  for (int v : p.memory) {
    const Dims strides = broadcast_strides(s.meta(v), p.space);
    int end = p.space.size();
    Places at;
    if (!take_axes(p.space, strides, call.product.n, &end, &at.column) ||
        !take_axes(p.space, strides, call.product.m, &end, &at.row) ||
        !take_axes(p.space, strides, batch, &end, &at.step)) {
      return false;
    }
    places->push_back(at);
  }
  return true;
}

std::unique_ptr<ProductStep> ProductStep::make(PointwiseProgram program, const Segment& segment,
                                               const char** why) {
  const SegmentOp& op = segment.ops[static_cast<std::size_t>(program.product)];
  const SmallCall call = small_call(segment, op, nullptr, op.attrs);
  std::vector<Places> places;
  if (!find_places(program, segment, call, &places)) {
    *why = "an operand's elements lie unevenly over rows or batch";
    return nullptr;
  }
  return std::unique_ptr<ProductStep>(
      new ProductStep(std::move(program), segment, std::move(places), call.shape));
}

ProductStep::ProductStep(PointwiseProgram program, const Segment& segment,
                         std::vector<Places> places, const SmallShape& shape)
    : GeneratedCudaStep(program.names(), segment.meta(program.memory[0]).device),
      program_(std::move(program)),
      places_(std::move(places)),
      shape_(shape),
      cost_(cost_of(*this, segment)) {}

std::vector<int> ProductStep::touched(const Segment& segment) const {
  std::vector<int> buffers;
  for (int v : program_.memory) buffers.push_back(segment.buffer_of(v));
  for (int v : segment.ops[static_cast<std::size_t>(program_.product)].in) {
    if (v >= 0) buffers.push_back(segment.buffer_of(v));
  }
  return buffers;
}

SmallCall ProductStep::call(const Segment& segment, const Binding& binding) const {
  return small_call(segment, segment.ops[static_cast<std::size_t>(program_.product)], &binding,
                    *binding.attrs[static_cast<std::size_t>(program_.product)]);
}

KernelParameter ProductStep::parameter(const Segment& segment, const Binding& binding,
                                       const SmallCall& call) const {
  KernelParameter parameter;
  parameter.put(call.product);
  parameter.align();
  for (std::size_t k = 0; k < places_.size(); ++k) {
    parameter.put(binding.address(segment, program_.memory[k]));
    parameter.put(places_[k].step);
    parameter.put(places_[k].row);
    parameter.put(places_[k].column);
  }
  for (const ScalarUse& use : program_.scalars) {
    parameter.put(
        make_cell(binding.attrs[static_cast<std::size_t>(use.op)]->s[use.number], use.dtype));
  }
  return parameter;
}

void ProductStep::run(const Segment& segment, const Binding& binding) const {
  const SmallCall bound = call(segment, binding);
  // Factors at odd addresses are rare: eager has a kernel for them, with the same bits.
  const bool aligned = bound.shape.quads || !shape_.quads;
  if (kernel() == nullptr || !aligned || !offsets_agree(program_, segment, binding)) {
    run_apart(program_.ops, segment, binding);
    return;
  }
  const cuda::DeviceGuard guard(device());
  KernelParameter bytes = parameter(segment, binding, bound);
  ScopedEvent event({.kind = EventKind::kernel,
                     .name = "fused",
                     .loc = segment.ops[static_cast<std::size_t>(program_.product)].loc,
                     .device = device(),
                     .cost = &cost_,
                     .fused_from = names().c_str()});
  void* const parameters[] = {bytes.data()};
  const auto size = static_cast<std::uint32_t>(bytes.size());
  cuda::launch_kernel({.kernel = kernel(),
                       .blocks = shape_.blocks,
                       .threads = kSmallThreads,
                       .parameters = parameters,
                       .sizes = &size,
                       .n = 1});
}

}  // namespace ingot::compiler
