#include <optional>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/cublas_lt.h>
#include <ingot/kernels/cuda/gemm_simple.h>
#include <ingot/kernels/cuda/products.h>
#include <ingot/kernels/ops/structured/products.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// One factor: a matrix of rows x columns, and its batch.
struct Factor {
  const void* data;
  i64 rows, columns, row, column;  // sizes and strides
  i64 step = 0;                    // between the matrices of a batch
};

// How cublasLt can read a factor: rows, or columns, one after the other.
struct Leading {
  bool transposed = false;
  i64 ld = 0;
};

std::optional<Leading> leading(const Factor& f) {
  // The stride of an axis of size 1 is free; any leading dimension that fits will do.
  if (f.column == 1 || f.columns == 1) {
    const i64 ld = f.rows == 1 ? f.columns : f.row;
    if (ld >= f.columns && ld > 0) return Leading{false, ld};
  }
  if (f.row == 1 || f.rows == 1) {
    const i64 ld = f.columns == 1 ? f.rows : f.column;
    if (ld >= f.rows && ld > 0) return Leading{true, ld};
  }
  return std::nullopt;
}

struct Product {
  DType dtype;
  i64 m, n, k;
  Factor a, b;
  void* d;
  i64 batch = 1, d_step = 0;
  // Added to the product: strides for [m, n]; null for none.
  const void* bias = nullptr;
  i64 bias_row = 0, bias_column = 0;
  double alpha = 1, beta = 1;
};

bool library_runs(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::f16 || t == DType::bf16;
}

// The product alone as cublasLt takes it: without a bias, over the result.
LtProduct lt_of(const Product& p, const Leading& a, const Leading& b) {
  LtProduct lt{};
  lt.dtype = p.dtype;
  lt.m = p.m;
  lt.n = p.n;
  lt.k = p.k;
  lt.lda = a.ld;
  lt.ldb = b.ld;
  lt.ldd = p.n;
  lt.a_transposed = a.transposed;
  lt.b_transposed = b.transposed;
  lt.batch = p.batch;
  lt.a_step = p.a.step;
  lt.b_step = p.b.step;
  lt.d_step = p.d_step;
  lt.a = p.a.data;
  lt.b = p.b.data;
  lt.d = p.d;
  lt.alpha = p.alpha;
  return lt;
}

// By cublasLt, where it takes the operands as they are.
bool by_library(const Product& p) {
  if (!library_runs(p.dtype) || p.k == 0) return false;
  const std::optional<Leading> a = leading(p.a), b = leading(p.b);
  const bool bias_is_row =
      p.bias == nullptr || (p.bias_row == 0 && p.bias_column == 1 && p.beta == 1 && p.alpha == 1);
  if (!a || !b || !bias_is_row) return false;
  LtProduct lt = lt_of(p, *a, *b);
  lt.bias = p.bias;
  return lt_product(lt);
}

void run_product(const Product& p) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return;
  if (by_library(p)) return;
  launch_simple_product({static_cast<int>(p.dtype),
                         p.m,
                         p.n,
                         p.k,
                         p.a.data,
                         p.b.data,
                         p.bias,
                         p.d,
                         p.a.row,
                         p.a.column,
                         p.b.row,
                         p.b.column,
                         p.bias_row,
                         p.bias_column,
                         p.batch,
                         p.a.step,
                         p.b.step,
                         p.d_step,
                         p.alpha,
                         p.beta});
}

void check_dtype(const KernelArgs& args, DType t) {
  INGOT_CHECK(t != DType::boolean, "{}: not defined for {}", args.op.name, name(t));
}

const void* at(const BufferView& v, i64 offset) {
  return static_cast<const char*>(v.data) + offset * item_size(v.meta->dtype);
}

// The strides of an operand's batch axes for the batch's sizes (0: shared).
Dims batch_strides(const Meta& m, int matrix_axes, const Dims& batch) {
  Meta lead;
  for (int d = 0; d + matrix_axes < m.dim(); ++d) {
    lead.sizes.push_back(m.sizes[d]);
    lead.strides.push_back(m.strides[d]);
  }
  return broadcast_strides(lead, batch);
}

// A factor whose matrices cublasLt cannot read where they lie is copied first.
bool readable(const BufferView& v, int matrix_axes) {
  if (!library_runs(v.meta->dtype) || matrix_axes < 2) return true;
  const Meta& m = *v.meta;
  const int r = m.dim() - 2, c = m.dim() - 1;
  return leading({v.data, m.sizes[r], m.sizes[c], m.strides[r], m.strides[c]}).has_value();
}

// All matrices of a batch: the innermost axis in one call, merged with the outer ones that all
// operands walk as one.
void run_batches(Product p, const BufferView& a, const BufferView& b, const BufferView& out,
                 Dims batch, Dims sa, Dims sb) {
  Dims sd = contiguous_strides(batch);
  for (i64& s : sd) s *= p.m * p.n;
  for (int d = batch.size() - 2; d >= 0; --d) {
    const bool one = sa[d] == sa[d + 1] * batch[d + 1] && sb[d] == sb[d + 1] * batch[d + 1];
    if (!one && batch[d] != 1 && batch[d + 1] != 1) continue;
    if (batch[d + 1] == 1) {
      sa[d + 1] = sa[d];
      sb[d + 1] = sb[d];
      sd[d + 1] = sd[d];
    }
    batch[d + 1] *= batch[d];
    batch.erase(d);
    sa.erase(d);
    sb.erase(d);
    sd.erase(d);
  }
  if (!batch.empty()) {
    p.batch = batch.back();
    p.a.step = sa.back();
    p.b.step = sb.back();
    p.d_step = sd.back();
  }
  i64 outer = 1;
  for (int d = 0; d + 1 < batch.size(); ++d) outer *= batch[d];
  for (i64 i = 0; i < outer; ++i) {
    i64 rest = i, a_at = 0, b_at = 0, d_at = 0;
    for (int d = batch.size() - 2; d >= 0; --d) {
      const i64 index = rest % batch[d];
      rest /= batch[d];
      a_at += index * sa[d];
      b_at += index * sb[d];
      d_at += index * sd[d];
    }
    p.a.data = at(a, a_at);
    p.b.data = at(b, b_at);
    p.d = const_cast<void*>(at(out, d_at));
    run_product(p);
  }
}

// An operand as it is, or as a row-major copy.
class Operand {
 public:
  Operand(const BufferView& v, int matrix_axes) : view_(v) {
    if (readable(v, matrix_axes)) return;
    meta_ = *v.meta;
    meta_.strides = contiguous_strides(meta_.sizes);
    copy_.emplace(static_cast<std::size_t>(meta_.numel() * item_size(meta_.dtype)));
    view_ = {copy_->data(), &meta_};
    copy_on_device(view_, v);
  }
  const BufferView& view() const { return view_; }
  const Meta& meta() const { return *view_.meta; }

 private:
  Meta meta_;
  std::optional<DeviceScratch> copy_;
  BufferView view_;
};

}  // namespace

void cuda_matmul(const KernelArgs& args) {
  const structured::MatmulShape s =
      structured::matmul_shape(args.op.name, *args.in[0].meta, *args.in[1].meta);
  check_dtype(args, args.in[0].meta->dtype);
  const Operand x(args.in[0], s.a_is_vector ? 1 : 2), y(args.in[1], s.b_is_vector ? 1 : 2);
  const Meta &a = x.meta(), &b = y.meta();
  Product p{};
  p.dtype = a.dtype;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.a = {nullptr, s.m, s.k, s.a_is_vector ? s.k : a.strides[a.dim() - 2], a.strides.back()};
  p.b = {nullptr, s.k, s.n, s.b_is_vector ? b.strides[0] : b.strides[b.dim() - 2],
         s.b_is_vector ? 1 : b.strides.back()};
  run_batches(p, x.view(), y.view(), args.out[0], s.batch,
              batch_strides(a, s.a_is_vector ? 1 : 2, s.batch),
              batch_strides(b, s.b_is_vector ? 1 : 2, s.batch));
}

void cuda_addmm(const KernelArgs& args) {
  check_dtype(args, args.in[1].meta->dtype);
  const Operand x(args.in[1], 2), y(args.in[2], 2);
  const Meta &a = x.meta(), &b = y.meta();
  const Dims bias = broadcast_strides(*args.in[0].meta, args.out[0].meta->sizes);
  Product p{};
  p.dtype = a.dtype;
  p.m = a.sizes[0];
  p.k = a.sizes[1];
  p.n = b.sizes[1];
  p.a = {x.view().data, p.m, p.k, a.strides[0], a.strides[1]};
  p.b = {y.view().data, p.k, p.n, b.strides[0], b.strides[1]};
  p.d = args.out[0].data;
  p.beta = args.attrs.s[0].to_double();
  p.alpha = args.attrs.s[1].to_double();
  if (p.beta != 0) {
    p.bias = args.in[0].data;
    p.bias_row = bias[0];
    p.bias_column = bias[1];
  }
  if (p.bias == nullptr || p.k == 0 || !library_runs(p.dtype)) return run_product(p);
  const bool epilogue = p.bias_row == 0 && p.bias_column == 1 && p.alpha == 1 && p.beta == 1;
  if (epilogue && by_library(p)) return;
  // The input is laid into the result, which cublasLt then adds to.
  copy_on_device(args.out[0], args.in[0]);
  LtProduct lt = lt_of(p, leading(p.a).value(), leading(p.b).value());
  lt.beta = p.beta;
  if (!lt_product(lt)) run_product(p);
}

void cuda_linear(const KernelArgs& args) {
  check_dtype(args, args.in[0].meta->dtype);
  const Operand input(args.in[0], args.in[0].meta->dim() >= 2 ? 2 : 1), weight(args.in[1], 2);
  const Meta &x = input.meta(), &w = weight.meta();
  Product p{};
  p.dtype = x.dtype;
  p.k = w.sizes[1];
  p.n = w.sizes[0];
  p.b = {weight.view().data, p.k, p.n, w.strides[1], w.strides[0]};
  if (args.n_in > 2 && args.in[2].data != nullptr) {
    p.bias = args.in[2].data;
    p.bias_column = args.in[2].meta->strides[0];
  }
  // The rows of x: as many trailing axes as one stride walks; the others are batches.
  Dims batch, strides;
  p.m = 1;
  i64 row = 0;
  for (int d = x.dim() - 2; d >= 0; --d) {
    const bool joins = batch.empty() && (p.m == 1 || x.sizes[d] == 1 || x.strides[d] == row * p.m);
    if (joins) {
      if (p.m == 1) row = x.strides[d];
      p.m *= x.sizes[d];
    } else {
      batch.insert(0, x.sizes[d]);
      strides.insert(0, x.strides[d]);
    }
  }
  p.a = {nullptr, p.m, p.k, p.m == 1 ? p.k : row, x.strides.back()};
  run_batches(p, input.view(), weight.view(), args.out[0], batch, strides,
              Dims::filled(batch.size(), 0));
}

}  // namespace INGOT_ISA
}  // namespace ingot
