// Library epilogues: the row that is added to a product of cublasLt, and the relu or gelu("tanh")
// after it, are part of its launch where that spares one.
// Owns: which ops, at which level, and running them. Must not know: other fusion, cublasLt.
//
// Eager's bits (`exact`): f32 and f64 with a row. The sum of products is f32 (f64) when the row is
// added to it, as it is when the product stores it and an addition reads it, and cublasLt is held
// to the algorithm that it chooses for the product alone, which fixes the order of the sum (no
// difference in 9 shapes and 2 layouts of f32 and TF32 on an H200, cublasLt 13.1); where it does
// not take that one the ops run apart. Level `library` only: a row added to a 16-bit product
// (rounded once, not twice); relu (the same sums, but some of cublasLt's kernels make 0 of a NaN:
// TF32 at 512^3, 16 bits at 1000 x 1004 x 768); gelu after a 16-bit product (of f32 and TF32 it
// gains nothing: 2712 and 429 us for 4096^3, where product and gelu apart take 2720 and 408).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ingot/compiler/ledger.h>
#include <ingot/compiler/plan.h>

namespace ingot::compiler {

// Joins chains in `before`, see find_epilogues. What only level `library` would join goes to
// `refusals` with `why_exact`; null: that level holds.
void find_library_epilogues(const Segment& segment, const std::vector<bool>& needed,
                            const char* why_exact, std::vector<int>* before,
                            std::vector<Ledger::Event>* refusals);

// ops: a product and what was joined to it.
bool library_epilogue_is_exact(const Segment& segment, const std::vector<int>& ops);
std::unique_ptr<Step> make_library_step(const Segment& segment, std::vector<int> ops);

}  // namespace ingot::compiler
