#include <algorithm>

#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/autograd.h>
#include <ingot/runtime/gradient_hooks.h>
#include <ingot/runtime/ops.h>

namespace ingot {

Tensor copied(const Tensor& t, Loc loc) {
  return t.is_contiguous() ? t.clone(loc) : t.contiguous(loc);
}

void GradientHooks::stop_retaining(const std::shared_ptr<Tensor>& slot) {
  std::erase_if(retained_, [&](const auto& r) { return r.second == slot; });
}

void GradientHooks::run(int output, Tensor& gradient, Loc loc) const {
  const std::size_t n = hooks_.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (hooks_[i]->output != output) continue;
    if (!is_sole_owner(gradient)) gradient = copied(gradient, loc);
    const Meta given = gradient.meta();
    Tensor by = hooks_[i]->hook(gradient);
    if (!by.defined()) continue;
    INGOT_CHECK_AT(
        "backward", loc,
        by.sizes() == given.sizes && by.dtype() == given.dtype && by.device() == given.device,
        "a hook was given {} and returned {}", describe(given), describe(by.meta()));
    gradient = std::move(by);
  }
  for (const auto& [of, slot] : retained_) {
    if (of == output)
      *slot = slot->defined() ? ingot::add(*slot, Arg(gradient, loc)) : gradient.clone(loc);
  }
}

}  // namespace ingot
