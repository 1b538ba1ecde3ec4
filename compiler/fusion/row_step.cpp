#include <algorithm>

#include <ingot/compiler/codegen/codegen.h>
#include <ingot/compiler/fusion/row_interpreter.h>
#include <ingot/compiler/fusion/row_step.h>
#include <ingot/compiler/fusion/run_apart.h>
#include <ingot/compiler/step_cost.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/iterate.h>
#include <ingot/kernels/cpu/reduce_scratch.h>
#include <ingot/kernels/cpu/rowops_rows.h>
#include <ingot/runtime/apply_env.h>
#include <ingot/runtime/observer.h>

namespace ingot::compiler {

namespace {

constexpr int kMaxRowScalars = 64;

// Values that stay in the cache anyway gain little from one pass, and short rows lose it to the
// interpreter's calls.
bool is_small(const RowSpace& space) {
  return space.length() < 512 && space.sizes.product() < 65536;
}

}  // namespace

struct RowStep::Call {
  const Segment& segment;
  const Binding& binding;
  Cell scalars[kMaxRowScalars];
};

RowStep::RowStep(RowProgram program, const Segment& segment)
    : GeneratedStep(program.names()), program_(std::move(program)), cost_(cost_of(*this, segment)) {
  INGOT_BUG(program_.scalars.size() <= static_cast<std::size_t>(kMaxRowScalars) &&
                program_.memory.size() <= static_cast<std::size_t>(kMaxOperands),
            "a group of rows with {} scalars and {} operands", program_.scalars.size(),
            program_.memory.size());
  for (const RowInstruction& i : program_.code) {
    const bool row = i.kind != RowInstruction::whole && i.op != nullptr;
    loops_.push_back(row ? eager_loop(*i.op, i.compute) : nullptr);
  }
  for (const RowMemory& m : program_.memory) strides_.push_back(m.walk.inner);
}

std::string RowStep::source(const Segment&) const { return generate_rows(program_); }

std::vector<int> RowStep::touched(const Segment& segment) const {
  std::vector<int> buffers;
  for (const RowMemory& m : program_.memory) buffers.push_back(segment.buffer_of(m.value));
  return buffers;
}

bool RowStep::offsets_agree(const Binding& binding) const {
  return std::all_of(program_.same_offset.begin(), program_.same_offset.end(), [&](auto& pair) {
    return binding.offsets[static_cast<std::size_t>(pair.first)] ==
           binding.offsets[static_cast<std::size_t>(pair.second)];
  });
}

void RowStep::run(const Segment& segment, const Binding& binding) const {
  const bool interpreted = kernel<RowsFn>() == nullptr;
  if (!offsets_agree(binding) || (interpreted && is_small(program_.space))) {
    return run_apart(program_.ops, segment, binding);
  }
  apply_env();
  Call call{segment, binding, {}};
  for (std::size_t i = 0; i < program_.scalars.size(); ++i) {
    const ScalarUse& use = program_.scalars[i];
    const Scalar value =
        use.kind == ScalarUse::attribute
            ? binding.attrs[static_cast<std::size_t>(use.op)]->s[use.number]
            : Scalar(program_.blocks ? 1.0 : row_divisor(use, segment, program_.space.length()));
    call.scalars[i] = make_cell(value, use.dtype);
  }
  ScopedEvent event({.kind = EventKind::kernel,
                     .name = "fused",
                     .loc = segment.ops[static_cast<std::size_t>(program_.ops[0])].loc,
                     .cost = &cost_,
                     .fused_from = names().c_str()});
  if (program_.blocks) {
    run_blocks(call);
  } else {
    run_rows(call);
  }
}

void RowStep::kernel_or_interpreter(i64 rows, i64 n, char* const* data, const i64* row_strides,
                                    const Call& call) const {
  const Scratch scratch((program_.slots + 1) * row_slot_bytes(n));
  if (auto run = kernel<RowsFn>()) {
    return run(rows, n, data, row_strides, strides_.data(), call.scalars, scratch.data());
  }
  char* at[kMaxOperands];
  const std::size_t operands = program_.memory.size();
  for (i64 r = 0; r < rows; ++r) {
    for (std::size_t k = 0; k < operands; ++k) {
      at[k] = data[k] + r * row_strides[k] * item_size(program_.memory[k].dtype);
    }
    interpret_row(program_, loops_, {n, at, strides_.data(), call.scalars, scratch.data()});
  }
}

void RowStep::run_rows(const Call& call) const {
  Nest nest(program_.space.leading());
  for (const RowMemory& m : program_.memory) {
    nest.add(call.binding.address(call.segment, m.value), m.walk.lead, item_size(m.dtype));
  }
  nest.collapse();
  const i64 n = program_.space.length();
  const i64 none[kMaxOperands] = {};
  const i64* row_strides = nest.dim() == 0 ? none : nest.run_strides();
  nest.for_each_run(
      [&](i64 rows, char* const* data) { kernel_or_interpreter(rows, n, data, row_strides, call); },
      kParallelGrain / (2 * n) + 1);
}

// Every block of every row gives one partial result for each reduction; then those of a row are
// reduced in the same order as its blocks, as reduce_row() does.
void RowStep::run_blocks(const Call& call) const {
  const i64 length = program_.space.length(), rows = program_.space.rows();
  const i64 blocks = (length + kRowBlock - 1) / kRowBlock;
  std::vector<char> partials;
  std::vector<i64> place(program_.memory.size(), -1);
  for (std::size_t k = 0; k < static_cast<std::size_t>(program_.written); ++k) {
    if (program_.memory[k].walk.inner != 0) continue;
    place[k] = static_cast<i64>(partials.size());
    partials.resize(partials.size() + static_cast<std::size_t>(rows * blocks * 8));
  }

  Dims units = program_.space.leading();
  units.push_back(blocks);
  Nest nest(units);
  for (std::size_t k = 0; k < program_.memory.size(); ++k) {
    const RowMemory& m = program_.memory[k];
    Dims strides = m.walk.lead;
    strides.push_back(m.walk.inner * kRowBlock);
    if (place[k] >= 0) {
      nest.add(partials.data() + place[k], contiguous_strides(units), item_size(m.dtype));
    } else {
      nest.add(call.binding.address(call.segment, m.value), strides, item_size(m.dtype));
    }
  }
  const i64 none[kMaxOperands] = {};
  parallel_for(rows * blocks, kParallelGrain / kRowBlock, [&](i64 begin, i64 end) {
    i64 unit = begin;
    nest.walk(begin, end, [&](i64 count, char* const* data) {
      for (i64 q = 0; q < count; ++q, ++unit) {
        char* at[kMaxOperands];
        for (int k = 0; k < nest.operands(); ++k) {
          at[k] = data[k] + q * nest.run_strides()[k] * nest.item_size(k);
        }
        const i64 n = std::min(kRowBlock, length - unit % blocks * kRowBlock);
        kernel_or_interpreter(1, n, at, none, call);
      }
    });
  });

  for (const RowInstruction& code : program_.code) {
    if (code.kind != RowInstruction::whole) continue;
    const auto k = static_cast<std::size_t>(code.out[0].index);
    const RowLoops& f = row_loops(code.compute);
    const auto combine = f.*code.row->combine;
    const i64 item = item_size(code.compute);
    const char* from = partials.data() + place[k];
    char* to = static_cast<char*>(call.binding.address(call.segment, program_.memory[k].value));
    for (i64 r = 0; r < rows; ++r) {
      combine(blocks, from + r * blocks * item, to + r * item);
      if (code.scalar < 0) continue;
      const ScalarUse& use = program_.scalars[static_cast<std::size_t>(code.scalar)];
      const Cell by = make_cell(row_divisor(use, call.segment, length), use.dtype);
      f.divide(to + r * item, &by, to + r * item);
    }
  }
}

}  // namespace ingot::compiler
