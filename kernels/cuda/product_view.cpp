#include <cstdint>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/product_view.h>
#include <ingot/kernels/cuda/small_shape.h>
#include <ingot/kernels/ops/structured/products.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// The strides of an operand's batch axes for the batch's sizes (0: shared).
Dims batch_strides(const Meta& m, int matrix_axes, const Dims& batch) {
  Meta lead;
  for (int d = 0; d + matrix_axes < m.dim(); ++d) {
    lead.sizes.push_back(m.sizes[d]);
    lead.strides.push_back(m.strides[d]);
  }
  return broadcast_strides(lead, batch);
}

void set_batch(ProductView& p, Dims batch, Dims sa, Dims sb) {
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
  p.batch = batch;
  p.a_steps = sa;
  p.b_steps = sb;
  p.d_steps = sd;
}

ProductView view_of_matmul(const KernelArgs& args) {
  const structured::MatmulShape s =
      structured::matmul_shape(args.op.name, *args.in[0].meta, *args.in[1].meta);
  const Meta &a = *args.in[0].meta, &b = *args.in[1].meta;
  ProductView p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.a = args.in[0].data;
  p.b = args.in[1].data;
  p.a_row = s.a_is_vector ? s.k : a.strides[a.dim() - 2];
  p.a_column = a.strides.back();
  p.b_row = s.b_is_vector ? b.strides[0] : b.strides[b.dim() - 2];
  p.b_column = s.b_is_vector ? 1 : b.strides.back();
  set_batch(p, s.batch, batch_strides(a, s.a_is_vector ? 1 : 2, s.batch),
            batch_strides(b, s.b_is_vector ? 1 : 2, s.batch));
  return p;
}

ProductView view_of_addmm(const KernelArgs& args) {
  const Meta &a = *args.in[1].meta, &b = *args.in[2].meta;
  const Dims bias = broadcast_strides(*args.in[0].meta, args.out[0].meta->sizes);
  ProductView p;
  p.m = a.sizes[0];
  p.k = a.sizes[1];
  p.n = b.sizes[1];
  p.a = args.in[1].data;
  p.b = args.in[2].data;
  p.a_row = a.strides[0];
  p.a_column = a.strides[1];
  p.b_row = b.strides[0];
  p.b_column = b.strides[1];
  p.beta = args.attrs.s[0].to_double();
  p.alpha = args.attrs.s[1].to_double();
  if (p.beta != 0) {
    p.bias = args.in[0].data;
    p.bias_row = bias[0];
    p.bias_column = bias[1];
  }
  return p;
}

ProductView view_of_linear(const KernelArgs& args) {
  const Meta &x = *args.in[0].meta, &w = *args.in[1].meta;
  ProductView p;
  p.k = w.sizes[1];
  p.n = w.sizes[0];
  p.b = args.in[1].data;
  p.b_row = w.strides[1];
  p.b_column = w.strides[0];
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
  p.a = args.in[0].data;
  p.a_row = p.m == 1 ? p.k : row;
  p.a_column = x.strides.back();
  set_batch(p, batch, strides, Dims::filled(batch.size(), 0));
  return p;
}

}  // namespace

ProductView product_view(const KernelArgs& args) {
  const bool addmm = args.op == structured_op<structured::Addmm>;
  ProductView p = addmm                                          ? view_of_addmm(args)
                  : args.op == structured_op<structured::Linear> ? view_of_linear(args)
                                                                 : view_of_matmul(args);
  p.dtype = args.in[addmm ? 1 : 0].meta->dtype;
  INGOT_CHECK(p.dtype != DType::boolean, "{}: not defined for {}", args.op.name, name(p.dtype));
  p.d = args.out[0].data;
  p.tf32 = p.dtype == DType::f32 && args.attrs.a == structured::kTf32;
  return p;
}

std::optional<Leading> leading(i64 rows, i64 columns, i64 row, i64 column) {
  // The stride of an axis of size 1 is free; any leading dimension that fits will do.
  if (column == 1 || columns == 1) {
    const i64 ld = rows == 1 ? columns : row;
    if (ld >= columns && ld > 0) return Leading{false, ld};
  }
  if (row == 1 || rows == 1) {
    const i64 ld = columns == 1 ? rows : column;
    if (ld >= rows && ld > 0) return Leading{true, ld};
  }
  return std::nullopt;
}

bool library_runs(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::f16 || t == DType::bf16;
}

bool is_bias(const void* row) { return reinterpret_cast<std::uintptr_t>(row) % 16 == 0; }

bool adds_row(const ProductView& v) {
  return v.bias != nullptr && v.bias_row == 0 && v.bias_column == 1 && v.alpha == 1 &&
         v.beta == 1 && is_bias(v.bias);
}

bool takes_epilogue(const ProductView& v) {
  SmallProduct product;
  SmallShape shape;
  if (!library_runs(v.dtype) || v.m == 0 || v.n == 0 || v.k == 0 || v.batch.product() == 0) {
    return false;
  }
  return (v.bias == nullptr ? v.alpha == 1 : adds_row(v)) &&
         leading(v.m, v.k, v.a_row, v.a_column) && leading(v.k, v.n, v.b_row, v.b_column) &&
         !small_product(v, &product, &shape);
}

}  // namespace INGOT_ISA
}  // namespace ingot
