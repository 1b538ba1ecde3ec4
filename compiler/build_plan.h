// From a segment to its plan: passes, fusion, code generation; and the report for the ledger.
// Owns: the order of passes. Must not know: frames, tries.
#pragma once

#include <ingot/compiler/ledger.h>
#include <ingot/compiler/options.h>
#include <ingot/compiler/plan.h>

namespace ingot::compiler {

struct PlanReport {
  std::vector<Ledger::Phase> phases;  // "passes", "codegen", "compile", "load"
  i64 compiles = 0, memory_hits = 0, disk_hits = 0;
  std::vector<Ledger::Event> fused, not_fused, relaxed;
  std::vector<std::string> sources;  // generated text, which the plan takes
};

std::unique_ptr<Plan> build_plan(Segment segment, const CompileOptions& options,
                                 PlanReport* report);

}  // namespace ingot::compiler
