// Handle<Impl>: a shared pointer to a module that is called like a function.
// Owns: calling (each call is a profiler range under the module's dotted name) and sharing: copies
// of a handle are the same layer. Must not know: which layers exist, how ranges are recorded.
#pragma once

#include <ingot/runtime/nn/module.h>
#include <ingot/runtime/observer.h>

namespace ingot::nn {

[[noreturn]] void empty_handle(Loc loc);

// A module that maps one tensor to one and takes the line of the call.
template <class Impl>
concept TakesLoc = requires(Impl& m, const Tensor& x, Loc loc) {
  Tensor(m.forward(x, loc));
};

// (x) or (x, loc).
template <class... A>
inline constexpr bool kOneTensor = false;
template <class X>
inline constexpr bool kOneTensor<X> = std::convertible_to<X, const Tensor&>;
template <class X>
inline constexpr bool kOneTensor<X, Loc> = std::convertible_to<X, const Tensor&>;

template <class Impl, class... A>
concept HasForward = requires(Impl& m, A&&... args) {
  m.forward(std::forward<A>(args)...);
};

// Any other call that forward() can take.
template <class Impl, class... A>
concept Forwards =
    HasForward<Impl, A...> && !(TakesLoc<Impl> && kOneTensor<std::remove_cvref_t<A>...>);

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
    Impl& module = get(loc);
    const ScopedEvent range(Event{EventKind::range, module.name(), loc});
    return module.forward(x, loc);
  }
  template <class... A>
  requires Forwards<Impl, A...>
  decltype(auto) operator()(A&&... args) const {
    Impl& module = get(Loc::here());
    const ScopedEvent range(Event{EventKind::range, module.name()});
    return module.forward(std::forward<A>(args)...);
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
