// From fused steps to compiled kernels: generates, asks the kernel cache, attaches what it gives.
// Owns: the process's kernel caches. Without a compiler the steps keep their tile interpreter and
// the report says so. Must not know: tries, frames.
#pragma once

#include <vector>

#include <ingot/compiler/build_plan.h>
#include <ingot/compiler/fusion/generated_step.h>
#include <ingot/compiler/jit/kernel_cache.h>

namespace ingot::compiler {

class KernelBatch;

// With a batch the steps stay without kernels, and it gets what they would have asked for.
void attach_kernels(const Segment& segment, const std::vector<GeneratedStep*>& steps,
                    bool disk_cache, KernelBatch* batch, PlanReport* report);
// Puts them into the cache, where plans find them.
void compile_kernels(std::vector<jit::KernelRequest> requests, bool disk_cache);

// The eager loop of a user's row from the text of its unit; no loop: the error says why.
struct RowLoopResult {
  LoopFn loop;
  std::shared_ptr<const void> owner;  // keeps it loaded
  std::string error;
};
RowLoopResult compile_row_loop(std::string body);

}  // namespace ingot::compiler
