#pragma once
// Owns the rows of one operand that are elementary functions. Conventions as in unary.h. Must not
// know tensors or kernels. Golden points come from tests/golden/make_golden.py.
#include <ingot/kernels/ops/row.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

struct Exp {
  static constexpr const char* name = "exp";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{-104, 89};
  static constexpr int ulp = 2;
  static constexpr Golden golden[] = {{{0}, 1},
                                      {{1}, 2.718281828459045},
                                      {{-1}, 0.36787944117144233},
                                      {{0.25}, 1.2840254166877414},
                                      {{20}, 485165195.4097903},
                                      {{-40}, 4.248354255291589e-18},
                                      {{88.5}, 2.7230878250681117e38},
                                      {{-95}, 5.5210822770285325e-42}};
  template <class S>
  INGOT_HD static S value(S x) {
    return exp(x);
  }
  template <class S>
  INGOT_HD static S grad(S, S y, S dy) {
    return dy * y;
  }
};

struct Expm1 {
  static constexpr const char* name = "expm1";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{-20, 89};
  static constexpr int ulp = 2;
  static constexpr Golden golden[] = {{{1}, 1.7182818284590453},
                                      {{-1}, -0.6321205588285577},
                                      {{9.5367431640625e-07}, 9.536747711537455e-07},
                                      {{-0.000244140625}, -0.00024411082510278348},
                                      {{0.5}, 0.6487212707001282},
                                      {{20}, 485165194.4097903},
                                      {{-10}, -0.9999546000702375},
                                      {{88.5}, 2.7230878250681117e38}};
  template <class S>
  INGOT_HD static S value(S x) {
    return expm1(x);
  }
  template <class S>
  INGOT_HD static S grad(S, S y, S dy) {
    return dy * (y + S(1));
  }
};

struct Log {
  static constexpr const char* name = "log";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{0, 1e6};
  static constexpr int ulp = 2;
  static constexpr Golden golden[] = {{{1}, 0},
                                      {{2}, 0.6931471805599453},
                                      {{0.5}, -0.6931471805599453},
                                      {{10}, 2.302585092994046},
                                      {{1.000244140625}, 0.0002441108275273627},
                                      {{0.75}, -0.2876820724517809},
                                      {{10000000000}, 23.025850929940457},
                                      {{7.346839692639297e-40}, -90.10913347279289}};
  template <class S>
  INGOT_HD static S value(S x) {
    return log(x);
  }
  template <class S>
  INGOT_HD static S grad(S x, S, S dy) {
    return dy / x;
  }
};

struct Log1p {
  static constexpr const char* name = "log1p";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{-1, 1e6};
  static constexpr int ulp = 2;
  static constexpr Golden golden[] = {{{1}, 0.6931471805599453},
                                      {{-0.5}, -0.6931471805599453},
                                      {{9.5367431640625e-07}, 9.536738616591883e-07},
                                      {{-0.000244140625}, -0.0002441704321739145},
                                      {{0.25}, 0.22314355131420976},
                                      {{1000}, 6.90875477931522},
                                      {{-0.984375}, -4.1588830833596715},
                                      {{1.1805916207174113e21}, 48.520302639196174}};
  template <class S>
  INGOT_HD static S value(S x) {
    return log1p(x);
  }
  template <class S>
  INGOT_HD static S grad(S x, S, S dy) {
    return dy / (x + S(1));
  }
};

struct Sqrt {
  static constexpr const char* name = "sqrt";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{0, 1e6};
  static constexpr int ulp = 1;
  static constexpr Golden golden[] = {{{2}, 1.4142135623730951},
                                      {{0.5}, 0.7071067811865476},
                                      {{1000000}, 1000},
                                      {{7.174648137343064e-43}, 8.470329472543003e-22}};
  template <class S>
  INGOT_HD static S value(S x) {
    return sqrt(x);
  }
  template <class S>
  INGOT_HD static S grad(S, S y, S dy) {
    return dy / (y + y);
  }
};

// The last step of std: the root of a variance. Where that is 0, equal values, the gradient is 0,
// as in PyTorch: sqrt's own is infinite there, and times the variance's 0 it would be NaN.
struct Std {
  static constexpr const char* name = "std";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{0, 1e6};
  static constexpr int ulp = 1;
  static constexpr Golden golden[] = {{{2}, 1.4142135623730951}, {{0.25}, 0.5}, {{0}, 0}};
  template <class S>
  INGOT_HD static S value(S x) {
    return sqrt(x);
  }
  template <class S>
  INGOT_HD static S grad(S, S y, S dy) {
    return select(y == S(0), S(0), dy / (y + y));
  }
};

struct Rsqrt {
  static constexpr const char* name = "rsqrt";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{0, 1e6};
  static constexpr int ulp = 2;
  static constexpr Golden golden[] = {{{2}, 0.7071067811865476},
                                      {{0.5}, 1.4142135623730951},
                                      {{1000000}, 0.001},
                                      {{7.174648137343064e-43}, 1.1805916207174113e21}};
  template <class S>
  INGOT_HD static S value(S x) {
    return rsqrt(x);
  }
  template <class S>
  INGOT_HD static S grad(S, S y, S dy) {
    return S(-0.5) * dy * (y * y * y);
  }
};

struct Sin {
  static constexpr const char* name = "sin";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{-1000, 1000};
  static constexpr int ulp = 2;
  static constexpr Golden golden[] = {{{0.5}, 0.479425538604203},
                                      {{-1}, -0.8414709848078965},
                                      {{3}, 0.1411200080598672},
                                      {{100}, -0.5063656411097588},
                                      {{100000}, 0.03574879797201651},
                                      {{1.0000000150474662e30}, -0.7911634385219837},
                                      {{9.5367431640625e-07}, 9.536743164061055e-07}};
  template <class S>
  INGOT_HD static S value(S x) {
    return sin(x);
  }
  template <class S>
  INGOT_HD static S grad(S x, S, S dy) {
    return dy * cos(x);
  }
};

struct Cos {
  static constexpr const char* name = "cos";
  static constexpr DTypeRule rule = DTypeRule::floating;
  static constexpr Domain domain{-1000, 1000};
  static constexpr int ulp = 2;
  static constexpr Golden golden[] = {{{0}, 1},
                                      {{0.5}, 0.8775825618903728},
                                      {{-1}, 0.5403023058681398},
                                      {{1.5703125}, 0.0004838267760202487},
                                      {{100}, 0.8623188722876839},
                                      {{100000}, -0.9993608074382124},
                                      {{1.0000000150474662e30}, -0.6116047854178966}};
  template <class S>
  INGOT_HD static S value(S x) {
    return cos(x);
  }
  template <class S>
  INGOT_HD static S grad(S x, S, S dy) {
    return -dy * sin(x);
  }
};

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
