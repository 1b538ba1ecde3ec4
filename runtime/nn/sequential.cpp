#include <ingot/runtime/nn/sequential.h>

namespace ingot::nn {

Tensor SequentialImpl::forward(const Tensor& x, Loc loc) const {
  Tensor y = x;
  for (const Stage& stage : stages_) y = stage.call(y, loc);
  return y;
}

void SequentialImpl::visit_members(Members& members) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].module != nullptr) members.module(std::to_string(i), *stages_[i].module);
  }
}

void SequentialImpl::add(std::shared_ptr<Module> module,
                         std::function<Tensor(const Tensor&, Loc)> call) {
  stages_.push_back({std::move(module), std::move(call)});
}

}  // namespace ingot::nn
