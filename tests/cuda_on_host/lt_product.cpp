// In place of cublasLt: what LtProduct asks for, one element after another, summed in double.
#include <cmath>
#include <cstdint>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/cublas_lt.h>
#include <ingot/kernels/ops/half.h>

#include "cuda_on_host/emulated.h"

namespace ingot {

namespace {

thread_local bool t_finds = true;
thread_local std::int64_t t_calls = 0;

double load(DType t, const void* p, i64 i) {
  switch (t) {
    case DType::f32:
      return static_cast<const float*>(p)[i];
    case DType::f16:
      return to_float(static_cast<const Half*>(p)[i]);
    case DType::bf16:
      return to_float(static_cast<const BFloat16*>(p)[i]);
    default:
      return static_cast<const double*>(p)[i];
  }
}

void store(DType t, void* p, i64 i, double x) {
  switch (t) {
    case DType::f32:
      static_cast<float*>(p)[i] = static_cast<float>(x);
      return;
    case DType::f16:
      static_cast<Half*>(p)[i] = to_half(static_cast<float>(x));
      return;
    case DType::bf16:
      static_cast<BFloat16*>(p)[i] = to_bfloat16(static_cast<float>(x));
      return;
    default:
      static_cast<double*>(p)[i] = x;
  }
}

// What cublasLtMatrixLayoutInit and the matmul itself refuse.
void check(const LtProduct& p) {
  INGOT_BUG(is_floating_point(p.dtype), "cublasLt: no products of {}", name(p.dtype));
  INGOT_BUG(p.m > 0 && p.n > 0 && p.k > 0 && p.batch > 0, "cublasLt: an empty product");
  INGOT_BUG(p.lda >= (p.a_transposed ? p.m : p.k), "cublasLt: lda {} is too small", p.lda);
  INGOT_BUG(p.ldb >= (p.b_transposed ? p.k : p.n), "cublasLt: ldb {} is too small", p.ldb);
  INGOT_BUG(p.ldd >= p.n, "cublasLt: ldd {} is too small", p.ldd);
  // It does not say so, but its kernels may fault.
  INGOT_BUG(reinterpret_cast<std::uintptr_t>(p.bias) % 16 == 0, "cublasLt: the bias is unaligned");
}

}  // namespace

void emulation::set_library(bool finds) { t_finds = finds; }
std::int64_t emulation::library_calls() { return t_calls; }

inline namespace INGOT_ISA {

bool lt_product(const LtProduct& p) {
  check(p);
  if (!t_finds) return false;
  ++t_calls;
  for (i64 matrix = 0; matrix < p.batch; ++matrix) {
    for (i64 row = 0; row < p.m; ++row) {
      for (i64 column = 0; column < p.n; ++column) {
        double sum = 0;
        for (i64 k = 0; k < p.k; ++k) {
          const i64 a = p.a_transposed ? k * p.lda + row : row * p.lda + k;
          const i64 b = p.b_transposed ? column * p.ldb + k : k * p.ldb + column;
          sum +=
              load(p.dtype, p.a, matrix * p.a_step + a) * load(p.dtype, p.b, matrix * p.b_step + b);
        }
        const i64 d = matrix * p.d_step + row * p.ldd + column;
        sum *= p.alpha;
        if (p.beta != 0) sum += p.beta * load(p.dtype, p.d, d);
        if (p.bias != nullptr) sum += load(p.dtype, p.bias, column);
        if (p.activation == ProductEpilogue::relu && sum < 0) sum = 0;
        if (p.activation == ProductEpilogue::gelu) {
          const double u = std::sqrt(2 / std::acos(-1.0)) * (sum + 0.044715 * sum * sum * sum);
          sum = 0.5 * sum * (1 + std::tanh(u));
        }
        store(p.dtype, p.d, d, sum);
      }
    }
  }
  return true;
}

}  // namespace INGOT_ISA
}  // namespace ingot
