// How a module is called: net(x) is net.forward(x) inside a profiler range.
// Owns: which arguments forward() takes, and the range under the module's dotted name. Must not
// know: handles, how ranges are recorded.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <ingot/runtime/observer.h>
#include <ingot/runtime/tensor.h>

namespace ingot::nn {

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

template <class M>
requires TakesLoc<M> Tensor call_forward(M& module, const Tensor& x, Loc loc) {
  const ScopedEvent range(Event{EventKind::range, module.name(), loc});
  return module.forward(x, loc);
}
template <class M, class... A>
requires Forwards<M, A...>
decltype(auto) call_forward(M& module, A&&... args) {
  const ScopedEvent range(Event{EventKind::range, module.name()});
  return module.forward(std::forward<A>(args)...);
}

// The result of net(x) where forward() takes other arguments than x: write net.forward(...).
struct [[nodiscard]] ForwardTakesOtherArguments {};

template <class M, class... A>
decltype(auto) call_if_possible(const M& net, Loc loc, const A&... args) {
  // forward() is rarely declared const, and an operator that is not const would compete with one of
  // the class's own that is.
  auto& module = const_cast<M&>(net);
  if constexpr (TakesLoc<M> && sizeof...(A) == 1) {
    return call_forward(module, args..., loc);
  } else if constexpr (HasForward<M, const A&...>) {
    const ScopedEvent range(Event{EventKind::range, module.name(), loc});
    return module.forward(args...);
  } else {
    return ForwardTakesOtherArguments();
  }
}

}  // namespace ingot::nn
