// Views and reshapes: indices, negative axes and -1 sizes are settled here, before dispatch.
#include <algorithm>

#include <ingot/kernels/core/sizes.h>
#include <ingot/kernels/ops/structured/views.h>
#include <ingot/runtime/arguments.h>
#include <ingot/runtime/internal_ops.h>

namespace ingot {

namespace {

template <class Row>
Tensor view_op(const Tensor& x, const Attrs& attrs, Loc loc) {
  const Tensor* in[] = {&x};
  return dispatch({structured_op<Row>, in, 1, attrs, loc});
}

Dims fill_minus_one(const char* op, const Tensor& x, Dims sizes) {
  int unknown = -1;
  Dims others = sizes;
  for (int i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != -1) continue;
    INGOT_CHECK(unknown < 0, "{}: more than one -1 in {}", op, to_string(sizes));
    unknown = i;
    others[i] = 1;
  }
  check_sizes(op, others);
  if (unknown >= 0) {
    const i64 known = others.product();
    INGOT_CHECK(known != 0 && x.numel() % known == 0,
                "{}: shape {} does not hold the {} elements of {}", op, to_string(sizes), x.numel(),
                describe(x.meta()));
    sizes[unknown] = x.numel() / known;
  }
  return sizes;
}

struct Range {
  i64 start, length;
};

Range clip(const Slice& s, i64 size) {
  INGOT_CHECK(s.step > 0, "slice: step {} is not positive", s.step);
  auto wrap = [&](i64 v) { return std::clamp<i64>(v < 0 ? v + size : v, 0, size); };
  i64 start = wrap(s.start.value_or(0)), stop = wrap(s.stop.value_or(size));
  return {start, stop > start ? (stop - start - 1) / s.step + 1 : 0};
}

}  // namespace

Tensor view(const Tensor& x, Dims sizes, Loc loc) {
  Attrs attrs;
  (void)given(x, "view", loc);
  attrs.dims = with_line("view", loc, [&] { return fill_minus_one("view", x, sizes); });
  return view_op<structured::View>(x, attrs, loc);
}

Tensor reshape(const Tensor& x, Dims sizes, Loc loc) {
  Attrs attrs;
  (void)given(x, "reshape", loc);
  attrs.dims = with_line("reshape", loc, [&] { return fill_minus_one("reshape", x, sizes); });
  if (attrs.dims == x.sizes()) return x;
  Dims strides;
  if (attrs.dims.product() == x.numel() &&
      !structured::view_strides(x.meta(), attrs.dims, &strides)) {
    return view_op<structured::View>(contiguous(x, loc), attrs, loc);
  }
  return as_op("reshape", [&] { return view_op<structured::View>(x, attrs, loc); });
}

Tensor flatten(const Tensor& x, Int start, Int end, Loc loc) {
  if (given(x, "flatten", loc).dim() == 0) return reshape(x, {1}, loc);
  int first = axis_of(x, start, "flatten", loc);
  int last = axis_of(x, end, "flatten", loc);
  INGOT_CHECK_AT("flatten", loc, first <= last, "start {} is behind end {}", start, end);
  Dims sizes;
  i64 merged = 1;
  for (int i = 0; i < x.dim(); ++i) {
    if (i >= first && i <= last) merged *= x.size(i);
    if (i == last) sizes.push_back(merged);
    if (i < first || i > last) sizes.push_back(x.size(i));
  }
  return reshape(x, sizes, loc);
}

Tensor permute(const Tensor& x, Dims axes, Loc loc) {
  Attrs attrs;
  for (i64 a : axes) {
    attrs.dims.push_back(axis_of(x, a, "permute", loc));
  }
  return view_op<structured::Permute>(x, attrs, loc);
}

Tensor transpose(const Tensor& x, Int a, Int b, Loc loc) {
  Attrs attrs;
  for (int i = 0; i < given(x, "transpose", loc).dim(); ++i) attrs.dims.push_back(i);
  int first = axis_of(x, a, "transpose", loc);
  int second = axis_of(x, b, "transpose", loc);
  if (x.dim() > 0) std::swap(attrs.dims[first], attrs.dims[second]);
  return view_op<structured::Permute>(x, attrs, loc);
}

Tensor Tensor::t(Loc loc) const {
  INGOT_CHECK_AT("t", loc, given(*this, "t", loc).dim() <= 2, "needs at most two dims, got {}",
                 describe(meta()));
  return dim() < 2 ? *this : ingot::transpose(*this, 0, 1, loc);
}

Tensor expand(const Tensor& x, Dims sizes, Loc loc) {
  Attrs attrs;
  attrs.dims = sizes;
  int shift = sizes.size() - given(x, "expand", loc).dim();
  for (int i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != -1) continue;
    INGOT_CHECK_AT("expand", loc, i >= shift, "-1 at the new axis {} in {}", i, to_string(sizes));
    attrs.dims[i] = x.sizes()[i - shift];
  }
  if (attrs.dims == x.sizes()) return x;
  return view_op<structured::Expand>(x, attrs, loc);
}

Tensor squeeze(const Tensor& x, Loc loc) {
  Attrs attrs;
  for (int i = 0; i < given(x, "squeeze", loc).dim(); ++i) {
    if (x.sizes()[i] == 1) attrs.dims.push_back(i);
  }
  return view_op<structured::Squeeze>(x, attrs, loc);
}

Tensor squeeze(const Tensor& x, Int axis, Loc loc) {
  int a = axis_of(x, axis, "squeeze", loc);
  Attrs attrs;
  if (x.dim() > 0 && x.sizes()[a] == 1) attrs.dims.push_back(a);
  return view_op<structured::Squeeze>(x, attrs, loc);
}

Tensor unsqueeze(const Tensor& x, Int axis, Loc loc) {
  Attrs attrs;
  const int dims = given(x, "unsqueeze", loc).dim() + 1;
  attrs.a = with_line("unsqueeze", loc, [&] { return wrap_axis(axis, dims, "unsqueeze"); });
  return view_op<structured::Unsqueeze>(x, attrs, loc);
}

Tensor slice(const Tensor& x, Int axis, std::optional<i64> start, std::optional<i64> stop, i64 step,
             Loc loc) {
  INGOT_CHECK_AT("slice", loc, given(x, "slice", loc).dim() > 0, "a 0-d tensor has no axis");
  Attrs attrs;
  attrs.a = axis_of(x, axis, "slice", loc);
  Range range = with_line("slice", loc, [&] { return clip({start, stop, step}, x.size(axis)); });
  attrs.b = std::min(step, std::max<i64>(x.size(axis), 1));  // a longer one goes no further
  attrs.c = range.length;
  attrs.add_scalar(range.start);
  return view_op<structured::Slice>(x, attrs, loc);
}

Tensor narrow(const Tensor& x, Int axis, i64 start, i64 length, Loc loc) {
  i64 size = x.size(axis_of(x, axis, "narrow", loc));
  i64 from = start < 0 ? start + size : start;
  INGOT_CHECK_AT_AS(IndexError, "narrow", loc,
                    start >= -size && from <= size && length >= 0 && length <= size - from,
                    "{} elements from {} are out of range for size {}", length, start, size);
  return slice(x, axis, from, from + length, 1, loc);
}

Tensor select(const Tensor& x, Int axis, i64 index, Loc loc) {
  INGOT_CHECK_AT_AS(IndexError, "select", loc, given(x, "select", loc).dim() > 0,
                    "a 0-d tensor cannot be indexed");
  Attrs attrs;
  attrs.a = axis_of(x, axis, "select", loc);
  i64 size = x.size(axis);
  INGOT_CHECK_AT_AS(IndexError, "select", loc, index >= -size && index < size,
                    "index {} is out of range for size {} of dim {}", index, size, axis);
  attrs.add_scalar(index < 0 ? index + size : index);
  return view_op<structured::Select>(x, attrs, loc);
}

Tensor detach(const Tensor& x, Loc loc) { return view_op<structured::Detach>(x, {}, loc); }

Tensor as_strided(const Tensor& x, const Dims& sizes, const Dims& strides, i64 offset, Loc loc) {
  Attrs attrs;
  attrs.dims = sizes;
  attrs.strides = strides;
  attrs.add_scalar(offset);
  return view_op<structured::AsStrided>(x, attrs, loc);
}

Tensor Tensor::operator[](const ViewIndex& i) const {
  return i.kind == ViewIndex::Kind::index ? ingot::select(*this, 0, i.index, i.loc) : (*this)[{i}];
}

Tensor Tensor::operator[](Views views) const {
  const Loc loc = views.size() == 0 ? Loc::here() : views.begin()->loc;
  (void)given(*this, "index", loc);
  int consumed = 0, ellipses = 0;
  for (const ViewIndex& v : views) {
    consumed += v.kind == ViewIndex::Kind::index || v.kind == ViewIndex::Kind::slice ? 1 : 0;
    ellipses += v.kind == ViewIndex::Kind::ellipsis ? 1 : 0;
  }
  INGOT_CHECK_AT_AS(IndexError, "index", loc, consumed <= dim() && ellipses <= 1,
                    "{} indices{} for {}", consumed,
                    ellipses > 1 ? " and more than one Ellipsis" : "", describe(meta()));
  Tensor out = *this;
  int axis = 0;
  for (const ViewIndex& v : views) {
    switch (v.kind) {
      case ViewIndex::Kind::index:
        out = ingot::select(out, axis, v.index, v.loc);
        break;
      case ViewIndex::Kind::slice:
        if (v.slice.start || v.slice.stop || v.slice.step != 1) {
          out = ingot::slice(out, axis, v.slice.start, v.slice.stop, v.slice.step, v.loc);
        }
        ++axis;
        break;
      case ViewIndex::Kind::new_axis:
        out = ingot::unsqueeze(out, axis++, v.loc);
        break;
      case ViewIndex::Kind::ellipsis:
        axis += dim() - consumed;
        break;
    }
  }
  return out;
}

}  // namespace ingot
