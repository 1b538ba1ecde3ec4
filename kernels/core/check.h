// INGOT_CHECK (the caller's mistake) and INGOT_BUG (ours). Internal: the only header that pulls in
// fmt. Operands are evaluated and formatted only on failure. dispatch() completes an Error thrown
// inside an op with the operands and the user's line. Must not know: tensors.
#pragma once

#include <fmt/format.h>

#include <ingot/kernels/core/error.h>

namespace ingot::detail {

template <class E, class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail(fmt::format_string<A...> text, A&&... args) {
  throw E(fmt::format(text, std::forward<A>(args)...));
}

template <class... A>
[[noreturn, gnu::cold, gnu::noinline]] void bug(const char* file, int line,
                                                fmt::format_string<A...> text, A&&... args) {
  throw std::logic_error(fmt::format("internal error (please report): {} ({}:{})",
                                     fmt::format(text, std::forward<A>(args)...), file, line));
}

}  // namespace ingot::detail

// INGOT_CHECK_AS(IndexError, i < n, "select: index {} is out of range for {} rows", i, n)
#define INGOT_CHECK_AS(ErrorType, condition, ...)    \
  do {                                               \
    if (!(condition)) [[unlikely]] {                 \
      ::ingot::detail::fail<ErrorType>(__VA_ARGS__); \
    }                                                \
  } while (false)

#define INGOT_CHECK(condition, ...) INGOT_CHECK_AS(::ingot::Error, condition, __VA_ARGS__)

#define INGOT_BUG(condition, ...)                            \
  do {                                                       \
    if (!(condition)) [[unlikely]] {                         \
      ::ingot::detail::bug(__FILE__, __LINE__, __VA_ARGS__); \
    }                                                        \
  } while (false)
