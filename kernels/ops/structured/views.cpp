#include <ingot/kernels/core/sizes.h>
#include <ingot/kernels/ops/structured/views.h>

namespace ingot::structured {

bool view_strides(const Meta& m, const Dims& sizes, Dims* strides) {
  if (m.numel() == 0 || is_contiguous(m)) {
    *strides = contiguous_strides(sizes);
    return true;
  }
  // Walk both shapes from the right; a run of old axes that is contiguous in memory may be cut
  // anywhere into new axes, and a new axis may not span two runs.
  Dims out = Dims::filled(sizes.size(), 1);
  int o = m.dim() - 1, n = sizes.size() - 1;
  while (o >= 0) {
    i64 inner_stride = m.strides[o], run = m.sizes[o];
    while (o > 0 && (m.sizes[o - 1] == 1 || run == 1 || m.strides[o - 1] == inner_stride * run)) {
      --o;
      if (run == 1) inner_stride = m.strides[o];
      run *= m.sizes[o];
    }
    i64 filled = 1;
    while (n >= 0 && (filled < run || sizes[n] == 1)) {
      out[n] = inner_stride * filled;
      filled *= sizes[n--];
    }
    if (filled != run) return false;
    --o;
  }
  *strides = out;
  return true;
}

void View::infer(const OpInfo&, const OpArgs& args, Meta* out, i64* offset) {
  const Meta& x = args[0];
  const Dims& sizes = args.attrs.dims;
  *offset = 0;
  out->dtype = x.dtype;
  out->device = x.device;
  out->sizes = sizes;
  check_sizes("view", sizes);
  INGOT_CHECK(sizes.product() == x.numel(), "view: shape {} does not hold the {} elements of {}",
              to_string(sizes), x.numel(), describe(x));
  INGOT_CHECK(view_strides(x, sizes, &out->strides),
              "view: {} with strides {} cannot be read as {} without a copy; use reshape",
              describe(x), to_string(x.strides), to_string(sizes));
}

void Permute::infer(const OpInfo&, const OpArgs& args, Meta* out, i64* offset) {
  const Meta& x = args[0];
  const Dims& p = args.attrs.dims;
  INGOT_CHECK(p.size() == x.dim(), "permute: {} axes given for {}", p.size(), describe(x));
  *offset = 0;
  *out = x;
  unsigned seen = 0;
  for (int i = 0; i < p.size(); ++i) {
    int axis = static_cast<int>(p[i]);
    INGOT_CHECK((seen & (1u << axis)) == 0, "permute: axis {} appears twice in {}", axis,
                to_string(p));
    seen |= 1u << axis;
    out->sizes[i] = x.sizes[axis];
    out->strides[i] = x.strides[axis];
  }
}

void Slice::infer(const OpInfo&, const OpArgs& args, Meta* out, i64* offset) {
  const Meta& x = args[0];
  int axis = static_cast<int>(args.attrs.a);
  i64 start = args.attrs.s[0].to_int();
  *out = x;
  out->sizes[axis] = args.attrs.c;
  out->strides[axis] = x.strides[axis] * args.attrs.b;
  *offset = args.attrs.c == 0 ? 0 : start * x.strides[axis];
}

void Select::infer(const OpInfo&, const OpArgs& args, Meta* out, i64* offset) {
  const Meta& x = args[0];
  int axis = static_cast<int>(args.attrs.a);
  i64 index = args.attrs.s[0].to_int();
  INGOT_CHECK_AS(IndexError, index >= 0 && index < x.sizes[axis],
                 "select: index {} is out of range for size {} of dim {}", index, x.sizes[axis],
                 axis);
  *out = x;
  *offset = index * x.strides[axis];
  out->sizes.erase(axis);
  out->strides.erase(axis);
}

void Expand::infer(const OpInfo&, const OpArgs& args, Meta* out, i64* offset) {
  const Meta& x = args[0];
  const Dims& sizes = args.attrs.dims;
  int shift = sizes.size() - x.dim();
  check_sizes("expand", sizes);
  INGOT_CHECK(shift >= 0, "expand: {} has more dims than {}", describe(x), to_string(sizes));
  for (int i = 0; i < x.dim(); ++i) {
    INGOT_CHECK(x.sizes[i] == 1 || x.sizes[i] == sizes[i + shift],
                "expand: {} does not fit into {}", describe(x), to_string(sizes));
  }
  *offset = 0;
  out->dtype = x.dtype;
  out->device = x.device;
  out->sizes = sizes;
  out->strides = broadcast_strides(x, sizes);
  for (int i = 0; i < x.dim(); ++i) {
    if (x.sizes[i] == sizes[i + shift]) out->strides[i + shift] = x.strides[i];
  }
}

void Unsqueeze::infer(const OpInfo&, const OpArgs& args, Meta* out, i64* offset) {
  const Meta& x = args[0];
  int axis = static_cast<int>(args.attrs.a);
  i64 stride = axis < x.dim() ? x.sizes[axis] * x.strides[axis] : 1;
  *offset = 0;
  *out = x;
  out->sizes.insert(axis, 1);
  out->strides.insert(axis, stride);
}

void Squeeze::infer(const OpInfo&, const OpArgs& args, Meta* out, i64* offset) {
  *offset = 0;
  *out = args[0];
  for (int i = args.attrs.dims.size() - 1; i >= 0; --i) {
    out->sizes.erase(static_cast<int>(args.attrs.dims[i]));
    out->strides.erase(static_cast<int>(args.attrs.dims[i]));
  }
}

void AsStrided::infer(const OpInfo&, const OpArgs& args, Meta* out, i64* offset) {
  out->dtype = args[0].dtype;
  out->device = args[0].device;
  out->sizes = args.attrs.dims;
  out->strides = args.attrs.strides;
  *offset = args.attrs.s[0].to_int();
  INGOT_CHECK(out->numel() == 0 || *offset + extent(*out) <= extent(args[0]),
              "as_strided: {} with strides {} at {} reaches beyond {}", to_string(out->sizes),
              to_string(out->strides), *offset, describe(args[0]));
}

void Detach::infer(const OpInfo&, const OpArgs& args, Meta* out, i64* offset) {
  *offset = 0;
  *out = args[0];
}

}  // namespace ingot::structured
