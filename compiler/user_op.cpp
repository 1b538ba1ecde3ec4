// The loops of users' rows: of generated code where there is a compiler, else of the user's unit.
#include <mutex>

#include <ingot/compiler/codegen/codegen.h>
#include <ingot/compiler/fusion/generated_step.h>
#include <ingot/compiler/kernels.h>
#include <ingot/compiler/user_op.h>
#include <ingot/kernels/core/check.h>
#include <ingot/runtime/env.h>

namespace ingot::compiler {

const ChosenLoop* choose_loop(const OpInfo& op, DType compute) {
  auto* chosen = new ChosenLoop;
  RowLoopResult made = compile_row_loop(generate_loop(op, compute));
  if (made.loop != nullptr) {
    // Loops stay for the life of the process: plans and other threads hold them.
    static std::mutex mutex;
    static auto* const owners = new std::vector<std::shared_ptr<const void>>;
    const std::lock_guard lock(mutex);
    owners->push_back(std::move(made.owner));
    chosen->loop = made.loop;
    chosen->generated = true;
    return chosen;
  }
  chosen->loop = op.user->unit_loops[static_cast<std::size_t>(compute)];
  chosen->reason = fmt::format("{} runs as its unit was compiled: {}", op.name, made.error);
  return chosen;
}

LoopFn GeneratedStep::eager_loop(const OpInfo& op, DType compute) {
  if (op.user == nullptr) return loop_for(op, compute);
  const ChosenLoop* chosen = chosen_loop(op, compute);
  INGOT_BUG(chosen != nullptr, "{} has no loop for {}", op.name, name(compute));
  if (!chosen->generated && refusal_.empty()) refusal_ = chosen->reason;
  return chosen->loop;
}

}  // namespace ingot::compiler
