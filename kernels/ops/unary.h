#pragma once
// Owns the elementwise rows of one operand: value, gradient, dtypes, test domain, error bound and
// known points of each op, written once for eager, fused, CPU and CUDA. Names are ATen's. Must not
// know tensors or kernels. Golden points come from tests/golden/make_golden.py.
#include <ingot/kernels/ops/row.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

struct Neg {
  static constexpr const char* name = "neg";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1.5}, -1.5}, {{-2.25}, 2.25}, {{0}, 0}};
  template <class S>
  INGOT_HD static S value(S x) {
    return -x;
  }
  template <class S>
  INGOT_HD static S grad(S, S, S dy) {
    return -dy;
  }
};

// The gradient at 0 is 0.
struct Abs {
  static constexpr const char* name = "abs";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1.5}, 1.5}, {{-2.25}, 2.25}, {{0}, 0}};
  template <class S>
  INGOT_HD static S value(S x) {
    return abs(x);
  }
  template <class S>
  INGOT_HD static S grad(S x, S, S dy) {
    return dy * sign(x);
  }
};

// 0 for both zeros and for NaN.
struct Sign {
  static constexpr const char* name = "sign";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1.5}, 1}, {{-2.25}, -1}, {{0}, 0}};
  template <class S>
  INGOT_HD static S value(S x) {
    return sign(x);
  }
  template <class S>
  INGOT_HD static S grad(S, S, S dy) {
    return zeros_like(dy);
  }
};

struct Square {
  static constexpr const char* name = "square";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 1;
  static constexpr Golden golden[] = {
      {{1.5}, 2.25}, {{-3}, 9}, {{0.10000000149011612}, 0.010000000298023226}};
  template <class S>
  INGOT_HD static S value(S x) {
    return x * x;
  }
  template <class S>
  INGOT_HD static S grad(S x, S, S dy) {
    return dy * (x + x);
  }
};

struct Reciprocal {
  static constexpr const char* name = "reciprocal";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 1;
  static constexpr Golden golden[] = {
      {{3}, 0.3333333333333333}, {{-0.75}, -1.3333333333333333}, {{1000}, 0.001}};
  template <class S>
  INGOT_HD static S value(S x) {
    return S(1) / x;
  }
  template <class S>
  INGOT_HD static S grad(S, S y, S dy) {
    return -dy * (y * y);
  }
};

// The four roundings have a gradient of zero; integers pass through.
struct Floor {
  static constexpr const char* name = "floor";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1.5}, 1}, {{-1.5}, -2}, {{2}, 2}, {{-0.25}, -1}};
  template <class S>
  INGOT_HD static S value(S x) {
    return floor(x);
  }
  template <class S>
  INGOT_HD static S grad(S, S, S dy) {
    return zeros_like(dy);
  }
};

struct Ceil {
  static constexpr const char* name = "ceil";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1.5}, 2}, {{-1.5}, -1}, {{2}, 2}, {{0.25}, 1}};
  template <class S>
  INGOT_HD static S value(S x) {
    return ceil(x);
  }
  template <class S>
  INGOT_HD static S grad(S, S, S dy) {
    return zeros_like(dy);
  }
};

struct Trunc {
  static constexpr const char* name = "trunc";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1.75}, 1}, {{-1.75}, -1}, {{2}, 2}, {{0.25}, 0}};
  template <class S>
  INGOT_HD static S value(S x) {
    return trunc(x);
  }
  template <class S>
  INGOT_HD static S grad(S, S, S dy) {
    return zeros_like(dy);
  }
};

// Ties go to the even neighbour.
struct Round {
  static constexpr const char* name = "round";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{0.5}, 0},   {{1.5}, 2},  {{2.5}, 2},
                                      {{-2.5}, -2}, {{0.75}, 1}, {{8388609}, 8388609}};
  template <class S>
  INGOT_HD static S value(S x) {
    return round(x);
  }
  template <class S>
  INGOT_HD static S grad(S, S, S dy) {
    return zeros_like(dy);
  }
};

struct LogicalNot {
  static constexpr const char* name = "logical_not";
  static constexpr DTypeRule rule = DTypeRule::boolean;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-2, 2};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{0}, 1}, {{1}, 0}, {{-0.5}, 0}};
  template <class S>
  INGOT_HD static auto value(S x) {
    return x == S(0);
  }
};

struct IsNan {
  static constexpr const char* name = "isnan";
  static constexpr DTypeRule rule = DTypeRule::boolean;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-2, 2};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{0}, 0}, {{1}, 0}, {{-0.5}, 0}};
  template <class S>
  INGOT_HD static auto value(S x) {
    return isnan(x);
  }
};

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
