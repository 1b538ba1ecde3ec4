// Grouping: which ops of a segment become one kernel, and in which order the kernels run.
// Owns: legality (shapes, dependencies, memory hazards) and the reasons for refusals. Must not
// know: how a group is executed.
#pragma once

#include <vector>

#include <ingot/compiler/fusion/row_space.h>
#include <ingot/compiler/ledger.h>
#include <ingot/compiler/segment.h>

namespace ingot::compiler {

// Ops in program order. One op: its own kernel. More: elementwise ops over one iteration space, ops
// along the rows of one, or a product and the ops that are its epilogue.
struct Group {
  // product: a small one on the GPU, first among the ops; the others are elementwise over its
  // result.
  enum Kind : std::uint8_t { other, pointwise, rows, product };
  std::vector<int> ops;
  Kind kind = other;  // of one op: what a group with it would be
  RowSpace space;     // of rows
};

// needed: the ops that must run at all; before: see find_epilogues; small: see
// find_small_products. Reasons for which neighbours stayed apart go to `refusals`.
std::vector<Group> make_groups(const Segment& segment, const std::vector<bool>& needed,
                               const std::vector<int>& before, const std::vector<bool>& small,
                               std::vector<Ledger::Event>* refusals);

// An elementwise op or a cast whose result fills its iteration space.
bool is_pointwise(const Segment& segment, const SegmentOp& op);

}  // namespace ingot::compiler
