// Compiled once per instruction set level; LIMITS_OF_LEVEL is the name of the level's table.
#include "limits.h"

#include <Eigen/Core>

namespace bench {
namespace {

void add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out,
         long n) {
  for (long i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

void add_row(float* __restrict__ c, const float* __restrict__ row, long rows, long cols) {
  for (long r = 0; r < rows; ++r, c += cols) {
    for (long j = 0; j < cols; ++j) c[j] += row[j];
  }
}

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using In = Eigen::Map<const Matrix>;
using Out = Eigen::Map<Matrix>;

void product_rows(const Product& p, const float* a, const float* b, float* c, long begin,
                  long end) {
  const long rows = end - begin;
  Out to(c + begin * p.n, rows, p.n);
  const In left(a, p.a_transposed ? p.k : p.m, p.a_transposed ? p.m : p.k);
  const In right(b, p.b_transposed ? p.n : p.k, p.b_transposed ? p.k : p.n);
  if (p.a_transposed && p.b_transposed) {
    to.noalias() = left.middleCols(begin, rows).transpose() * right.transpose();
  } else if (p.a_transposed) {
    to.noalias() = left.middleCols(begin, rows).transpose() * right;
  } else if (p.b_transposed) {
    to.noalias() = left.middleRows(begin, rows) * right.transpose();
  } else {
    to.noalias() = left.middleRows(begin, rows) * right;
  }
}

void product(const Product& p, const float* a, const float* b, float* c) {
  product_rows(p, a, b, c, 0, p.m);
}

inline float fused(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// e^x for |x| < 87: x = n ln 2 + r, a Taylor polynomial in r, and n into the exponent's bits.
inline float exponential(float x) {
  constexpr float kLog2e = 1.44269504F, kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: the sum's last bits are the integer
  x = x < -87 ? -87 : x;
  x = x > 87 ? 87 : x;
  const float shifted = fused(x, kLog2e, kRound), n = shifted - kRound;
  const float r = fused(n, -kLn2Low, fused(n, -kLn2High, x));
  float p = 1.0F / 720;
  p = fused(p, r, 1.0F / 120);
  p = fused(p, r, 1.0F / 24);
  p = fused(p, r, 1.0F / 6);
  p = fused(p, r, 0.5F);
  p = fused(p, r, 1.0F);
  p = fused(p, r, 1.0F);
  const int bits = (static_cast<int>(n) + 127) << 23;
  float scale = 0;
  __builtin_memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}

void chain8(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out,
            long n) {
  for (long i = 0; i < n; ++i) {
    float t = fused(a[i], b[i], 1);
    t = t / (1 + exponential(-t));
    const float tanh = 1 - 2 / (exponential(2 * t) + 1);
    out[i] = fused(tanh, 0.5F, a[i]);
  }
}

}  // namespace

extern const Limits LIMITS_OF_LEVEL;
const Limits LIMITS_OF_LEVEL = {add, add_row, product, product_rows, chain8};

}  // namespace bench
