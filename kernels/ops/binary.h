#pragma once
// Owns the arithmetic rows of two operands; comparisons and logic are in compare.h. Conventions as
// in unary.h. Must not know tensors or kernels. Golden points: tests/golden/make_golden.py.
#include <ingot/kernels/ops/row.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

// On bool: or.
struct Add {
  static constexpr const char* name = "add";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 1;
  static constexpr Golden golden[] = {{{1.5, 2.25}, 3.75},
                                      {{0.10000000149011612, -3}, -2.899999998509884},
                                      {{1, 9.313225746154785e-10}, 1.0000000009313226}};
  template <class S>
  INGOT_HD static S value(S a, S b) {
    return a + b;
  }
  template <class S>
  INGOT_HD static S grad_a(S, S, S, S dy) {
    return dy;
  }
  template <class S>
  INGOT_HD static S grad_b(S, S, S, S dy) {
    return dy;
  }
};

struct Sub {
  static constexpr const char* name = "sub";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 1;
  static constexpr Golden golden[] = {{{1.5, 2.25}, -0.75},
                                      {{0.10000000149011612, -3}, 3.100000001490116},
                                      {{1, 9.313225746154785e-10}, 0.9999999990686774}};
  template <class S>
  INGOT_HD static S value(S a, S b) {
    return a - b;
  }
  template <class S>
  INGOT_HD static S grad_a(S, S, S, S dy) {
    return dy;
  }
  template <class S>
  INGOT_HD static S grad_b(S, S, S, S dy) {
    return -dy;
  }
};

// On bool: and.
struct Mul {
  static constexpr const char* name = "mul";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 1;
  static constexpr Golden golden[] = {
      {{1.5, 2.25}, 3.375},
      {{0.10000000149011612, -3}, -0.30000000447034836},
      {{0.10000000149011612, 0.10000000149011612}, 0.010000000298023226}};
  template <class S>
  INGOT_HD static S value(S a, S b) {
    return a * b;
  }
  template <class S>
  INGOT_HD static S grad_a(S, S b, S, S dy) {
    return dy * b;
  }
  template <class S>
  INGOT_HD static S grad_b(S a, S, S, S dy) {
    return dy * a;
  }
};

// True division. The rules read the operands, not the result, which may be overwritten in place.
struct Div {
  static constexpr const char* name = "div";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 1;
  static constexpr Golden golden[] = {{{1, 3}, 0.3333333333333333},
                                      {{-2, 7}, -0.2857142857142857},
                                      {{0.10000000149011612, -0.75}, -0.13333333532015482}};
  template <class S>
  INGOT_HD static S value(S a, S b) {
    return a / b;
  }
  template <class S>
  INGOT_HD static S grad_a(S, S b, S, S dy) {
    return dy / b;
  }
  template <class S>
  INGOT_HD static S grad_b(S a, S b, S, S dy) {
    return -dy * ((a / b) / b);
  }
};

// Special cases of C's pow. The gradients are 0 where an exponent of 0, or a base of 0 with an
// exponent that is not negative, would make them 0 * inf.
struct Pow {
  static constexpr const char* name = "pow";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{0, 30}, domain_b{-8, 8};
  static constexpr int ulp = 2;
  static constexpr Golden golden[] = {{{2, 10}, 1024},
                                      {{2, 0.5}, 1.4142135623730951},
                                      {{10, -3}, 0.001},
                                      {{1.0009765625, 1000}, 2.654047871015733},
                                      {{0.75, 300}, 3.2989749474660756e-38},
                                      {{-3, 3}, -27},
                                      {{-2, -4}, 0.0625},
                                      {{7, 0}, 1}};
  template <class S>
  INGOT_HD static S value(S a, S b) {
    return pow(a, b);
  }
  template <class S>
  INGOT_HD static S grad_a(S a, S b, S, S dy) {
    return select(b == S(0), S(0), dy * (b * pow(a, b - S(1))));
  }
  template <class S>
  INGOT_HD static S grad_b(S a, S b, S y, S dy) {
    return select((a == S(0)) & (b >= S(0)), S(0), dy * (y * log(a)));
  }
};

// NaN wins. Equal operands share the gradient in halves.
struct Maximum {
  static constexpr const char* name = "maximum";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {
      {{1.5, 2.25}, 2.25}, {{0.10000000149011612, -3}, 0.10000000149011612}, {{-1, -1}, -1}};
  template <class S>
  INGOT_HD static S value(S a, S b) {
    return max(a, b);
  }
  template <class S>
  INGOT_HD static S grad_a(S a, S b, S, S dy) {
    return select(a < b, S(0), select(a == b, S(0.5) * dy, dy));
  }
  template <class S>
  INGOT_HD static S grad_b(S a, S b, S, S dy) {
    return select(b < a, S(0), select(a == b, S(0.5) * dy, dy));
  }
};

struct Minimum {
  static constexpr const char* name = "minimum";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {
      {{1.5, 2.25}, 1.5}, {{0.10000000149011612, -3}, -3}, {{-1, -1}, -1}};
  template <class S>
  INGOT_HD static S value(S a, S b) {
    return min(a, b);
  }
  template <class S>
  INGOT_HD static S grad_a(S a, S b, S, S dy) {
    return select(a > b, S(0), select(a == b, S(0.5) * dy, dy));
  }
  template <class S>
  INGOT_HD static S grad_b(S a, S b, S, S dy) {
    return select(b > a, S(0), select(a == b, S(0.5) * dy, dy));
  }
};

// One-sided clamps: the gradient passes to x at the bound, and none to the bound there.
struct ClampMin {
  static constexpr const char* name = "clamp_min";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-10, 10};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1.5, 2.25}, 2.25}, {{2.5, 2.25}, 2.5}, {{-1, -1}, -1}};
  template <class S>
  INGOT_HD static S value(S x, S low) {
    return max(x, low);
  }
  template <class S>
  INGOT_HD static S grad_a(S x, S low, S, S dy) {
    return select(x >= low, dy, S(0));
  }
  template <class S>
  INGOT_HD static S grad_b(S x, S low, S, S dy) {
    return select(x < low, dy, S(0));
  }
};

struct ClampMax {
  static constexpr const char* name = "clamp_max";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-10, 10};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1.5, 2.25}, 1.5}, {{2.5, 2.25}, 2.25}, {{-1, -1}, -1}};
  template <class S>
  INGOT_HD static S value(S x, S high) {
    return min(x, high);
  }
  template <class S>
  INGOT_HD static S grad_a(S x, S high, S, S dy) {
    return select(x <= high, dy, S(0));
  }
  template <class S>
  INGOT_HD static S grad_b(S x, S high, S, S dy) {
    return select(x > high, dy, S(0));
  }
};

// The three integer-valued divisions: rounding.h has the rules; integers by zero give 0.
struct FloorDivide {
  static constexpr const char* name = "floor_divide";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 1;
  static constexpr Golden golden[] = {{{7, 2}, 3},
                                      {{-7, 2}, -4},
                                      {{7, -2}, -4},
                                      {{1, 0.10000000149011612}, 9},
                                      {{0.5, 0.10000000149011612}, 4},
                                      {{6, 0.20000000298023224}, 29},
                                      {{0.699999988079071, 0.10000000149011612}, 6},
                                      {{3, 0.10000000149011612}, 29}};
  template <class S>
  INGOT_HD static S value(S a, S b) {
    return floor_divide(a, b);
  }
};

struct Remainder {
  static constexpr const char* name = "remainder";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 1;
  static constexpr Golden golden[] = {{{7, 4}, 3},
                                      {{-7, 4}, 1},
                                      {{7, -4}, -1},
                                      {{1, 0.10000000149011612}, 0.09999998658895493},
                                      {{-5.5, 2.25}, 1.25}};
  template <class S>
  INGOT_HD static S value(S a, S b) {
    return remainder(a, b);
  }
  template <class S>
  INGOT_HD static S grad_a(S, S, S, S dy) {
    return dy;
  }
  template <class S>
  INGOT_HD static S grad_b(S a, S b, S, S dy) {
    return -dy * floor_divide(a, b);
  }
};

struct Fmod {
  static constexpr const char* name = "fmod";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {
      {{7, 4}, 3},        {{-7, 4}, -3},
      {{7, -4}, 3},       {{1, 0.10000000149011612}, 0.09999998658895493},
      {{-5.5, 2.25}, -1}, {{1.0000000150474662e30, 3}, 0}};
  template <class S>
  INGOT_HD static S value(S a, S b) {
    return fmod(a, b);
  }
  template <class S>
  INGOT_HD static S grad_a(S, S, S, S dy) {
    return dy;
  }
  template <class S>
  INGOT_HD static S grad_b(S a, S b, S, S dy) {
    return -dy * trunc(a / b);
  }
};

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
