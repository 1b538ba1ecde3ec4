#include <ingot/compiler/step_cost.h>
#include <ingot/compiler/step_note.h>

namespace ingot::compiler {

StepNote note_of(const Step& step, const Segment& segment) {
  const std::vector<int>& ops = step.ops();
  const SegmentOp& first = segment.op(ops[0]);
  StepNote note{first.op->name, "", first.loc, cost_of(step, segment)};
  if (ops.size() == 1) return note;
  note.name = "fused";
  note.fused_from = names_of(segment, ops);
  return note;
}

}  // namespace ingot::compiler
