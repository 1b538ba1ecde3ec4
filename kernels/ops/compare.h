#pragma once
// Owns the rows of two operands whose result is bool: comparisons and logic. None is
// differentiable. Conventions as in unary.h. Must not know tensors or kernels. Golden points:
// tests/golden/make_golden.py.
#include <ingot/kernels/ops/row.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

struct Eq {
  static constexpr const char* name = "eq";
  static constexpr DTypeRule rule = DTypeRule::boolean;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-2, 2};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1, 2}, 0}, {{2, 2}, 1}, {{2, 1}, 0}};
  template <class S>
  INGOT_HD static auto value(S a, S b) {
    return a == b;
  }
};

struct Ne {
  static constexpr const char* name = "ne";
  static constexpr DTypeRule rule = DTypeRule::boolean;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-2, 2};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1, 2}, 1}, {{2, 2}, 0}, {{2, 1}, 1}};
  template <class S>
  INGOT_HD static auto value(S a, S b) {
    return a != b;
  }
};

struct Lt {
  static constexpr const char* name = "lt";
  static constexpr DTypeRule rule = DTypeRule::boolean;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-2, 2};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1, 2}, 1}, {{2, 2}, 0}, {{2, 1}, 0}};
  template <class S>
  INGOT_HD static auto value(S a, S b) {
    return a < b;
  }
};

struct Le {
  static constexpr const char* name = "le";
  static constexpr DTypeRule rule = DTypeRule::boolean;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-2, 2};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1, 2}, 1}, {{2, 2}, 1}, {{2, 1}, 0}};
  template <class S>
  INGOT_HD static auto value(S a, S b) {
    return a <= b;
  }
};

struct Gt {
  static constexpr const char* name = "gt";
  static constexpr DTypeRule rule = DTypeRule::boolean;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-2, 2};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1, 2}, 0}, {{2, 2}, 0}, {{2, 1}, 1}};
  template <class S>
  INGOT_HD static auto value(S a, S b) {
    return a > b;
  }
};

struct Ge {
  static constexpr const char* name = "ge";
  static constexpr DTypeRule rule = DTypeRule::boolean;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-2, 2};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1, 2}, 0}, {{2, 2}, 1}, {{2, 1}, 1}};
  template <class S>
  INGOT_HD static auto value(S a, S b) {
    return a >= b;
  }
};

// Any value but 0 is true, NaN too.
struct LogicalAnd {
  static constexpr const char* name = "logical_and";
  static constexpr DTypeRule rule = DTypeRule::boolean;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-2, 2};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1, 2}, 1}, {{0, 2}, 0}, {{0, 0}, 0}};
  template <class S>
  INGOT_HD static auto value(S a, S b) {
    return (a != S(0)) & (b != S(0));
  }
};

struct LogicalOr {
  static constexpr const char* name = "logical_or";
  static constexpr DTypeRule rule = DTypeRule::boolean;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  static constexpr Domain domain{-2, 2};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1, 2}, 1}, {{0, 2}, 1}, {{0, 0}, 0}};
  template <class S>
  INGOT_HD static auto value(S a, S b) {
    return (a != S(0)) | (b != S(0));
  }
};

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
