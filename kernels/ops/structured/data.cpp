#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/structured/data.h>

namespace ingot::structured {

void Clone::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  const Meta* x = args.in[0];
  *out = *x;
  out->strides = args.attrs.a != 0 ? contiguous_strides(x->sizes) : strides_like(x->sizes, &x, 1);
}

void ToCopy::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  const Meta* x = args.in[0];
  out->dtype = static_cast<DType>(args.attrs.a);
  out->device = Device(static_cast<DeviceType>(args.attrs.b), static_cast<int>(args.attrs.c));
  out->sizes = x->sizes;
  out->strides = strides_like(x->sizes, &x, 1);
}

void Copy::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  INGOT_CHECK(broadcast(args[0].sizes, args[1].sizes, "copy_") == args[0].sizes,
              "copy_: {} does not broadcast to {}", describe(args[1]), describe(args[0]));
  *out = args[0];
}

void Full::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  for (i64 d : args.attrs.dims) {
    INGOT_CHECK(d >= 0, "full: negative size in {}", to_string(args.attrs.dims));
  }
  out->dtype = static_cast<DType>(args.attrs.a);
  out->device = args.device;
  out->sizes = args.attrs.dims;
  out->strides = contiguous_strides(out->sizes);
}

void Fill::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) { *out = args[0]; }

void Arange::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset) {
  Full::infer(op, args, out, offset);
}

void Cat::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  INGOT_CHECK(args.n_in > 0, "cat: no tensors given");
  int axis = static_cast<int>(args.attrs.a);
  *out = args[0];
  for (int i = 1; i < args.n_in; ++i) {
    const Meta& x = args[i];
    INGOT_CHECK(x.dim() == out->dim(), "cat: {} and {} differ in dims", describe(args[0]),
                describe(x));
    for (int d = 0; d < x.dim(); ++d) {
      INGOT_CHECK(d == axis || x.sizes[d] == out->sizes[d],
                  "cat: {} and {} differ in dim {}, which is not the joined one", describe(args[0]),
                  describe(x), d);
    }
    out->sizes[axis] += x.sizes[axis];
  }
  out->strides = contiguous_strides(out->sizes);
}

void Flip::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  const Meta* x = args.in[0];
  *out = *x;
  out->strides = strides_like(x->sizes, &x, 1);
}

void SliceBackward::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  *out = args[0];
  out->sizes = args.attrs.dims;
  out->strides = contiguous_strides(out->sizes);
}

}  // namespace ingot::structured
