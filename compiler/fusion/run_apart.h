// A fused group whose assumptions do not hold in this call: its ops one by one, each with its own
// kernel. Owns: the memory of results that the group would have kept to itself.
#pragma once

#include <vector>

#include <ingot/compiler/segment.h>

namespace ingot::compiler {

void run_apart(const std::vector<int>& ops, const Segment& segment, const Binding& binding);

}  // namespace ingot::compiler
