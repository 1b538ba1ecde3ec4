#pragma once
// Owns the scalar types under which a row's formulas are read instead of computed: Count (what they
// cost), Uses (which operands they need), Dual (their exact derivative). Each has the function set
// of Num. Must not know rows.
#include <ingot/kernels/ops/scalar.h>

namespace ingot {
inline namespace INGOT_ISA {

// The cost of computing a value: arithmetic, comparisons and roots count as one flop each, a choice
// between two values as none, elementary functions apart.
struct Count {
  int flops = 0;
  int transcendentals = 0;
  Count() = default;
  INGOT_DEVICE constexpr Count(int f, int t) : flops(f), transcendentals(t) {}
  template <class A>
  INGOT_HD explicit Count(A) {}
};

// A bit mask of the operands that a value depends on.
struct Uses {
  unsigned mask = 0;
  Uses() = default;
  template <class A>
  INGOT_HD explicit Uses(A) {}
  INGOT_DEVICE static constexpr Uses operand(int i) {
    Uses u;
    u.mask = 1u << i;
    return u;
  }
};

namespace domains {
INGOT_INLINE constexpr Count combine(int flops, int transcendentals, Count a, Count b = {},
                                     Count c = {}) {
  return {a.flops + b.flops + c.flops + flops,
          a.transcendentals + b.transcendentals + c.transcendentals + transcendentals};
}
INGOT_INLINE constexpr Uses combine(int, int, Uses a, Uses b = {}, Uses c = {}) {
  a.mask |= b.mask | c.mask;
  return a;
}
}  // namespace domains

template <class S>
concept Reading = is_same_type<S, Count> || is_same_type<S, Uses>;

#define INGOT_READ_UNARY(name, flops, transcendentals)  \
  template <Reading S>                                  \
  INGOT_INLINE constexpr S name(S x) {                  \
    return domains::combine(flops, transcendentals, x); \
  }
#define INGOT_READ_BINARY(name, flops, transcendentals)    \
  template <Reading S>                                     \
  INGOT_INLINE constexpr S name(S a, S b) {                \
    return domains::combine(flops, transcendentals, a, b); \
  }
INGOT_READ_BINARY(operator+, 1, 0)
INGOT_READ_BINARY(operator-, 1, 0)
INGOT_READ_BINARY(operator*, 1, 0)
INGOT_READ_BINARY(operator/, 1, 0)
INGOT_READ_BINARY(operator==, 1, 0)
INGOT_READ_BINARY(operator!=, 1, 0)
INGOT_READ_BINARY(operator<, 1, 0)
INGOT_READ_BINARY(operator<=, 1, 0)
INGOT_READ_BINARY(operator>, 1, 0)
INGOT_READ_BINARY(operator>=, 1, 0)
INGOT_READ_BINARY(operator&, 1, 0)
INGOT_READ_BINARY(operator|, 1, 0)
INGOT_READ_UNARY(operator!, 1, 0)
INGOT_READ_UNARY(operator-, 1, 0)
INGOT_READ_BINARY(max, 1, 0)
INGOT_READ_BINARY(min, 1, 0)
INGOT_READ_BINARY(copysign, 1, 0)
INGOT_READ_BINARY(fmod, 1, 0)
INGOT_READ_BINARY(remainder, 1, 0)
INGOT_READ_BINARY(floor_divide, 1, 0)
INGOT_READ_BINARY(pow, 0, 1)
INGOT_READ_UNARY(abs, 1, 0)
INGOT_READ_UNARY(sign, 1, 0)
INGOT_READ_UNARY(isnan, 1, 0)
INGOT_READ_UNARY(floor, 1, 0)
INGOT_READ_UNARY(ceil, 1, 0)
INGOT_READ_UNARY(trunc, 1, 0)
INGOT_READ_UNARY(round, 1, 0)
INGOT_READ_UNARY(sqrt, 1, 0)
INGOT_READ_UNARY(rsqrt, 2, 0)
INGOT_READ_UNARY(zeros_like, 0, 0)
INGOT_READ_UNARY(exp, 0, 1)
INGOT_READ_UNARY(expm1, 0, 1)
INGOT_READ_UNARY(log, 0, 1)
INGOT_READ_UNARY(log1p, 0, 1)
INGOT_READ_UNARY(tanh, 0, 1)
INGOT_READ_UNARY(sigmoid, 0, 1)
INGOT_READ_UNARY(erf, 0, 1)
INGOT_READ_UNARY(normal_cdf, 0, 1)
INGOT_READ_UNARY(sin, 0, 1)
INGOT_READ_UNARY(cos, 0, 1)
#undef INGOT_READ_UNARY
#undef INGOT_READ_BINARY

template <Reading S>
INGOT_INLINE constexpr S fma(S a, S b, S c) {
  return domains::combine(2, 0, a, b, c);
}
template <Reading S>
INGOT_INLINE constexpr S select(S condition, S a, S b) {
  return domains::combine(0, 0, condition, a, b);
}

}  // namespace INGOT_ISA
}  // namespace ingot
