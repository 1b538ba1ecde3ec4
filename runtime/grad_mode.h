// Grad mode: whether ops on this thread enter the history of their results.
// Owns: the flag and its guards. Must not know: tensors.
#pragma once

namespace ingot {

extern constinit thread_local bool t_grad_enabled;
inline bool grad_enabled() { return t_grad_enabled; }
inline void set_grad_enabled(bool on) { t_grad_enabled = on; }

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
