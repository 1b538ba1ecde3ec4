// INGOT_CHECK_AT: a check outside of dispatch() that knows the caller's line.
// Owns: the form "op: sentence; at file:line" for code that is no op (modules, optimisers, files)
// and for what ops check before dispatch. Internal, since it pulls in fmt. Must not know: tensors.
#pragma once

#include <string>

#include <ingot/kernels/core/check.h>

namespace ingot::detail {

// The sentence starts with "op: "; the text given does not.
template <class E, class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail_at(const char* op, Loc loc,
                                                    fmt::format_string<A...> text, A&&... args) {
  throw E(
      fmt::format("{}: {}; at {}", op, fmt::format(text, std::forward<A>(args)...), to_string(loc)),
      op, loc);
}

}  // namespace ingot::detail

#define INGOT_CHECK_AT_AS(ErrorType, op, loc, condition, ...)    \
  do {                                                           \
    if (!(condition)) [[unlikely]] {                             \
      ::ingot::detail::fail_at<ErrorType>(op, loc, __VA_ARGS__); \
    }                                                            \
  } while (false)

// INGOT_CHECK_AT("SGD", loc, lr >= 0, "lr must not be negative, got {}", lr)
#define INGOT_CHECK_AT(op, loc, condition, ...) \
  INGOT_CHECK_AT_AS(::ingot::Error, op, loc, condition, __VA_ARGS__)
