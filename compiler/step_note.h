// StepNote: what one step is, for those who see its launches only: profilers of CUDA graphs.
// Owns: the note and how it is derived from the ops that a step stands for. Must not know: how
// steps run.
#pragma once

#include <string>

#include <ingot/compiler/plan.h>

namespace ingot::compiler {

struct StepNote {
  const char* name;        // the op's; "fused" for several
  std::string fused_from;  // "mul add tanh"; empty for one op
  Loc loc;
  Cost cost;
};

StepNote note_of(const Step& step, const Segment& segment);

}  // namespace ingot::compiler
