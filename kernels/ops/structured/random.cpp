#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/structured/random.h>

namespace ingot::structured {

void RandomRow::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  for (i64 d : args.attrs.dims) {
    INGOT_CHECK(d >= 0, "{}: negative size in {}", op.name, to_string(args.attrs.dims));
  }
  out->dtype = static_cast<DType>(args.attrs.a);
  out->device = args.device;
  out->sizes = args.attrs.dims;
  out->strides = contiguous_strides(out->sizes);
}

void RandomFillRow::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  INGOT_CHECK(is_floating_point(args[0].dtype), "{}: needs a floating dtype, got {}", op.name,
              describe(args[0]));
  *out = args[0];
}

void Dropout::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  const Meta* x = args.in[0];
  INGOT_CHECK(is_floating_point(x->dtype), "dropout: needs a floating dtype, got {}", describe(*x));
  double p = args.attrs.s[0].to_double();
  INGOT_CHECK(p >= 0 && p <= 1, "dropout: p must be in [0, 1], got {}", p);
  out[0] = *x;
  out[0].strides = strides_like(x->sizes, &x, 1);
  out[1] = out[0];
  out[1].dtype = DType::boolean;
}

i64 blocks_drawn(const Meta& out) {
  i64 per_block = out.dtype == DType::f64 || out.dtype == DType::i64 ? 2 : 4;
  return (out.numel() + per_block - 1) / per_block;
}

}  // namespace ingot::structured
