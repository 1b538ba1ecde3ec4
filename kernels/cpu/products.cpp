#include <optional>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cpu/gemm.h>
#include <ingot/kernels/cpu/products.h>
#include <ingot/kernels/ops/structured/products.h>

namespace ingot {

namespace {

// True when the product is done: 16-bit operands are widened, `kernel` runs over them in f32, and
// its result is rounded once.
bool done_in_f32(const KernelArgs& args, DType t, Kernel kernel) {
  INGOT_CHECK(t != DType::boolean, "{}: not defined for {}", args.op.name, name(t));
  if (t != DType::f16 && t != DType::bf16) return false;
  std::optional<Contiguous> wide[3];
  Meta empty[3];
  BufferView in[3];
  for (int i = 0; i < args.n_in; ++i) {
    in[i] = args.in[i];
    if (in[i].meta == nullptr) continue;
    if (in[i].data == nullptr) {  // no elements
      empty[i] = *in[i].meta;
      empty[i].dtype = DType::f32;
      in[i].meta = &empty[i];
      continue;
    }
    in[i] = wide[i].emplace(args.in[i], DType::f32, args.in[i].meta->sizes).view();
  }
  Meta meta = *args.out[0].meta;
  meta.dtype = DType::f32;
  const Scratch memory(meta.numel() * item_size(DType::f32));
  const BufferView out{memory.data(), &meta};
  kernel({args.op, in, args.n_in, &out, 1, args.attrs, args.ticket});
  copy_elements(args.out[0], out);
  return true;
}

char* at_offset(const BufferView& v, i64 offset) {
  return static_cast<char*>(v.data) + offset * item_size(v.meta->dtype);
}

// One operand's share of a batched product: strides of its batch axes (0: shared).
struct BatchOperand {
  Dims strides;
  BatchOperand(const Meta& m, int matrix_axes, const Dims& batch) {
    Meta lead;
    for (int d = 0; d + matrix_axes < m.dim(); ++d) {
      lead.sizes.push_back(m.sizes[d]);
      lead.strides.push_back(m.strides[d]);
    }
    strides = broadcast_strides(lead, batch);
  }
};

// Calls gemm_batch along the innermost batch axis, walking the outer ones; axes that all three
// operands walk as one are merged first.
void run_batches(const KernelArgs& args, DType dtype, GemmArgs g, Dims batch, Dims a, Dims b,
                 const BufferView& a_view, const BufferView& b_view) {
  Dims c = contiguous_strides(batch);
  for (i64& s : c) s *= g.m * g.n;
  for (int d = batch.size() - 2; d >= 0; --d) {
    bool one = a[d] == a[d + 1] * batch[d + 1] && b[d] == b[d + 1] * batch[d + 1];
    if (!one && batch[d] != 1 && batch[d + 1] != 1) continue;
    if (batch[d + 1] == 1) {  // the outer axis takes over
      a[d + 1] = a[d];
      b[d + 1] = b[d];
      c[d + 1] = c[d];
    }
    batch[d + 1] *= batch[d];
    batch.erase(d);
    a.erase(d);
    b.erase(d);
    c.erase(d);
  }
  GemmBatch inner;
  inner.count = batch.empty() ? 1 : batch.back();
  if (!batch.empty()) {
    inner.a = a.back();
    inner.b = b.back();
    inner.c = c.back();
  }
  i64 outer = 1;
  for (int d = 0; d + 1 < batch.size(); ++d) outer *= batch[d];
  for (i64 i = 0; i < outer; ++i) {
    i64 rest = i, a_at = 0, b_at = 0, c_at = 0;
    for (int d = batch.size() - 2; d >= 0; --d) {
      i64 index = rest % batch[d];
      rest /= batch[d];
      a_at += index * a[d];
      b_at += index * b[d];
      c_at += index * c[d];
    }
    g.a = at_offset(a_view, a_at);
    g.b = at_offset(b_view, b_at);
    g.c = at_offset(args.out[0], c_at);
    if (inner.count == 1) {
      gemm(dtype, g);
    } else {
      gemm_batch(dtype, g, inner);
    }
  }
}

}  // namespace

void cpu_matmul(const KernelArgs& args) {
  const Meta &a = *args.in[0].meta, &b = *args.in[1].meta;
  if (done_in_f32(args, a.dtype, cpu_matmul)) return;
  structured::MatmulShape s = structured::matmul_shape(args.op.name, a, b);
  GemmArgs g{};
  g.m = s.m;
  g.n = s.n;
  g.k = s.k;
  g.a_row = s.a_is_vector ? 0 : a.strides[a.dim() - 2];
  g.a_col = a.strides.back();
  g.b_row = s.b_is_vector ? b.strides[0] : b.strides[b.dim() - 2];
  g.b_col = s.b_is_vector ? 0 : b.strides.back();
  g.c_row = s.n;
  run_batches(args, a.dtype, g, s.batch, BatchOperand(a, s.a_is_vector ? 1 : 2, s.batch).strides,
              BatchOperand(b, s.b_is_vector ? 1 : 2, s.batch).strides, args.in[0], args.in[1]);
}

void cpu_addmm(const KernelArgs& args) {
  const Meta &input = *args.in[0].meta, &a = *args.in[1].meta, &b = *args.in[2].meta;
  if (done_in_f32(args, a.dtype, cpu_addmm)) return;
  Dims bias = broadcast_strides(input, args.out[0].meta->sizes);
  GemmArgs g{};
  g.m = a.sizes[0];
  g.k = a.sizes[1];
  g.n = b.sizes[1];
  g.a = args.in[1].data;
  g.a_row = a.strides[0];
  g.a_col = a.strides[1];
  g.b = args.in[2].data;
  g.b_row = b.strides[0];
  g.b_col = b.strides[1];
  g.c = args.out[0].data;
  g.c_row = g.n;
  g.bias = args.in[0].data;
  g.bias_row = bias[0];
  g.bias_col = bias[1];
  g.beta_for_bias = args.attrs.s[0].to_double();
  g.alpha = args.attrs.s[1].to_double();
  gemm(a.dtype, g);
}

void cpu_linear(const KernelArgs& args) {
  const Meta &x = *args.in[0].meta, &w = *args.in[1].meta;
  if (done_in_f32(args, x.dtype, cpu_linear)) return;
  GemmArgs g{};
  g.k = w.sizes[1];
  g.n = w.sizes[0];
  g.a_col = x.strides.back();
  g.b_row = w.strides[1];
  g.b_col = w.strides[0];
  g.c_row = g.n;
  if (args.n_in > 2 && args.in[2].data != nullptr) {
    g.bias = args.in[2].data;
    g.bias_col = args.in[2].meta->strides[0];
  }
  // The rows of x: as many trailing axes as one stride walks; the others are batches.
  Dims batch, strides;
  g.m = 1;
  g.a_row = 0;
  for (int d = x.dim() - 2; d >= 0; --d) {
    bool joins = batch.empty() && (g.m == 1 || x.sizes[d] == 1 || x.strides[d] == g.a_row * g.m);
    if (joins) {
      if (g.m == 1) g.a_row = x.strides[d];
      g.m *= x.sizes[d];
    } else {
      batch.insert(0, x.sizes[d]);
      strides.insert(0, x.strides[d]);
    }
  }
  run_batches(args, x.dtype, g, batch, strides, Dims::filled(batch.size(), 0), args.in[0],
              args.in[1]);
}

}  // namespace ingot
