#pragma once
// Owns the elementwise rows of three and four operands. Conventions as in unary.h; addcmul and
// addcdiv take their scalar as the last operand. Must not know tensors or kernels. Golden points:
// tests/golden/make_golden.py.
#include <ingot/kernels/ops/row.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

// The condition is bool whatever the dtype of the others.
struct Where {
  static constexpr const char* name = "where";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr bool condition_first = true;
  static constexpr Domain domain{-10, 10};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1, 2.5, 3.5}, 2.5}, {{0, 2.5, 3.5}, 3.5}};
  template <class C, class S>
  INGOT_HD static S value(C condition, S a, S b) {
    return select(condition, a, b);
  }
  template <class C, class S>
  INGOT_HD static S grad_b(C condition, S, S, S, S dy) {
    return select(condition, dy, S(0));
  }
  template <class C, class S>
  INGOT_HD static S grad_c(C condition, S, S, S, S dy) {
    return select(condition, S(0), dy);
  }
};

// min(max(x, low), high): high wins where the bounds cross. The gradient passes to x at the bounds.
struct Clamp {
  static constexpr const char* name = "clamp";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-10, 10};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {
      {{0.5, 1, 2}, 1}, {{1.5, 1, 2}, 1.5}, {{2.5, 1, 2}, 2}, {{0, 2, 1}, 1}};
  template <class S>
  INGOT_HD static S value(S x, S low, S high) {
    return min(max(x, low), high);
  }
  template <class S>
  INGOT_HD static S grad_a(S x, S low, S high, S, S dy) {
    return select((x >= low) & (x <= high), dy, S(0));
  }
  template <class S>
  INGOT_HD static S grad_b(S x, S low, S high, S, S dy) {
    return select((x < low) & (low < high), dy, S(0));
  }
  template <class S>
  INGOT_HD static S grad_c(S x, S low, S high, S, S dy) {
    return select((x > high) | (low > high), dy, S(0));
  }
};

// Interpolates from the nearer end, so that weight 1 gives b exactly.
struct Lerp {
  static constexpr const char* name = "lerp";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::floats;
  static constexpr Domain domain{0, 10}, domain_c{0, 1};
  static constexpr int ulp = 4;
  static constexpr Golden golden[] = {{{1, 3, 0.25}, 1.5},
                                      {{1, 3, 0.75}, 2.5},
                                      {{0.10000000149011612, 7, 1}, 7},
                                      {{0.10000000149011612, 7, 0.375}, 2.6875000009313226}};
  template <class S>
  INGOT_HD static S value(S a, S b, S weight) {
    const S step = b - a;
    return select(abs(weight) < S(0.5), a + weight * step, b - step * (S(1) - weight));
  }
  template <class S>
  INGOT_HD static S grad_a(S, S, S weight, S, S dy) {
    return dy * (S(1) - weight);
  }
  template <class S>
  INGOT_HD static S grad_b(S, S, S weight, S, S dy) {
    return dy * weight;
  }
  template <class S>
  INGOT_HD static S grad_c(S a, S b, S, S, S dy) {
    return dy * (b - a);
  }
};

// input + scale * a * b
struct Addcmul {
  static constexpr const char* name = "addcmul";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{0, 10};
  static constexpr int ulp = 3;
  static constexpr Golden golden[] = {
      {{1, 2, 3, 0.5}, 4},
      {{0.10000000149011612, 0.10000000149011612, 7, 1.5}, 1.1500000171363354}};
  template <class S>
  INGOT_HD static S value(S input, S a, S b, S scale) {
    return input + scale * a * b;
  }
  template <class S>
  INGOT_HD static S grad_a(S, S, S, S, S, S dy) {
    return dy;
  }
  template <class S>
  INGOT_HD static S grad_b(S, S, S b, S scale, S, S dy) {
    return dy * (b * scale);
  }
  template <class S>
  INGOT_HD static S grad_c(S, S a, S, S scale, S, S dy) {
    return dy * (a * scale);
  }
};

// input + scale * a / b
struct Addcdiv {
  static constexpr const char* name = "addcdiv";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::floats;
  static constexpr Domain domain{0, 10};
  static constexpr int ulp = 3;
  static constexpr Golden golden[] = {
      {{1, 2, 3, 0.5}, 1.3333333333333333},
      {{0.10000000149011612, 0.10000000149011612, 7, 1.5}, 0.12142857323799815}};
  template <class S>
  INGOT_HD static S value(S input, S a, S b, S scale) {
    return input + scale * a / b;
  }
  template <class S>
  INGOT_HD static S grad_a(S, S, S, S, S, S dy) {
    return dy;
  }
  template <class S>
  INGOT_HD static S grad_b(S, S, S b, S scale, S, S dy) {
    return dy * (scale / b);
  }
  template <class S>
  INGOT_HD static S grad_c(S, S a, S b, S scale, S, S dy) {
    return -dy * (scale * a / (b * b));
  }
};

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
