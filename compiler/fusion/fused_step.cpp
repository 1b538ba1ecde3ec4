#include <algorithm>
#include <cstring>

#include <ingot/compiler/codegen/codegen.h>
#include <ingot/compiler/fusion/fused_step.h>
#include <ingot/compiler/fusion/run_apart.h>
#include <ingot/compiler/fusion/step_scalars.h>
#include <ingot/compiler/step_cost.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/loops.h>
#include <ingot/kernels/ops/rows.h>
#include <ingot/runtime/apply_env.h>
#include <ingot/runtime/observer.h>

namespace ingot::compiler {

namespace {

constexpr i64 kTile = 512;  // elements: a handful of f64 temporaries stay in the L1 cache
constexpr int kMaxTemporaries = 64;
constexpr int kMaxScalars = 64;

// One tile through all instructions.
class TileInterpreter {
 public:
  TileInterpreter(const PointwiseProgram& p, const std::vector<LoopFn>& loops, const Cell* scalars)
      : p_(p), loops_(loops), scalars_(scalars) {}

  void run(i64 n, char* const* data, const i64* strides) {
    for (i64 at = 0; at < n; at += kTile) tile(std::min(kTile, n - at), at, data, strides);
  }

 private:
  struct Run {
    void* data;
    i64 stride;
  };

  Run resolve(const Operand& o, i64 at, char* const* data, const i64* strides) {
    switch (o.kind) {
      case Operand::memory:
        return {data[o.index] + at * strides[o.index] * item_size(o.dtype), strides[o.index]};
      case Operand::temporary:
        return {scratch_ + static_cast<i64>(o.index) * kTile * 8, 1};
      case Operand::scalar:
      case Operand::none:
        break;
    }
    return {const_cast<Cell*>(&scalars_[o.index]), 0};
  }

  void tile(i64 n, i64 at, char* const* data, const i64* strides) {
    for (std::size_t k = 0; k < p_.code.size(); ++k) {
      const Instruction& code = p_.code[k];
      Run out = resolve(code.out, at, data, strides);
      Run in[kMaxRowInputs];
      for (std::size_t i = 0; i < code.in.size(); ++i) {
        in[i] = resolve(code.in[i], at, data, strides);
      }
      if (loops_[k] == nullptr) {
        cast(n, out, code.out.dtype, in[0], code.in[0].dtype);
        continue;
      }
      const void* addresses[kMaxRowInputs];
      i64 steps[1 + kMaxRowInputs] = {out.stride};
      for (std::size_t i = 0; i < code.in.size(); ++i) {
        addresses[i] = in[i].data;
        steps[1 + i] = in[i].stride;
      }
      loops_[k](n, out.data, addresses, steps);
    }
  }

  // Casts run without gaps: operands with strides are packed first.
  void cast(i64 n, Run out, DType to, Run in, DType from) {
    const CopyLoops& copy = *loops().copy;
    if (in.stride != 1) {
      copy.move[item_log2(item_size(from))](n, packed_in_, 1, in.data, in.stride);
      in = {packed_in_, 1};
    }
    void* target = out.stride == 1 ? out.data : packed_out_;
    copy.cast[static_cast<int>(from)][static_cast<int>(to)](n, target, in.data);
    if (out.stride != 1) {
      copy.move[item_log2(item_size(to))](n, out.data, out.stride, packed_out_, 1);
    }
  }

  const PointwiseProgram& p_;
  const std::vector<LoopFn>& loops_;
  const Cell* scalars_;
  alignas(64) char packed_in_[kTile * 8];
  alignas(64) char packed_out_[kTile * 8];
  alignas(64) char scratch_[kMaxTemporaries * kTile * 8];
};

}  // namespace

FusedStep::FusedStep(PointwiseProgram program, const Segment& segment)
    : GeneratedStep(program.names()), program_(std::move(program)), cost_(cost_of(*this, segment)) {
  INGOT_BUG(program_.temporaries <= kMaxTemporaries &&
                program_.scalars.size() <= static_cast<std::size_t>(kMaxScalars),
            "fused group of {} temporaries and {} scalars", program_.temporaries,
            program_.scalars.size());
  int flops = 0, transcendentals = 0;
  for (const Instruction& i : program_.code) {
    flops += i.op == nullptr ? 1 : i.op->flops;
    transcendentals += i.op == nullptr ? 0 : i.op->transcendentals;
    loops_.push_back(i.op == nullptr ? nullptr : eager_loop(*i.op, i.compute));
  }
  grain_ = grain_for(
      elementwise_nanoseconds(static_cast<int>(program_.memory.size()), flops, transcendentals));
}

std::string FusedStep::source(const Segment& segment) const {
  return generate_run(program_, run_pattern(program_, segment));
}

std::vector<int> FusedStep::touched(const Segment& segment) const {
  std::vector<int> buffers;
  for (int v : program_.memory) buffers.push_back(segment.buffer_of(v));
  return buffers;
}

void FusedStep::run(const Segment& segment, const Binding& binding) const {
  if (!offsets_agree(program_, segment, binding)) {
    run_apart(program_.ops, segment, binding);
    return;
  }
  apply_env();
  Cell scalars[kMaxScalars];
  for (std::size_t i = 0; i < program_.scalars.size(); ++i) {
    const ScalarUse& use = program_.scalars[i];
    scalars[i] =
        make_cell(binding.attrs[static_cast<std::size_t>(use.op)]->s[use.number], use.dtype);
  }
  Nest nest = make_nest(program_, segment, binding);
  const i64 one[kMaxOperands] = {};
  const i64* strides = nest.dim() == 0 ? one : nest.run_strides();
  const SegmentOp& first = segment.ops[static_cast<std::size_t>(program_.ops[0])];
  ScopedEvent event({.kind = EventKind::kernel,
                     .name = "fused",
                     .loc = first.loc,
                     .cost = &cost_,
                     .fused_from = names().c_str()});
  if (auto run = kernel<RunFn>()) {
    nest.for_each_run([&](i64 n, char* const* data) { run(n, data, strides, scalars); }, grain_);
    return;
  }
  nest.for_each_run(
      [&](i64 n, char* const* data) {
        TileInterpreter(program_, loops_, scalars).run(n, data, strides);
      },
      grain_);
}

}  // namespace ingot::compiler
