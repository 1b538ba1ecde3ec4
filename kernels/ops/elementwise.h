// From an elementwise row to its OpInfo: shapes broadcast, dtypes follow the row's rule.
// Owns: elementwise_op<Row>. Must not know: tensors, kernels.
#pragma once

#include <ingot/kernels/ops/all_rows.h>
#include <ingot/kernels/ops/op_info.h>

namespace ingot {

template <class Row>
constexpr OpInfo make_elementwise_info();

template <class Row>
inline constexpr OpInfo elementwise_op = make_elementwise_info<Row>();

namespace detail {

// The gradient is the incoming one itself (add, the kept side of sub): nothing to compute.
template <class Row, int K>
consteval bool passes_gradient() {
  using G = GradRow<Row, K>;
  if constexpr (G::uses == 1u << (G::inputs + 1)) {
    if constexpr (requires {
                    typename row_detail::Constant<unsigned(G::value(Num<double>(1.0)).v)>;
                  }) {
      return G::value(Num<double>(3.0)).v == 3.0 && G::value(Num<double>(-5.0)).v == -5.0;
    }
  }
  return false;
}

template <class Row, int K>
constexpr GradientRow gradient_row() {
  if constexpr (is_differentiable_in<Row, K>) {
    return {&elementwise_op<GradRow<Row, K>>, GradRow<Row, K>::uses, passes_gradient<Row, K>()};
  } else {
    return {};
  }
}

template <class Row>
inline constexpr GradientRow gradient_rows[kMaxRowInputs] = {
    gradient_row<Row, 0>(), gradient_row<Row, 1>(), gradient_row<Row, 2>(), gradient_row<Row, 3>(),
    gradient_row<Row, 4>()};

}  // namespace detail

template <class Row>
constexpr OpInfo make_elementwise_info() {
  OpInfo info{.name = Row::name, .kind = OpKind::elementwise, .n_in = arity_of<Row>};
  info.id = static_cast<std::int16_t>(rows::index_in<Row, rows::AllRows>);
  info.dtypes = static_cast<std::uint8_t>(dtypes_of<Row>);
  info.result_is_bool = rule_of<Row> == DTypeRule::boolean;
  info.needs_floating = rule_of<Row> == DTypeRule::floating;
  info.flops = static_cast<std::int16_t>(flops<Row>().flops);
  info.transcendentals = static_cast<std::int16_t>(flops<Row>().transcendentals);
  info.infer = &infer_elementwise;
  info.cost = &elementwise_cost;
  // The gradient rows of the built-in rows have no history of their own (no second derivatives).
  if constexpr (is_differentiable<Row> && !requires { Row::uses; }) {
    info.gradients = detail::gradient_rows<Row>;
  }
  return info;
}

}  // namespace ingot
