// Sequential: modules and functions, each fed the result of the one before.
// Owns: the list and the stages' names "0", "1", ...; a function counts, but has no state.
// Must not know: single layers.
#pragma once

#include <functional>
#include <type_traits>

#include <ingot/runtime/nn/handle.h>

namespace ingot::nn {

class SequentialImpl : public Module {
 public:
  template <class... Stages>
  explicit SequentialImpl(Stages&&... stages) {
    (push_back(std::forward<Stages>(stages)), ...);
  }

  // A handle (shared), or anything that maps a Tensor to a Tensor: a lambda, `relu`.
  template <class Stage>
  void push_back(Stage&& stage) {
    using S = std::remove_cvref_t<Stage>;
    std::shared_ptr<Module> module;
    if constexpr (ModuleHandle<S>) module = stage.ptr();
    if constexpr (std::is_invocable_r_v<Tensor, const S&, const Tensor&, Loc>) {
      add(std::move(module), std::forward<Stage>(stage));
    } else {
      static_assert(std::is_invocable_r_v<Tensor, const S&, const Tensor&>,
                    "a stage is a module handle or maps one Tensor to one Tensor");
      add(std::move(module),
          [stage = S(std::forward<Stage>(stage))](const Tensor& x, Loc) { return stage(x); });
    }
  }

  Tensor forward(const Tensor& x, Loc loc = Loc::here()) const;
  i64 size() const { return static_cast<i64>(stages_.size()); }

  const char* type_name() const override { return "Sequential"; }

 protected:
  void visit_members(Members& members) override;

 private:
  struct Stage {
    std::shared_ptr<Module> module;  // none for a function
    std::function<Tensor(const Tensor&, Loc)> call;
  };
  void add(std::shared_ptr<Module> module, std::function<Tensor(const Tensor&, Loc)> call);
  std::vector<Stage> stages_;
};

struct Sequential : Handle<SequentialImpl> {
  Sequential() = default;
  Sequential(std::nullptr_t) : Handle(nullptr) {}
  template <class First, class... Rest>
  requires(
      sizeof...(Rest) > 0 ||
      !std::same_as<std::remove_cvref_t<First>, Sequential>) explicit Sequential(First&& first,
                                                                                 Rest&&... rest)
      : Handle(std::make_shared<SequentialImpl>(std::forward<First>(first),
                                                std::forward<Rest>(rest)...)) {}
};

}  // namespace ingot::nn
