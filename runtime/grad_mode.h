// Grad mode: whether ops on this thread enter the history of their results.
// Owns: the flag and its guards. Must not know: tensors.
#pragma once

namespace ingot {

bool grad_enabled();
void set_grad_enabled(bool on);

// Results are not part of any history while one lives.
struct NoGradGuard {
  [[nodiscard]] NoGradGuard() : was(grad_enabled()) { set_grad_enabled(false); }
  ~NoGradGuard() { set_grad_enabled(was); }
  NoGradGuard(const NoGradGuard&) = delete;
  bool was;
};

struct EnableGradGuard {
  [[nodiscard]] EnableGradGuard() : was(grad_enabled()) { set_grad_enabled(true); }
  ~EnableGradGuard() { set_grad_enabled(was); }
  EnableGradGuard(const EnableGradGuard&) = delete;
  bool was;
};

}  // namespace ingot
