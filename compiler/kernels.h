// From fused steps to compiled kernels: generates, asks the kernel cache, attaches what it gives.
// Owns: the process's kernel caches. Without a compiler the steps keep their tile interpreter and
// the report says so. Must not know: tries, frames.
#pragma once

#include <ingot/compiler/build_plan.h>
#include <ingot/compiler/fusion/generated_step.h>

namespace ingot::compiler {

void attach_kernels(const Segment& segment, const std::vector<GeneratedStep*>& steps,
                    bool disk_cache, PlanReport* report);

// The eager loop of a user's row from the text of its unit; no loop: the error says why.
struct RowLoopResult {
  LoopFn loop;
  std::shared_ptr<const void> owner;  // keeps it loaded
  std::string error;
};
RowLoopResult compile_row_loop(std::string body);

}  // namespace ingot::compiler
