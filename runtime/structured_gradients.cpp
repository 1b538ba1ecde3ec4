// Instantiates the gradient rules of the structured rows for Tensor.
#include <array>

#include <ingot/kernels/ops/registry.h>
#include <ingot/runtime/internal_ops.h>
#include <ingot/runtime/node.h>

namespace ingot {

namespace {

template <class Row>
StructuredRule rule_of_row() {
  StructuredRule rule;
  if constexpr (requires(Vjp<Tensor> & v) { Row::template vjp<Tensor>(v); }) {
    rule.vjp = &Row::template vjp<Tensor>;
    if constexpr (requires { Row::saves; }) {
      rule.saves = [](int) { return Row::saves; };
    } else {
      rule.saves = &Row::saves_for;
    }
  }
  return rule;
}

template <class... Row>
std::array<StructuredRule, sizeof...(Row)> make_rules(structured::List<Row...>) {
  return {rule_of_row<Row>()...};
}

}  // namespace

const StructuredRule& structured_rule(const OpInfo& op) {
  static const auto rules = make_rules(structured::Rows{});
  return rules[static_cast<std::size_t>(op.id - structured::kFirstId)];
}

}  // namespace ingot
