#include <algorithm>
#include <chrono>

#include <ingot/compiler/build_plan.h>
#include <ingot/compiler/cuda/attach.h>
#include <ingot/compiler/cuda/cuda_row_step.h>
#include <ingot/compiler/cuda/cuda_step.h>
#include <ingot/compiler/cuda/library_epilogue.h>
#include <ingot/compiler/cuda/product_step.h>
#include <ingot/compiler/cuda/small_products.h>
#include <ingot/compiler/fusion/epilogue.h>
#include <ingot/compiler/fusion/fused_step.h>
#include <ingot/compiler/fusion/row_step.h>
#include <ingot/compiler/kernel_batch.h>
#include <ingot/compiler/kernels.h>
#include <ingot/runtime/env.h>
#include <ingot/runtime/observer.h>

namespace ingot::compiler {

namespace {

bool disabled(const CompileOptions& options, const char* what) {
  const std::vector<std::string>& off = options.disable;
  return std::find(off.begin(), off.end(), what) != off.end() || env().disables(what);
}

class Phase {
 public:
  Phase(PlanReport& report, const char* name)
      : report_(report), name_(name), event_({.kind = EventKind::compile, .name = name}) {}
  ~Phase() {
    std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start_;
    report_.phases.push_back({name_, ms.count()});
  }
  Phase(const Phase&) = delete;

 private:
  PlanReport& report_;
  const char* name_;
  ScopedEvent event_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::unique_ptr<Step> at(Loc loc, std::unique_ptr<GeneratedStep> step) {
  step->set_loc(loc);
  return step;
}

constexpr auto kMost = static_cast<std::size_t>(kMaxOperands);

void add_group(const Segment& segment, const Group& group, PlanReport* report,
               std::vector<std::unique_ptr<Step>>* steps);

// A part of a group of rows: with an op along rows in it, or with pointwise ops of one shape, a
// group again.
void add_part(const Segment& segment, const RowSpace& space, std::vector<int> ops,
              PlanReport* report, std::vector<std::unique_ptr<Step>>* steps) {
  const auto op = [&](int i) -> const SegmentOp& {
    return segment.ops[static_cast<std::size_t>(i)];
  };
  const bool rows = std::any_of(ops.begin(), ops.end(),
                                [&](int i) { return row_space(segment, op(i)).has_value(); });
  const bool one_shape = std::all_of(ops.begin(), ops.end(), [&](int i) {
    return segment.meta(op(i).out[0]).sizes == segment.meta(op(ops[0]).out[0]).sizes;
  });
  if (rows ? row_refusal(segment, space, ops) == nullptr : one_shape) {
    return add_group(segment, {ops, rows ? Group::rows : Group::pointwise, space}, report, steps);
  }
  for (int i : ops) steps->push_back(make_op_step(segment, i));
}

void add_rows(const Segment& segment, const Group& group, PlanReport* report,
              std::vector<std::unique_ptr<Step>>* steps) {
  const Loc loc = segment.ops[static_cast<std::size_t>(group.ops[0])].loc;
  RowProgram program = make_row_program(segment, group.space, group.ops);
  const std::string names = program.names();
  std::unique_ptr<Step> step;
  const char* why = "too many operands";
  if (program.memory.size() <= kMost) {
    if (program.space.on_gpu()) {
      step = CudaRowStep::make(std::move(program), segment, &why);
    } else {
      step = at(loc, std::make_unique<RowStep>(std::move(program), segment));
    }
  }
  if (step != nullptr) {
    report->fused.push_back({names, loc});
    steps->push_back(std::move(step));
    return;
  }
  report->not_fused.push_back({names + " in two parts: " + why, loc});
  const auto middle = group.ops.begin() + static_cast<std::ptrdiff_t>(group.ops.size() / 2);
  add_part(segment, group.space, {group.ops.begin(), middle}, report, steps);
  add_part(segment, group.space, {middle, group.ops.end()}, report, steps);
}

void add_epilogue(const Segment& segment, const Group& group, Loc loc, PlanReport* report,
                  std::vector<std::unique_ptr<Step>>* steps) {
  const std::string names = names_of(segment, group.ops);
  report->fused.push_back({names, loc});
  const int product = group.ops[0];
  if (segment.meta(segment.op(product).out[0]).device.is_cpu()) {
    steps->push_back(make_epilogue_step(segment, product, group.ops[1]));
    return;
  }
  if (!library_epilogue_is_exact(segment, group.ops)) {
    report->relaxed.push_back({names + " in one launch of the library: level library", loc});
  }
  steps->push_back(make_library_step(segment, group.ops));
}

void add_group(const Segment& segment, const Group& group, PlanReport* report,
               std::vector<std::unique_ptr<Step>>* steps) {
  if (group.ops.size() == 1) {
    // Alone, an op's own kernel is as good as a generated one.
    steps->push_back(make_op_step(segment, group.ops[0]));
    return;
  }
  const Loc loc = segment.ops[static_cast<std::size_t>(group.ops[0])].loc;
  if (group.kind == Group::other) {
    add_epilogue(segment, group, loc, report, steps);
    return;
  }
  if (group.kind == Group::rows) {
    add_rows(segment, group, report, steps);
    return;
  }
  PointwiseProgram program = make_program(segment, group);
  if (program.memory.size() > kMost && group.kind == Group::pointwise) {
    // Only with all groups known is it clear which results others read: cut in program order.
    auto middle = group.ops.begin() + static_cast<std::ptrdiff_t>(group.ops.size() / 2);
    add_group(segment, {{group.ops.begin(), middle}, group.kind, {}}, report, steps);
    add_group(segment, {{middle, group.ops.end()}, group.kind, {}}, report, steps);
    return;
  }
  if (group.kind == Group::product) {
    const std::string names = program.names();
    const char* why = "";
    if (auto step = ProductStep::make(std::move(program), segment, &why)) {
      report->fused.push_back({names, loc});
      steps->push_back(std::move(step));
      return;
    }
    report->not_fused.push_back({names + " apart from its product: " + why, loc});
    add_group(segment, {{group.ops[0]}, Group::other, {}}, report, steps);
    add_group(segment, {{group.ops.begin() + 1, group.ops.end()}, Group::pointwise, {}}, report,
              steps);
    return;
  }
  report->fused.push_back({program.names(), loc});
  if (segment.meta(program.memory[0]).device.is_cuda()) {
    steps->push_back(std::make_unique<CudaStep>(std::move(program), segment));
  } else {
    steps->push_back(at(loc, std::make_unique<FusedStep>(std::move(program), segment)));
  }
}

// Why the bits are to be eager's; null: they need not be.
const char* why_exact(const CompileOptions& options) {
  if (options.numerics == Numerics::exact) return "only level library allows it";
  return options.verify ? "verify compares bytes with eager's" : nullptr;
}

std::vector<std::unique_ptr<Step>> fused_steps(const Segment& segment,
                                               const CompileOptions& options, PlanReport* report) {
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<bool> needed = needed_ops(segment);
  std::vector<int> before(segment.ops.size(), -1);
  std::vector<bool> small(segment.ops.size(), false);
  if (!disabled(options, "epilogue")) {
    before = find_epilogues(segment, needed);
    find_library_epilogues(segment, needed, why_exact(options), &before, &report->not_fused);
    small = find_small_products(segment, needed);
  }
  for (const Group& group : make_groups(segment, needed, before, small, &report->not_fused)) {
    add_group(segment, group, report, &steps);
  }
  return steps;
}

}  // namespace

std::unique_ptr<Plan> build_plan(Segment segment, const CompileOptions& options,
                                 PlanReport* report) {
  std::vector<std::unique_ptr<Step>> steps;
  {
    Phase phase(*report, "passes");
    steps =
        disabled(options, "fusion") ? single_steps(segment) : fused_steps(segment, options, report);
  }
  if (!disabled(options, "codegen")) {
    std::vector<GeneratedStep*> fused;
    std::vector<GeneratedCudaStep*> on_gpu;
    for (auto& step : steps) {
      if (auto* f = dynamic_cast<GeneratedStep*>(step.get())) fused.push_back(f);
      if (auto* f = dynamic_cast<GeneratedCudaStep*>(step.get())) on_gpu.push_back(f);
    }
    const bool disk_cache = !disabled(options, "disk_cache");
    KernelBatch* batch = KernelBatch::current();
    if (!on_gpu.empty()) attach_cuda_kernels(on_gpu, disk_cache, batch, report);
    if (!fused.empty()) attach_kernels(segment, fused, disk_cache, batch, report);
  }
  auto plan = std::make_unique<Plan>(std::move(segment), std::move(steps));
  plan->set_sources(std::move(report->sources));
  if (!disabled(options, "cuda_graph")) plan->use_graphs();
  return plan;
}

}  // namespace ingot::compiler
