// Grouping: which ops of a segment become one kernel, and in which order the kernels run.
// Owns: legality (shapes, dependencies, memory hazards) and the reasons for refusals. Must not
// know: how a group is executed.
#pragma once

#include <vector>

#include <ingot/compiler/ledger.h>
#include <ingot/compiler/segment.h>

namespace ingot::compiler {

// Ops in program order. One op: its own kernel. More: elementwise ops over one iteration space, or
// a product and the addition that is its epilogue.
struct Group {
  std::vector<int> ops;
  bool pointwise = false;  // of fusible ops only, even if it is one
};

// needed: the ops that must run at all; product_of: see find_epilogues. Reasons for which
// neighbours stayed apart go to `refusals`.
std::vector<Group> make_groups(const Segment& segment, const std::vector<bool>& needed,
                               const std::vector<int>& product_of,
                               std::vector<Ledger::Event>* refusals);

// An elementwise op or a cast whose result fills its iteration space.
bool is_pointwise(const Segment& segment, const SegmentOp& op);

}  // namespace ingot::compiler
