// What a step costs: for profilers, whoever runs it.
// Owns: the rule for groups of ops, whose values inside are no memory traffic. Must not know: how
// steps run.
#pragma once

#include <ingot/compiler/plan.h>

namespace ingot::compiler {

// One op: its own cost. Several: the work of all, and the bytes that the group reads from memory
// and writes to it, each value once.
Cost cost_of(const Step& step, const Segment& segment);

}  // namespace ingot::compiler
