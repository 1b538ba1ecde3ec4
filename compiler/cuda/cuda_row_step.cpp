#include <algorithm>

#include <ingot/compiler/cuda/cuda_row_step.h>
#include <ingot/compiler/fusion/run_apart.h>
#include <ingot/compiler/fusion/step_scalars.h>
#include <ingot/compiler/step_cost.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/divisor.h>
#include <ingot/kernels/cuda/kernel_launch.h>
#include <ingot/runtime/observer.h>

namespace ingot::compiler {

namespace {

Nest nest_of(const RowProgram& p) {
  Nest nest(p.space.leading());
  for (const RowMemory& m : p.memory) nest.add(nullptr, m.walk.lead, item_size(m.dtype));
  nest.collapse();
  return nest;
}

}  // namespace

std::unique_ptr<CudaRowStep> CudaRowStep::make(RowProgram program, const Segment& segment,
                                               const char** why) {
  std::unique_ptr<CudaRowStep> step(new CudaRowStep(std::move(program), segment));
  const CudaRows& rows = step->rows_;
  // A double takes two registers.
  const int elements = rows.held * rows.slots * rows.width * (rows.width == 2 ? 2 : 1);
  if (elements > kMostHeldElements) {
    *why = "its rows do not fit into registers";
    return nullptr;
  }
  return step;
}

CudaRowStep::CudaRowStep(RowProgram program, const Segment& segment)
    : GeneratedCudaStep(program.names(), segment.meta(program.memory[0].value).device),
      program_(std::move(program)),
      cost_(cost_of(*this, segment)),
      nest_(nest_of(program_)),
      rows_(cuda_rows(program_, nest_)) {
  fits_ = nest_.numel() < i64{1} << 31;
  for (std::size_t k = 0; k < program_.memory.size(); ++k) {
    if (!rows_.whole || program_.memory[k].walk.inner != 1) continue;
    for (int d = 0; d < nest_.dim(); ++d) {
      fits_ = fits_ && nest_.stride(d, static_cast<int>(k)) % rows_.width == 0;
    }
  }
}

std::vector<int> CudaRowStep::touched(const Segment& segment) const {
  std::vector<int> buffers;
  for (const RowMemory& m : program_.memory) buffers.push_back(segment.buffer_of(m.value));
  return buffers;
}

bool CudaRowStep::offsets_agree(const Binding& binding) const {
  return std::all_of(program_.same_offset.begin(), program_.same_offset.end(), [&](auto& pair) {
    return binding.offsets[static_cast<std::size_t>(pair.first)] ==
           binding.offsets[static_cast<std::size_t>(pair.second)];
  });
}

bool CudaRowStep::parameter(const Segment& segment, const Binding& binding,
                            KernelParameter* to) const {
  if (!fits_ || !offsets_agree(binding)) return false;
  KernelParameter& parameter = *to;
  for (std::size_t k = 0; k < program_.memory.size(); ++k) {
    const RowMemory& m = program_.memory[k];
    const void* data = binding.address(segment, m.value);
    const auto bytes = static_cast<std::uintptr_t>(item_size(m.dtype) * rows_.width);
    if (rows_.whole && m.walk.inner == 1) {
      if (reinterpret_cast<std::uintptr_t>(data) % bytes != 0) return false;
    }
    parameter.put(data);
    parameter.put(nest_.dim() == 0 ? i64{0} : nest_.stride(0, static_cast<int>(k)));
    parameter.put(m.walk.inner);
  }
  const i64 n = program_.space.length();
  parameter.put(nest_.numel());
  parameter.put(static_cast<int>(n));
  parameter.put(nest_.dim());
  parameter.put(log2_of(rows_.lanes));
  if (rows_.outer) {
    for (int d = 0; d < kCudaAxes; ++d) {
      parameter.put(FastDivisor(d < nest_.dim() ? static_cast<unsigned>(nest_.size(d)) : 1));
    }
    parameter.align();
    for (int d = 0; d < kCudaAxes; ++d) {
      for (int k = 0; k < nest_.operands(); ++k) {
        parameter.put(d < nest_.dim() ? nest_.stride(d, k) : i64{0});
      }
    }
  }
  parameter.align();
  for (const ScalarUse& use : program_.scalars) {
    const Scalar value = use.kind == ScalarUse::attribute
                             ? binding.attrs[static_cast<std::size_t>(use.op)]->s[use.number]
                             : Scalar(row_divisor(use, segment, n));
    parameter.put(make_cell(value, use.dtype));
  }
  return true;
}

void CudaRowStep::run(const Segment& segment, const Binding& binding) const {
  KernelParameter parameter;
  if (kernel() == nullptr || !this->parameter(segment, binding, &parameter)) {
    return run_apart(program_.ops, segment, binding);
  }
  const cuda::DeviceGuard guard(device());
  ScopedEvent event({.kind = EventKind::kernel,
                     .name = "fused",
                     .loc = segment.ops[static_cast<std::size_t>(program_.ops[0])].loc,
                     .device = device(),
                     .cost = &cost_,
                     .fused_from = names().c_str()});
  void* const parameters[] = {parameter.data()};
  const auto bytes = static_cast<std::uint32_t>(parameter.size());
  cuda::launch_kernel({.kernel = kernel(),
                       .blocks = blocks(),
                       .threads = threads(),
                       .parameters = parameters,
                       .sizes = &bytes,
                       .n = 1});
}

}  // namespace ingot::compiler
