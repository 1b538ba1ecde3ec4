// Compiled once per level by this folder's CMakeLists.txt, which names the entry in
// INGOT_LEVEL_LOOPS.
#include "kernels/math_levels.h"

#include <ingot/kernels/ops/rows.h>

namespace ingot::math_levels {
namespace {

struct Cdf {
  template <class S>
  INGOT_HD static S value(S x) {
    return normal_cdf(x);
  }
};

template <class R>
void unary(const float* x, float* __restrict y, long n) {
  for (long i = 0; i < n; ++i) y[i] = R::value(Num<float>(x[i])).v;
}
template <class R>
void binary(const float* a, const float* b, float* __restrict y, long n) {
  for (long i = 0; i < n; ++i) y[i] = R::value(Num<float>(a[i]), Num<float>(b[i])).v;
}
template <class To>
void to_number(const float* x, void* out, long n) {
  To* __restrict y = static_cast<To*>(out);
  for (long i = 0; i < n; ++i) y[i] = convert<To>(Num<float>(x[i])).v;
}
void half(const float* x, void* out, long n) {
  Half* __restrict y = static_cast<Half*>(out);
  for (long i = 0; i < n; ++i) y[i] = to_half(x[i]);
}
void bfloat16(const float* x, void* out, long n) {
  BFloat16* __restrict y = static_cast<BFloat16*>(out);
  for (long i = 0; i < n; ++i) y[i] = to_bfloat16(x[i]);
}

constexpr Unary kUnary[] = {
    {"exp", unary<rows::Exp>},     {"expm1", unary<rows::Expm1>},
    {"log", unary<rows::Log>},     {"log1p", unary<rows::Log1p>},
    {"tanh", unary<rows::Tanh>},   {"sigmoid", unary<rows::Sigmoid>},
    {"erf", unary<rows::Erf>},     {"normal_cdf", unary<Cdf>},
    {"sin", unary<rows::Sin>},     {"cos", unary<rows::Cos>},
    {"sqrt", unary<rows::Sqrt>},   {"rsqrt", unary<rows::Rsqrt>},
    {"gelu", unary<rows::Gelu>},   {"softplus", unary<rows::Softplus>},
    {"floor", unary<rows::Floor>}, {"ceil", unary<rows::Ceil>},
    {"trunc", unary<rows::Trunc>}, {"round", unary<rows::Round>},
};
constexpr Binary kBinary[] = {
    {"pow", binary<rows::Pow>},
    {"fmod", binary<rows::Fmod>},
    {"remainder", binary<rows::Remainder>},
    {"floor_divide", binary<rows::FloorDivide>},
    {"maximum", binary<rows::Maximum>},
    {"minimum", binary<rows::Minimum>},
};
constexpr Conversion kConversion[] = {
    {"i32", 4, to_number<int>},
    {"i64", 8, to_number<Int64>},
    {"u8", 1, to_number<unsigned char>},
    {"bool", 1, to_number<bool>},
    {"f16", 2, half},
    {"bf16", 2, bfloat16},
};

}  // namespace

Loops INGOT_LEVEL_LOOPS() {
  return {kUnary,      int(std::size(kUnary)),     kBinary, int(std::size(kBinary)),
          kConversion, int(std::size(kConversion))};
}

}  // namespace ingot::math_levels
