// From the formulas of kernels/ops/row_formulas.h to the functions of one compute type. For kernel
// units. Owns: the functions behind RowLoops. Must not know: metas, threads, storage types.
#pragma once

#include <ingot/kernels/cpu/rowops_loops.h>
#include <ingot/kernels/ops/reduce_columns.h>
#include <ingot/kernels/ops/row_formulas.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

template <class T>
struct RowFunctions {
  static const T* in(const void* p) { return static_cast<const T*>(p); }
  static T* out(void* p) { return static_cast<T*>(p); }
  static Num<T> one(const void* p) { return Num<T>(*in(p)); }

  static void softmax(Int64 n, const void* x, const void*, void* y) {
    softmax_row(n, in(x), out(y));
  }
  static void log_softmax(Int64 n, const void* x, const void*, void* y) {
    log_softmax_row(n, in(x), out(y));
  }
  static void softmax_backward(Int64 n, const void* dy, const void* y, void* dx) {
    softmax_backward_row(n, in(dy), in(y), out(dx));
  }
  static void log_softmax_backward(Int64 n, const void* dy, const void* y, void* dx) {
    log_softmax_backward_row(n, in(dy), in(y), out(dx));
  }
  static void logsumexp(Int64 n, const void* x, void* y) { *out(y) = logsumexp_row(n, in(x)).v; }
  template <class R>
  static void reduce(Int64 n, const void* x, void* y) {
    *out(y) = reduce_row<R>(n, Elements<T>{in(x)}).v;
  }
  static void squares(Int64 n, const void* x, void* y) {
    *out(y) = squares_row(n, in(x), centre_row(n, in(x))).v;
  }

  static void layer_norm(Int64 n, const void* x, const void* weight, const void* bias, double eps,
                         void* y, void* mean, void* rstd) {
    const RowMoments<T> m = layer_norm_row(n, in(x), in(weight), in(bias), Num<T>(eps), out(y));
    *out(mean) = m.mean.v;
    *out(rstd) = m.rstd.v;
  }
  static void layer_norm_backward(Int64 n, const void* dy, const void* x, const void* weight,
                                  const void* mean, const void* rstd, void* dx) {
    const RowMoments<T> m{one(mean), one(rstd)};
    layer_norm_backward_row(n, in(dy), in(x), in(weight), m, out(dx));
  }
  static void weight_terms(Int64 first, Int64 rows, Int64 cols, const void* dy, Int64 dy_stride,
                           const void* x, Int64 x_stride, const void* mean, const void* rstd,
                           void* lanes) {
    const T *g = in(dy), *from = in(x), *mu = in(mean), *rho = in(rstd);
    add_rows<SumRow>(first, rows, cols, out(lanes), [=](Int64 r, Int64 j) {
      return layer_norm_weight_term(Num<T>(g[r * dy_stride + j]), Num<T>(from[r * x_stride + j]),
                                    RowMoments<T>{Num<T>(mu[r]), Num<T>(rho[r])});
    });
  }

  static void cross_entropy(Int64 n, const void* x, Int64 target, const void* weight,
                            double smoothing, void* loss, void* logsumexp) {
    const RowLoss<T> row = cross_entropy_row(n, in(x), target, in(weight), Num<T>(smoothing));
    *out(loss) = row.loss.v;
    *out(logsumexp) = row.logsumexp.v;
  }
  static void cross_entropy_backward(Int64 n, const void* x, Int64 target, const void* weight,
                                     double smoothing, const void* weight_sum,
                                     const void* logsumexp, const void* g, void* dx) {
    cross_entropy_backward_row(n, in(x), target, in(weight), Num<T>(smoothing), one(weight_sum),
                               one(logsumexp), one(g), out(dx));
  }
  static void divide(const void* a, const void* b, void* y) { *out(y) = (one(a) / one(b)).v; }

  static constexpr RowLoops table = {softmax,
                                     log_softmax,
                                     softmax_backward,
                                     log_softmax_backward,
                                     logsumexp,
                                     reduce<SumRow>,
                                     reduce<ProdRow>,
                                     reduce<MaxRow>,
                                     reduce<MinRow>,
                                     squares,
                                     layer_norm,
                                     layer_norm_backward,
                                     weight_terms,
                                     cross_entropy,
                                     cross_entropy_backward,
                                     divide};
};

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
