#include <ingot/profiler/profiler.h>

namespace ingot::profiler {

// The order of the tests is that of torch.profiler.schedule.
Action action_at(const Schedule& s, std::int64_t step) {
  if (step < s.skip_first) return Action::none;
  step -= s.skip_first;
  if (s.skip_first_wait) step += s.wait;
  const std::int64_t cycle = std::int64_t{s.wait} + s.warmup + s.active;
  if (s.repeat > 0 && step / cycle >= s.repeat) return Action::none;
  const std::int64_t at = step % cycle;
  if (at < s.wait) return Action::none;
  if (at < std::int64_t{s.wait} + s.warmup) return Action::warmup;
  return at < cycle - 1 ? Action::record : Action::record_and_save;
}

}  // namespace ingot::profiler
