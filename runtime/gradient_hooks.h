// GradientHooks: what waits for the gradient of a leaf, or of a node's results.
// Owns: the functions of register_hook(), in the order of registration, and the slots of
// retain_grad(). Must not know: when a gradient is whole, where it goes next.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <ingot/kernels/core/error.h>
#include <ingot/runtime/tensor.h>

namespace ingot {

class GradientHooks {
 public:
  using Hook = std::function<Tensor(const Tensor&)>;

  // output: which result of a node; 0 for a leaf.
  void add(int output, Hook hook) {
    hooks_.push_back(std::make_unique<Entry>(output, std::move(hook)));
  }
  void retain(int output, std::shared_ptr<Tensor> slot) {
    retained_.emplace_back(output, std::move(slot));
  }
  // The tensor that the slot belongs to has got another history.
  void stop_retaining(const std::shared_ptr<Tensor>& slot);

  // Shows `gradient`, which is whole, to the hooks one after the other, each with what the one
  // before it left; then to the slots. A hook may write what it is given: no one else knows those
  // bytes. Hooks registered meanwhile wait for the next gradient.
  void run(int output, Tensor& gradient, Loc loc) const;

 private:
  struct Entry {
    Entry(int o, Hook h) : output(o), hook(std::move(h)) {}
    int output;
    Hook hook;
  };
  std::vector<std::unique_ptr<Entry>> hooks_;  // places that stay while one of them registers more
  std::vector<std::pair<int, std::shared_ptr<Tensor>>> retained_;
};

// Whether t is the only handle on bytes of its own, row-major: what is done to it, nobody else
// sees.
inline bool is_sole_owner(const Tensor& t) {
  const TensorImpl& x = t.get();
  // Borrowed memory is its lender's, and a history would live as long as the gradient.
  return x.use_count() == 1 && x.storage->use_count() == 1 && !x.storage->borrowed && !x.base &&
         !x.requires_grad && x.autograd == nullptr && t.is_contiguous();
}
// A copy that is sole owner.
Tensor copied(const Tensor& t, Loc loc);

}  // namespace ingot
