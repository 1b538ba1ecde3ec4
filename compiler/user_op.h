// INGOT_ROW and op<Row>: elementwise ops of the user's own, equal to the built-in ones: autograd,
// fusion, ledger, profiler. docs/rows.md says how to write a row.
// Owns: the public macro and templates. Must not know: kernels' walk over memory.
#pragma once

#include <string_view>

#include <ingot/kernels/ops/user_row.h>
#include <ingot/runtime/call_row.h>

namespace ingot {

#if defined(__FAST_MATH__)
#define INGOT_ROW(Name, ...)                                                                     \
  static_assert(false,                                                                           \
                "INGOT_ROW: compile this unit without -ffast-math: rows keep NaN, signed zeros " \
                "and the order of operations")
#else
// Declares struct Name and the text of its body, Name_text. At namespace scope.
#define INGOT_ROW(Name, ...)                                                \
  struct Name __VA_ARGS__;                                                  \
  [[maybe_unused]] constexpr ::ingot::RowText ingot_row_text(const Name*) { \
    return {#Name, #__VA_ARGS__};                                           \
  }                                                                         \
  [[maybe_unused]] inline constexpr ::std::string_view Name##_text = #__VA_ARGS__
#endif

namespace compiler {
const ChosenLoop* choose_loop(const OpInfo& op, DType compute);
void run_user_row_on_cuda(const KernelArgs& args);
}  // namespace compiler

namespace detail {

template <class Row>
concept HasText = requires {
  ingot_row_text(static_cast<const Row*>(nullptr));
};

template <class Row, class... A>
Tensor call_row_of(const A&... operands) {
  static_assert(HasText<Row>, "op<Row>: declare the row with INGOT_ROW");
  static_assert(arity_of<Row> >= 1,
                "op<Row>: the row has no `template <class S> static S value(S...)` of 1 to 5 "
                "operands");
  static_assert(arity_of<Row> == sizeof...(A), "op<Row>: the row takes another number of operands");
  static const UserOps<Row> ops(ingot_row_text(static_cast<const Row*>(nullptr)),
                                &compiler::choose_loop, &compiler::run_user_row_on_cuda);
  const Arg* all[] = {&operands...};
  return call_row(ops.info(), all, static_cast<int>(sizeof...(A)));
}

}  // namespace detail

// The row applied to each element. Operands are tensors or numbers; they broadcast and promote as
// those of the built-in ops.
template <class Row>
Tensor op(const Arg& a) {
  return detail::call_row_of<Row>(a);
}
template <class Row>
Tensor op(const Arg& a, const Arg& b) {
  return detail::call_row_of<Row>(a, b);
}
template <class Row>
Tensor op(const Arg& a, const Arg& b, const Arg& c) {
  return detail::call_row_of<Row>(a, b, c);
}
template <class Row>
Tensor op(const Arg& a, const Arg& b, const Arg& c, const Arg& d) {
  return detail::call_row_of<Row>(a, b, c, d);
}
template <class Row>
Tensor op(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e) {
  return detail::call_row_of<Row>(a, b, c, d, e);
}

}  // namespace ingot
