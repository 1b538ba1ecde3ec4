#include <ingot/compiler/step_cost.h>
#include <ingot/compiler/step_note.h>

namespace ingot::compiler {

StepNote note_of(const Step& step, const Segment& segment) {
  const auto op_at = [&](int i) -> const SegmentOp& {
    return segment.ops[static_cast<std::size_t>(i)];
  };
  const std::vector<int>& ops = step.ops();
  const SegmentOp& first = op_at(ops[0]);
  StepNote note{first.op->name, "", first.loc, cost_of(step, segment)};
  if (ops.size() == 1) return note;
  note.name = "fused";
  for (int i : ops) {
    if (!note.fused_from.empty()) note.fused_from += ' ';
    note.fused_from += op_at(i).op->name;
  }
  return note;
}

}  // namespace ingot::compiler
