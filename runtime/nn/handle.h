// Handle<Impl>: a shared pointer to a module that is called like a function.
// Owns: sharing: copies of a handle are the same layer. Must not know: which layers exist, how
// calls are recorded.
#pragma once

#include <ingot/runtime/nn/module.h>

namespace ingot::nn {

[[noreturn]] void empty_handle(Loc loc);

// Arguments that make a module, not a handle that is to be copied.
template <class Impl, class First, class... A>
concept Makes =
    std::constructible_from<Impl, First, A...> && !ModuleHandle<std::remove_cvref_t<First>>;

template <class Impl>
class Handle {
 public:
  using ImplType = Impl;

  // Handle<BlockImpl> b{16, 4} makes the module; {nullptr} leaves the handle empty until assigned.
  Handle(std::nullptr_t) {}
  explicit Handle(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Handle() requires std::default_initializable<Impl> : impl_(std::make_shared<Impl>()) {}
  template <class First, class... A>
  requires Makes<Impl, First, A...>
  explicit Handle(First&& first, A&&... args)
      : impl_(std::make_shared<Impl>(std::forward<First>(first), std::forward<A>(args)...)) {}

  // fc1(x) is fc1->forward(x) inside a range. With a line to pass on, errors name the caller's.
  Tensor operator()(const Tensor& x, Loc loc = Loc::here()) const requires TakesLoc<Impl> {
    return call_forward(get(loc), x, loc);
  }
  template <class... A>
  requires Forwards<Impl, A...>
  decltype(auto) operator()(A&&... args) const {
    return call_forward(get(Loc::here()), std::forward<A>(args)...);
  }

  Impl* operator->() const { return &get(Loc::here()); }
  Impl& operator*() const { return get(Loc::here()); }
  explicit operator bool() const { return impl_ != nullptr; }
  const std::shared_ptr<Impl>& ptr() const { return impl_; }

 private:
  Impl& get(Loc loc) const {
    if (impl_ == nullptr) [[unlikely]]
      empty_handle(loc);
    return *impl_;
  }
  std::shared_ptr<Impl> impl_;
};

}  // namespace ingot::nn
