// Epilogues: a matrix product whose result only feeds one addition is one kernel with it. The CPU
// product rounds before it adds its bias (kernels/cpu/gemm.h), so the bits are those of two ops.
// Owns: finding the pairs and running them. Must not know: other fusion.
#pragma once

#include <memory>
#include <vector>

#include <ingot/compiler/ledger.h>
#include <ingot/compiler/plan.h>

namespace ingot::compiler {

// By op: the op before it in its epilogue, whose result nothing else reads, or -1: the product that
// is computed inside this addition.
std::vector<int> find_epilogues(const Segment& segment, const std::vector<bool>& needed);

// The only op from `from` on that reads the buffer, if there is just one; else -1.
int only_reader(const Segment& segment, int buffer, int from);

// Whether an op between `first` and `last` that is none of `ops` writes what these read: they could
// not be computed at the other's place.
bool inputs_change(const Segment& segment, const std::vector<int>& ops, int first, int last);

std::unique_ptr<Step> make_epilogue_step(const Segment& segment, int product, int addition);

}  // namespace ingot::compiler
