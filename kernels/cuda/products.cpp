#include <optional>
#include <vector>

#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/cublas_lt.h>
#include <ingot/kernels/cuda/gemm_simple.h>
#include <ingot/kernels/cuda/product_view.h>
#include <ingot/kernels/cuda/products.h>
#include <ingot/kernels/cuda/small_shape.h>
#include <ingot/kernels/ops/structured/products.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// One launch: the matrices of the innermost batch axis.
struct Part {
  const void *a, *b;
  void* d;
  i64 batch = 1, a_step = 0, b_step = 0, d_step = 0;
};

const void* at(const void* data, i64 offset, DType t) {
  return static_cast<const char*>(data) + offset * item_size(t);
}

template <class F>
void for_each_part(const ProductView& v, const F& f) {
  Part part{v.a, v.b, v.d};
  if (!v.batch.empty()) {
    part.batch = v.batch.back();
    part.a_step = v.a_steps.back();
    part.b_step = v.b_steps.back();
    part.d_step = v.d_steps.back();
  }
  i64 outer = 1;
  for (int d = 0; d + 1 < v.batch.size(); ++d) outer *= v.batch[d];
  for (i64 i = 0; i < outer; ++i) {
    i64 rest = i, a_at = 0, b_at = 0, d_at = 0;
    for (int d = v.batch.size() - 2; d >= 0; --d) {
      const i64 index = rest % v.batch[d];
      rest /= v.batch[d];
      a_at += index * v.a_steps[d];
      b_at += index * v.b_steps[d];
      d_at += index * v.d_steps[d];
    }
    part.a = at(v.a, a_at, v.dtype);
    part.b = at(v.b, b_at, v.dtype);
    part.d = const_cast<void*>(at(v.d, d_at, v.dtype));
    f(part);
  }
}

// By cublasLt, where it takes the factors as they are. beta: times what lies in the result; for an
// epilogue of the product alone 0.
bool by_library(const ProductView& v, const Part& part, const void* bias, double beta,
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
  lt.batch = part.batch;
  lt.a_step = part.a_step;
  lt.b_step = part.b_step;
  lt.d_step = part.d_step;
  lt.a = part.a;
  lt.b = part.b;
  lt.d = part.d;
  lt.bias = epilogue.row == nullptr ? bias : epilogue.row;
  lt.activation = epilogue.activation;
  lt.plain_algorithm = epilogue.keeps_algorithm && epilogue.row != nullptr;
  lt.alpha = v.alpha;
  lt.beta = beta;
  return lt_product(lt);
}

void by_plain_kernel(const ProductView& v, const Part& part) {
  launch_simple_product({static_cast<int>(v.dtype),
                         v.m,
                         v.n,
                         v.k,
                         part.a,
                         part.b,
                         v.bias,
                         part.d,
                         v.a_row,
                         v.a_column,
                         v.b_row,
                         v.b_column,
                         v.bias_row,
                         v.bias_column,
                         part.batch,
                         part.a_step,
                         part.b_step,
                         part.d_step,
                         v.alpha,
                         v.beta});
}

// Whether cublasLt can read the matrices where they lie.
bool readable(const BufferView& v) {
  const Meta& m = *v.meta;
  if (m.dim() < 2) return true;
  const int r = m.dim() - 2, c = m.dim() - 1;
  return leading(m.sizes[r], m.sizes[c], m.strides[r], m.strides[c]).has_value();
}

}  // namespace

void cuda_product(const KernelArgs& args) {
  ProductView view = product_view(args);
  if (args.out[0].meta->numel() == 0) return;
  SmallProduct small;
  SmallShape shape;
  if (small_product(view, &small, &shape)) return launch_small_product(small, shape);
  if (!library_runs(view.dtype) || view.k == 0) {
    return for_each_part(view, [&](const Part& part) { by_plain_kernel(view, part); });
  }
  const bool addmm = args.op == structured_op<structured::Addmm>;
  std::vector<BufferView> in(args.in, args.in + args.n_in);
  std::optional<DenseCopy> copies[2];
  for (int i = 0; i < 2; ++i) {
    BufferView& factor = in[static_cast<std::size_t>(i + (addmm ? 1 : 0))];
    if (!readable(factor)) factor = copies[i].emplace(factor, view.dtype).view();
  }
  if (copies[0] || copies[1]) {
    view = product_view({args.op, in.data(), args.n_in, args.out, args.n_out, args.attrs, {}});
  }
  // An input that is no row is laid into the result, which cublasLt then adds to.
  const bool laid = view.bias != nullptr && !adds_row(view);
  if (laid) copy_on_device(args.out[0], args.in[addmm ? 0 : 2]);
  for_each_part(view, [&](const Part& part) {
    const bool done =
        laid ? by_library(view, part, nullptr, view.beta) : by_library(view, part, view.bias, 0);
    if (!done) by_plain_kernel(view, part);
  });
}

bool cuda_product_with(const KernelArgs& args, const ProductEpilogue& epilogue) {
  const ProductView view = product_view(args);
  if (!takes_epilogue(view) || (view.bias != nullptr && epilogue.row != nullptr)) return false;
  if (epilogue.row != nullptr && !is_bias(epilogue.row)) return false;
  bool all = true;
  for_each_part(
      view, [&](const Part& part) { all = all && by_library(view, part, view.bias, 0, epilogue); });
  return all;
}

}  // namespace INGOT_ISA
}  // namespace ingot
