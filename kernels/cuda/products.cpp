#include <optional>

#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/cublas_lt.h>
#include <ingot/kernels/cuda/gemm_simple.h>
#include <ingot/kernels/cuda/one_launch.h>
#include <ingot/kernels/cuda/product_view.h>
#include <ingot/kernels/cuda/products.h>
#include <ingot/kernels/cuda/small_shape.h>
#include <ingot/kernels/ops/structured/products.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// By cublasLt, where it has an algorithm. beta: times what lies in the result; for an epilogue of
// the product alone 0. v: see OneLaunch.
bool by_library(const ProductView& v, const void* bias, double beta,
                const ProductEpilogue& epilogue = {}) {
  const std::optional<Leading> a = leading(v.m, v.k, v.a_row, v.a_column);
  const std::optional<Leading> b = leading(v.k, v.n, v.b_row, v.b_column);
  if (!a || !b) return false;
  LtProduct lt{};
  lt.dtype = v.dtype;
  lt.tf32 = v.tf32;
  lt.m = v.m;
  lt.n = v.n;
  lt.k = v.k;
  lt.lda = a->ld;
  lt.ldb = b->ld;
  lt.ldd = v.n;
  lt.a_transposed = a->transposed;
  lt.b_transposed = b->transposed;
  lt.batch = v.batch[0];
  lt.a_step = v.a_steps[0];
  lt.b_step = v.b_steps[0];
  lt.d_step = v.d_steps[0];
  lt.a = v.a;
  lt.b = v.b;
  lt.d = v.d;
  lt.bias = epilogue.row == nullptr ? bias : epilogue.row;
  lt.activation = epilogue.activation;
  lt.plain_algorithm = epilogue.keeps_algorithm && epilogue.row != nullptr;
  lt.alpha = v.alpha;
  lt.beta = beta;
  return lt_product(lt);
}

void by_plain_kernel(const ProductView& v) {
  launch_simple_product({static_cast<int>(v.dtype),
                         v.m,
                         v.n,
                         v.k,
                         v.a,
                         v.b,
                         v.bias,
                         v.d,
                         v.a_row,
                         v.a_column,
                         v.b_row,
                         v.b_column,
                         v.bias_row,
                         v.bias_column,
                         v.batch[0],
                         v.a_steps[0],
                         v.b_steps[0],
                         v.d_steps[0],
                         v.alpha,
                         v.beta});
}

}  // namespace

void cuda_product(const KernelArgs& args) {
  const ProductView view = product_view(args);
  if (args.out[0].meta->numel() == 0) return;
  SmallProduct small;
  SmallShape shape;
  if (small_product(view, &small, &shape)) return launch_small_product(small, shape);
  if (!library_runs(view.dtype) || view.k == 0) {
    return by_plain_kernel(OneLaunch(view, false).view());
  }
  const OneLaunch one(view, true);
  // An input that is no row is laid into the result, which cublasLt then adds to.
  const bool laid = view.bias != nullptr && !adds_row(view);
  const bool addmm = args.op == structured_op<structured::Addmm>;
  if (laid) copy_on_device(args.out[0], args.in[addmm ? 0 : 2]);
  const bool done =
      laid ? by_library(one.view(), nullptr, view.beta) : by_library(one.view(), view.bias, 0);
  if (!done) by_plain_kernel(one.view());
}

bool cuda_product_with(const KernelArgs& args, const ProductEpilogue& epilogue) {
  const ProductView view = product_view(args);
  if (!takes_epilogue(view) || (view.bias != nullptr && epilogue.row != nullptr)) return false;
  if (epilogue.row != nullptr && !is_bias(epilogue.row)) return false;
  return by_library(OneLaunch(view, true).view(), view.bias, 0, epilogue);
}

}  // namespace INGOT_ISA
}  // namespace ingot
