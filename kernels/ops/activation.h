#pragma once
// Owns the rows of one operand that serve as activations. Conventions as in unary.h. Must not know
// tensors or kernels. Golden points come from tests/golden/make_golden.py.
#include <ingot/kernels/ops/row.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

struct Tanh {
  static constexpr const char* name = "tanh";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{-10, 10};
  static constexpr int ulp = 2;
  static constexpr Golden golden[] = {{{0}, 0},
                                      {{0.25}, 0.24491866240370913},
                                      {{-0.5}, -0.46211715726000974},
                                      {{0.5625}, 0.5098299737352566},
                                      {{1}, 0.7615941559557649},
                                      {{-3}, -0.9950547536867305},
                                      {{8}, 0.9999997749296758},
                                      {{3.0517578125e-05}, 3.0517578115526096e-05}};
  template <class S>
  INGOT_HD static S value(S x) {
    return tanh(x);
  }
  template <class S>
  INGOT_HD static S grad(S, S y, S dy) {
    return dy * (S(1) - y * y);
  }
};

struct Sigmoid {
  static constexpr const char* name = "sigmoid";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{-104, 20};
  static constexpr int ulp = 2;
  static constexpr Golden golden[] = {{{0}, 0.5},
                                      {{1}, 0.7310585786300049},
                                      {{-1}, 0.2689414213699951},
                                      {{10}, 0.9999546021312976},
                                      {{-20}, 2.0611536181902037e-09},
                                      {{-85}, 1.2160992992528256e-37},
                                      {{-100}, 3.720075976020836e-44}};
  template <class S>
  INGOT_HD static S value(S x) {
    return sigmoid(x);
  }
  template <class S>
  INGOT_HD static S grad(S, S y, S dy) {
    return dy * ((S(1) - y) * y);
  }
};

struct Erf {
  static constexpr const char* name = "erf";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{-5, 5};
  static constexpr int ulp = 2;
  static constexpr Golden golden[] = {{{0}, 0},
                                      {{0.25}, 0.27632639016823696},
                                      {{-0.5}, -0.5204998778130465},
                                      {{0.875}, 0.7840750610598597},
                                      {{1}, 0.8427007929497149},
                                      {{-2}, -0.9953222650189527},
                                      {{3.5}, 0.9999992569016276},
                                      {{3.0517578125e-05}, 3.443539937576958e-05}};
  template <class S>
  INGOT_HD static S value(S x) {
    return erf(x);
  }
  template <class S>
  INGOT_HD static S grad(S x, S, S dy) {
    return dy * (S(1.1283791670955126) * exp(-(x * x)));  // 2 / sqrt(pi)
  }
};

// NaN stays NaN; relu(-0) is +0. The gradient at 0 is 0, read from the result.
struct Relu {
  static constexpr const char* name = "relu";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::numbers;
  static constexpr Domain domain{-10, 10};
  static constexpr int ulp = 0;
  static constexpr Golden golden[] = {{{1.5}, 1.5}, {{-2.25}, 0}, {{0}, 0}};
  template <class S>
  INGOT_HD static S value(S x) {
    return select(x <= S(0), S(0), x);
  }
  template <class S>
  INGOT_HD static S grad(S, S y, S dy) {
    return select(y <= S(0), S(0), dy);
  }
};

// x P(X < x), X standard normal: the erf form, without its cancellation for negative x.
struct Gelu {
  static constexpr const char* name = "gelu";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::floats;
  static constexpr Domain domain{-12.5, 10};
  static constexpr int ulp = 10;  // in the tail below -6; 5 elsewhere
  static constexpr Golden golden[] = {{{0}, 0},
                                      {{1}, 0.8413447460685429},
                                      {{-1}, -0.15865525393145705},
                                      {{0.25}, 0.14967658142073093},
                                      {{-3}, -0.0040496940948902835},
                                      {{-5.5}, -1.0444259356238245e-07},
                                      {{-10}, -7.619853024160526e-23},
                                      {{4}, 3.9998733150326675}};
  template <class S>
  INGOT_HD static S value(S x) {
    return x * normal_cdf(x);
  }
  template <class S>
  INGOT_HD static S grad(S x, S, S dy) {
    const S density = S(0.3989422804014327) * exp(S(-0.5) * x * x);  // 1 / sqrt(2 pi)
    return dy * (normal_cdf(x) + x * density);
  }
};

// (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), as sigmoid(2 u), which does not
// cancel for negative x. A GPU has one of its own for floats.
template <class S>
INGOT_HD S tanh_normal_cdf(S x) {
  return sigmoid(x * (S(1.5957691216057308) + S(0.07135481627260025) * (x * x)));
}

// gelu(approximate="tanh")
struct GeluTanh {
  static constexpr const char* name = "gelu_tanh";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::floats;
  static constexpr Domain domain{-6, 10};
  static constexpr int ulp = 64;  // the rounding of 2 u is amplified by 2 u, up to 25
  static constexpr Golden golden[] = {{{0}, 0},
                                      {{1}, 0.8411919906082767},
                                      {{-1}, -0.1588080093917233},
                                      {{0.25}, 0.149675350701685},
                                      {{-3}, -0.003637392081773019},
                                      {{4}, 3.9999297540518075}};
  template <class S>
  INGOT_HD static S value(S x) {
    return x * tanh_normal_cdf(x);
  }
  template <class S>
  INGOT_HD static S grad(S x, S, S dy) {
    const S s = tanh_normal_cdf(x);
    const S slope = S(1.5957691216057308) + S(0.21406444881780075) * (x * x);
    return dy * (s + x * slope * (s * (S(1) - s)));
  }
};

struct Silu {
  static constexpr const char* name = "silu";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::floats;
  static constexpr Domain domain{-87, 20};
  static constexpr int ulp = 4;
  static constexpr Golden golden[] = {{{0}, 0},
                                      {{1}, 0.7310585786300049},
                                      {{-1}, -0.2689414213699951},
                                      {{10}, 9.999546021312975},
                                      {{-20}, -4.122307236380407e-08},
                                      {{-85}, -1.0336844043649018e-35}};
  template <class S>
  INGOT_HD static S value(S x) {
    return x * sigmoid(x);
  }
  template <class S>
  INGOT_HD static S grad(S x, S, S dy) {
    const S s = sigmoid(x);
    return dy * (s * (S(1) + x * (S(1) - s)));
  }
};

struct Softplus {
  static constexpr const char* name = "softplus";
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::floats;
  static constexpr Domain domain{-100, 100};
  static constexpr int ulp = 4;
  static constexpr Golden golden[] = {
      {{0}, 0.6931471805599453},  {{1}, 1.3132616875182228},      {{-1}, 0.3132616875182228},
      {{30}, 30.000000000000092}, {{-20}, 2.061153620314381e-09}, {{-85}, 1.2160992992528256e-37}};
  template <class S>
  INGOT_HD static S value(S x) {
    return max(x, S(0)) + log1p(exp(-abs(x)));
  }
  template <class S>
  INGOT_HD static S grad(S x, S, S dy) {
    return dy * sigmoid(x);
  }
};

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
