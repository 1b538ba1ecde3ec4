#include <ingot/compiler/cuda/cuda_step.h>
#include <ingot/compiler/cuda/parameter.h>
#include <ingot/compiler/fusion/run_apart.h>
#include <ingot/compiler/fusion/step_scalars.h>
#include <ingot/compiler/step_cost.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/divisor.h>
#include <ingot/kernels/cuda/kernel_launch.h>
#include <ingot/runtime/observer.h>

namespace ingot::compiler {

CudaStep::CudaStep(PointwiseProgram program, const Segment& segment)
    : GeneratedCudaStep(program.names(), segment.meta(program.memory[0]).device),
      program_(std::move(program)),
      cost_(cost_of(*this, segment)),
      nest_(make_nest(program_, segment)),
      pattern_(cuda_pattern(program_, nest_)) {
  constexpr i64 kMost = (i64{1} << 31) - 1;
  fits_ = !pattern_.outer || nest_.numel() <= kMost;
  vectors_ = !pattern_.outer || nest_.size(0) % pattern_.width == 0;
  for (int k = 0; k < nest_.operands(); ++k) {
    const bool dense = pattern_.stride[static_cast<std::size_t>(k)] == 1;
    for (int d = 1; d < nest_.dim(); ++d) {
      fits_ = fits_ && nest_.stride(d, k) <= kMost;
      if (dense && nest_.stride(d, k) % pattern_.width != 0) vectors_ = false;
    }
  }
}

std::vector<int> CudaStep::touched(const Segment& segment) const {
  std::vector<int> buffers;
  for (int v : program_.memory) buffers.push_back(segment.buffer_of(v));
  return buffers;
}

void CudaStep::run(const Segment& segment, const Binding& binding) const {
  if (kernel() == nullptr || !fits_ || !offsets_agree(program_, segment, binding)) {
    run_apart(program_.ops, segment, binding);
    return;
  }
  const cuda::DeviceGuard guard(device());
  KernelParameter parameter;
  bool vectors = vectors_;
  for (int k = 0; k < nest_.operands(); ++k) {
    const auto place = static_cast<std::size_t>(k);
    const void* data = binding.address(segment, program_.memory[place]);
    const auto bytes =
        static_cast<std::uintptr_t>(item_size(program_.memory_dtype[place]) * pattern_.width);
    if (pattern_.stride[place] == 1 && reinterpret_cast<std::uintptr_t>(data) % bytes != 0) {
      vectors = false;
    }
    parameter.put(data);
    parameter.put(nest_.stride(0, k));
  }
  const i64 width = vectors ? pattern_.width : 1;
  parameter.put(nest_.numel());
  parameter.put(static_cast<int>(vectors));
  parameter.put(nest_.dim() - 1);
  if (pattern_.outer) {
    parameter.put(FastDivisor(static_cast<unsigned>(nest_.size(0) / width)));
    for (int d = 1; d <= kCudaAxes; ++d) {
      parameter.put(FastDivisor(d < nest_.dim() ? static_cast<unsigned>(nest_.size(d)) : 1));
    }
    for (int d = 1; d <= kCudaAxes; ++d) {
      for (int k = 0; k < nest_.operands(); ++k) {
        parameter.put(d < nest_.dim() ? static_cast<int>(nest_.stride(d, k)) : 0);
      }
    }
  }
  parameter.align();
  for (const ScalarUse& use : program_.scalars) {
    parameter.put(
        make_cell(binding.attrs[static_cast<std::size_t>(use.op)]->s[use.number], use.dtype));
  }
  const SegmentOp& first = segment.ops[static_cast<std::size_t>(program_.ops[0])];
  ScopedEvent event({.kind = EventKind::kernel,
                     .name = "fused",
                     .loc = first.loc,
                     .device = device(),
                     .cost = &cost_,
                     .fused_from = names().c_str()});
  const i64 threads = (nest_.numel() + width - 1) / width;
  void* const parameters[] = {parameter.data()};
  const auto bytes = static_cast<std::uint32_t>(parameter.size());
  cuda::launch_kernel({.kernel = kernel(),
                       .blocks = (threads + kCudaThreads - 1) / kCudaThreads,
                       .threads = kCudaThreads,
                       .parameters = parameters,
                       .sizes = &bytes,
                       .n = 1});
}

}  // namespace ingot::compiler
