#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/structured/products.h>

namespace ingot::structured {

Dims MatmulShape::result() const {
  Dims sizes = batch;
  if (!a_is_vector) sizes.push_back(m);
  if (!b_is_vector) sizes.push_back(n);
  return sizes;
}

MatmulShape matmul_shape(const char* op, const Meta& a, const Meta& b) {
  INGOT_CHECK(a.dim() > 0 && b.dim() > 0, "{}: both operands need at least one dim, got {} and {}",
              op, describe(a), describe(b));
  INGOT_CHECK(a.dtype == b.dtype, "{}: dtypes differ: {} and {}", op, describe(a), describe(b));
  MatmulShape s;
  s.a_is_vector = a.dim() == 1;
  s.b_is_vector = b.dim() == 1;
  s.m = s.a_is_vector ? 1 : a.sizes[a.dim() - 2];
  s.k = a.sizes.back();
  s.n = s.b_is_vector ? 1 : b.sizes.back();
  i64 inner = s.b_is_vector ? b.sizes[0] : b.sizes[b.dim() - 2];
  INGOT_CHECK(s.k == inner, "{}: inner sizes differ: {} x {}", op, to_string(a.sizes),
              to_string(b.sizes));
  Dims a_batch, b_batch;
  for (int i = 0; i + 2 < a.dim(); ++i) a_batch.push_back(a.sizes[i]);
  for (int i = 0; i + 2 < b.dim(); ++i) b_batch.push_back(b.sizes[i]);
  s.batch = broadcast(a_batch, b_batch, op);
  return s;
}

namespace {

void set_result(const Meta& like, const Dims& sizes, Meta* out) {
  out->dtype = like.dtype;
  out->device = like.device;
  out->sizes = sizes;
  out->strides = contiguous_strides(sizes);
}

Cost product_cost(const MatmulShape& s, const OpArgs& args, const Meta* out) {
  double mnk = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  return {.flops = 2.0 * mnk * static_cast<double>(s.batch.product()),
          .bytes = bytes_touched(args, out, 1)};
}

MatmulShape linear_shape(const OpArgs& args) {
  const Meta &x = args[0], &w = args[1];
  INGOT_CHECK(w.dim() == 2 && x.dim() >= 1 && x.sizes.back() == w.sizes[1],
              "linear: input {} does not fit weight {} (out, in)", describe(x), describe(w));
  INGOT_CHECK(x.dtype == w.dtype, "linear: dtypes differ: {} and {}", describe(x), describe(w));
  if (args.has(2)) {
    INGOT_CHECK(args[2].dim() == 1 && args[2].sizes[0] == w.sizes[0] && args[2].dtype == w.dtype,
                "linear: bias {} does not fit weight {} (out, in)", describe(args[2]), describe(w));
  }
  i64 rows = 1;
  for (int i = 0; i + 1 < x.dim(); ++i) rows *= x.sizes[i];
  return {.batch = {},
          .m = rows,
          .k = w.sizes[1],
          .n = w.sizes[0],
          .a_is_vector = false,
          .b_is_vector = false};
}

}  // namespace

void Matmul::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  set_result(args[0], matmul_shape(op.name, args[0], args[1]).result(), out);
}

Cost Matmul::cost(const OpInfo& op, const OpArgs& args, const Meta* out) {
  return product_cost(matmul_shape(op.name, args[0], args[1]), args, out);
}

void Addmm::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  INGOT_CHECK(args[1].dim() == 2 && args[2].dim() == 2,
              "addmm: the factors must be 2-d, got {} and {}", describe(args[1]),
              describe(args[2]));
  Dims sizes = matmul_shape(op.name, args[1], args[2]).result();
  INGOT_CHECK(args[0].dtype == args[1].dtype && broadcast(args[0].sizes, sizes, op.name) == sizes,
              "addmm: input {} does not broadcast to the product {}{}", describe(args[0]),
              ingot::name(args[1].dtype), to_string(sizes));
  set_result(args[1], sizes, out);
}

Cost Addmm::cost(const OpInfo& op, const OpArgs& args, const Meta* out) {
  Cost cost = product_cost(matmul_shape(op.name, args[1], args[2]), args, out);
  cost.flops += static_cast<double>(out->numel());
  return cost;
}

void Linear::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  linear_shape(args);
  Dims sizes = args[0].sizes;
  sizes.back() = args[1].sizes[0];
  set_result(args[0], sizes, out);
}

Cost Linear::cost(const OpInfo&, const OpArgs& args, const Meta* out) {
  Cost cost = product_cost(linear_shape(args), args, out);
  if (args.has(2)) cost.flops += static_cast<double>(out->numel());
  return cost;
}

}  // namespace ingot::structured
