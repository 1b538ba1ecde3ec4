#pragma once
// Owns what an elementwise row is: the facts it states (with defaults for rows that leave them
// out), and what follows from its formulas alone: number of operands, cost, differentiability, and
// the row that computes a gradient. Must not know any particular row.
#include <ingot/kernels/ops/domains.h>
#include <ingot/kernels/ops/dual.h>

namespace ingot {
inline namespace INGOT_ISA {

// The dtype of the result. same: the operands' common dtype. floating: the same, but integers and
// bool are converted to f32 first. boolean: bool, computed in the operands' common dtype.
enum class DTypeRule { same, floating, boolean };

// The kinds of scalar that a row can be instantiated with, after the rule's conversion.
enum class DTypeSet : unsigned { floats = 1, ints = 2, boolean = 4, numbers = 3, all = 7 };
INGOT_DEVICE constexpr bool contains(DTypeSet set, DTypeSet kind) {
  return (unsigned(set) & unsigned(kind)) != 0;
}
template <class T>
inline constexpr DTypeSet kind_of = is_float<T> ? DTypeSet::floats : DTypeSet::ints;
template <>
inline constexpr DTypeSet kind_of<bool> = DTypeSet::boolean;

// Whether operand 0 is a condition: bool, whatever the dtype of the others.
template <class R>
inline constexpr bool has_condition = false;
template <class R>
requires requires { R::condition_first; }
inline constexpr bool has_condition<R> = R::condition_first;

// Where tests sample an operand.
struct Domain {
  double low, high;
};

// One known point, from a source outside this library.
struct Golden {
  double x[5];
  double y;
};

template <class... Rows>
struct RowList {
  static constexpr int size = sizeof...(Rows);
};

inline constexpr int kMaxRowInputs = 5;

namespace row_detail {

INGOT_DEVICE constexpr int count_bits(unsigned mask) {
  int count = 0;
  for (; mask != 0; mask &= mask - 1) ++count;
  return count;
}

template <class R, class... Args>
constexpr bool has_value = requires(Args... args) {
  R::value(args...);
};

template <class R>
INGOT_DEVICE consteval int count_inputs() {
  using C = Count;
  if (has_value<R, C>) return 1;
  if (has_value<R, C, C>) return 2;
  if (has_value<R, C, C, C>) return 3;
  if (has_value<R, C, C, C, C>) return 4;
  return has_value<R, C, C, C, C, C> ? 5 : 0;
}

// The gradient rule for operand K, called with (inputs..., y, dy). `grad` serves rows of one
// operand.
template <int K, class R, class... Args>
concept HasRule = (K == 0 && requires(Args... a) { R::grad(a...); }) ||
                  (K == 0 && requires(Args... a) { R::grad_a(a...); }) ||
                  (K == 1 && requires(Args... a) { R::grad_b(a...); }) ||
                  (K == 2 && requires(Args... a) { R::grad_c(a...); }) ||
                  (K == 3 && requires(Args... a) { R::grad_d(a...); }) ||
                  (K == 4 && requires(Args... a) { R::grad_e(a...); });
template <class R, int K, class... Args>
INGOT_INLINE constexpr auto call_rule(Args... args) {
  if constexpr (K == 0) {
    if constexpr (requires { R::grad(args...); }) {
      return R::grad(args...);
    } else {
      return R::grad_a(args...);
    }
  } else if constexpr (K == 1) {
    return R::grad_b(args...);
  } else if constexpr (K == 2) {
    return R::grad_c(args...);
  } else if constexpr (K == 3) {
    return R::grad_d(args...);
  } else {
    return R::grad_e(args...);
  }
}

template <int I, class First, class... Rest>
INGOT_INLINE constexpr auto argument(First first, Rest... rest) {
  if constexpr (I == 0) {
    return first;
  } else {
    return argument<I - 1>(rest...);
  }
}

template <int... I>
struct Indices {};
template <int N, int... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I>
struct MakeIndices<0, I...> {
  using type = Indices<I...>;
};
template <int N>
using IndicesTo = typename MakeIndices<N>::type;

template <class R, int K, int... I>
INGOT_DEVICE consteval bool has_rule(Indices<I...>) {
  return HasRule<K, R, decltype(Uses::operand(I))...>;
}

}  // namespace row_detail

// The number of operands of `value`.
template <class R>
inline constexpr int arity_of = row_detail::count_inputs<R>();

template <class R>
inline constexpr DTypeRule rule_of = DTypeRule::floating;
template <class R>
requires requires { R::rule; }
inline constexpr DTypeRule rule_of<R> = R::rule;

template <class R>
inline constexpr DTypeSet dtypes_of = DTypeSet::floats;
template <class R>
requires requires { R::dtypes; }
inline constexpr DTypeSet dtypes_of<R> = R::dtypes;

// Rows over several operands may narrow the domain of the second and third.
template <class R, int K = 0>
INGOT_DEVICE constexpr Domain domain_of() {
  if constexpr (K == 1 && requires { R::domain_b; }) {
    return R::domain_b;
  } else if constexpr (K == 2 && requires { R::domain_c; }) {
    return R::domain_c;
  } else if constexpr (requires { R::domain; }) {
    return R::domain;
  } else {
    return {-4, 4};
  }
}

// Whether R has a gradient with respect to operand K; to any operand.
template <class R, int K>
inline constexpr bool is_differentiable_in =
    K < arity_of<R>&& row_detail::has_rule<R, K>(row_detail::IndicesTo<arity_of<R> + 2>{});
template <class R>
inline constexpr bool is_differentiable =
    is_differentiable_in<R, 0> || is_differentiable_in<R, 1> || is_differentiable_in<R, 2> ||
    is_differentiable_in<R, 3> || is_differentiable_in<R, 4>;

namespace row_detail {
// Operands are free, whatever their number.
template <class R, int... I>
INGOT_DEVICE constexpr Count count_value(Indices<I...>) {
  return R::value(Count(I)...);
}
template <class R, int K, int... I>
INGOT_DEVICE constexpr unsigned mark_rule(Indices<I...>) {
  return call_rule<R, K>(Uses::operand(I)...).mask;
}
template <unsigned>
struct Constant {};
// A user's rule need not be constexpr: then nothing is known, and it reads everything.
template <class R, int K>
INGOT_DEVICE consteval unsigned used_operands() {
  constexpr int n = arity_of<R> + 2;
  if constexpr (requires { typename Constant<mark_rule<R, K>(IndicesTo<n>{})>; }) {
    return mark_rule<R, K>(IndicesTo<n>{});
  } else {
    return (1u << n) - 1;
  }
}

// "mul_backward_0" for operand 0 of "mul".
struct GradName {
  char text[64] = {};
  INGOT_DEVICE constexpr GradName(const char* of, int operand) {
    int n = 0;
    for (const char* c = of; *c != 0; ++c) text[n++] = *c;
    for (const char* c = "_backward_"; *c != 0; ++c) text[n++] = *c;
    text[n] = char('0' + operand);
  }
};
template <class R, int K>
inline constexpr GradName grad_name{R::name, K};

}  // namespace row_detail

// The cost of one element. A constant for rows whose formulas are constexpr (INGOT_HD).
template <class R>
INGOT_DEVICE constexpr Count flops() {
  return row_detail::count_value<R>(row_detail::IndicesTo<arity_of<R>>{});
}

// The row that computes the gradient of R with respect to operand K. Its operands are those of
// (inputs..., y, dy) that the rule reads, in that order: bit i of `uses` is input i, bit n the
// result y, bit n + 1 the incoming gradient dy. It is a row in every respect, and differentiable.
template <class R, int K>
struct GradRow {
  static_assert(is_differentiable_in<R, K>, "the row has no gradient rule for this operand");
  static constexpr int inputs = arity_of<R>;
  static constexpr unsigned uses = row_detail::used_operands<R, K>();
  static constexpr int arity = row_detail::count_bits(uses);
  static_assert(uses >> (inputs + 1) & 1, "a gradient rule must read dy: return zeros_like(dy)");
  static_assert(arity <= kMaxRowInputs, "a gradient rule reads at most five operands");

  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::floats;
  static constexpr bool condition_first = has_condition<R> && (uses & 1) != 0;

 private:
  // Operand P of the rule: the argument that carries it, or anything where the rule does not look.
  template <int P, class... Args>
  INGOT_HD static auto operand(Args... args) {
    if constexpr ((uses >> P & 1) != 0) {
      return row_detail::argument<row_detail::count_bits(uses & ((1u << P) - 1))>(args...);
    } else {
      return decltype(row_detail::argument<arity - 1>(args...))(0);
    }
  }
  template <int... P, class... Args>
  INGOT_HD static auto expand(row_detail::Indices<P...>, Args... args) {
    return row_detail::call_rule<R, K>(operand<P>(args...)...);
  }

  // The derivative of this row in its operand J, times the incoming gradient (the last argument).
  template <int J, int... P, class... Args>
  INGOT_HD static auto derivative(row_detail::Indices<P...>, Args... args) {
    const auto seed = row_detail::argument<sizeof...(Args) - 1>(args...);
    return value(lift<P == J>(row_detail::argument<P>(args...))...).d * seed;
  }
  template <bool active, class S>
  INGOT_HD static auto lift(S x) {
    if constexpr (is_same_type<S, Num<bool>>) {
      return x;
    } else {
      return active ? Dual<S>::variable(x) : Dual<S>::constant(x);
    }
  }
  template <int J, class... Args>
  INGOT_HD static auto backward(Args... args) {
    return derivative<J>(row_detail::IndicesTo<arity>{}, args...);
  }

 public:
  static constexpr const char* name = row_detail::grad_name<R, K>.text;

  template <class... Args>
  requires(sizeof...(Args) == arity) INGOT_HD static auto value(Args... args) {
    return expand(row_detail::IndicesTo<inputs + 2>{}, args...);
  }
  template <class... Args>
  requires(sizeof...(Args) == arity + 2 && !condition_first) INGOT_HD
      static auto grad_a(Args... args) {
    return backward<0>(args...);
  }
  template <class... Args>
  requires(sizeof...(Args) == arity + 2 && arity > 1) INGOT_HD static auto grad_b(Args... args) {
    return backward<1>(args...);
  }
  template <class... Args>
  requires(sizeof...(Args) == arity + 2 && arity > 2) INGOT_HD static auto grad_c(Args... args) {
    return backward<2>(args...);
  }
  template <class... Args>
  requires(sizeof...(Args) == arity + 2 && arity > 3) INGOT_HD static auto grad_d(Args... args) {
    return backward<3>(args...);
  }
};

}  // namespace INGOT_ISA
}  // namespace ingot
