// Epilogues: a matrix product whose result only feeds one addition is one kernel with it. The CPU
// product rounds before it adds its bias (kernels/cpu/gemm.h), so the bits are those of two ops.
// Owns: finding the pairs and running them. Must not know: other fusion.
#pragma once

#include <memory>
#include <vector>

#include <ingot/compiler/ledger.h>
#include <ingot/compiler/plan.h>

namespace ingot::compiler {

// By op: the product that is computed inside this addition, or -1.
std::vector<int> find_epilogues(const Segment& segment, const std::vector<bool>& needed);

std::unique_ptr<Step> make_epilogue_step(const Segment& segment, int product, int addition);

}  // namespace ingot::compiler
