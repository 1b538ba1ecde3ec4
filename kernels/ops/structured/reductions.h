// ROWS: reductions over any set of axes. dims: the axes, non-negative, ascending; all axes when
// the caller named none. a: keepdim. The order of the sum is a function of sizes, axes and stride
// order alone (kernels/ops/reduce_rows.h); results are row-major.
#pragma once

#include <ingot/kernels/ops/op_info.h>

namespace ingot::structured {

// The kept sizes (with 1 for each reduced axis when keepdim).
Dims reduced_sizes(const Dims& sizes, const Dims& axes, bool keepdim);

// y (the result over attrs.dims of an input of `sizes`) with its reduced axes back as size 1.
template <class T>
T keep_axes(const T& y, const Attrs& attrs, const Dims& sizes) {
  return attrs.a != 0 ? y : reshape(y, reduced_sizes(sizes, attrs.dims, true));
}

template <class T>
i64 reduced_count(const Vjp<T>& v) {
  i64 n = 1;
  for (i64 d : v.attrs.dims) n *= v.in_meta(0).sizes[static_cast<int>(d)];
  return n;
}

struct ReductionRow {
  static constexpr OpKind kind = OpKind::reduction;
  static constexpr int n_in = 1;
  static Cost cost(const OpInfo& op, const OpArgs& args, const Meta* out);
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
};

struct Sum : ReductionRow {  // integers and bool sum into i64
  static constexpr const char* name = "sum";
  static constexpr SaveMask saves = 0;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  template <class T>
  static void vjp(Vjp<T>& v) {
    const Dims& sizes = v.in_meta(0).sizes;
    v.set(0, expand(keep_axes(v.dy(), v.attrs, sizes), sizes));
  }
};

struct Mean : ReductionRow {  // floating only; the sum is divided once
  static constexpr const char* name = "mean";
  static constexpr SaveMask saves = 0;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  template <class T>
  static void vjp(Vjp<T>& v) {
    const Dims& sizes = v.in_meta(0).sizes;
    T g = div(v.dy(), Scalar(static_cast<double>(reduced_count(v))));
    v.set(0, expand(keep_axes(g, v.attrs, sizes), sizes));
  }
};

struct Prod : ReductionRow {
  static constexpr const char* name = "prod";
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
};

// Equal extremes share the gradient evenly, as torch.amax does.
template <class T>
void extreme_vjp(Vjp<T>& v) {
  const Dims& sizes = v.in_meta(0).sizes;
  T y = keep_axes(v.out(), v.attrs, sizes), g = keep_axes(v.dy(), v.attrs, sizes);
  T hit = to_meta(eq(v.in(0), y), v.in_meta(0));
  v.set(0, mul(hit, div(g, sum(hit, v.attrs.dims, true))));
}

struct Amax : ReductionRow {  // NaN wins
  static constexpr const char* name = "amax";
  static constexpr SaveMask saves = 1u | 1u << kOut0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    extreme_vjp(v);
  }
};

struct Amin : ReductionRow {
  static constexpr const char* name = "amin";
  static constexpr SaveMask saves = 1u | 1u << kOut0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    extreme_vjp(v);
  }
};

struct Any : ReductionRow {
  static constexpr const char* name = "any";
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
};

struct All : ReductionRow {
  static constexpr const char* name = "all";
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
};

// The first extreme in logical (row-major) order; a NaN counts as the extreme.
struct Argmax : ReductionRow {
  static constexpr const char* name = "argmax";
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
};

struct Argmin : ReductionRow {
  static constexpr const char* name = "argmin";
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
};

// values and i64 indices along one axis; the gradient goes to the chosen element.
struct ExtremeWithIndex : ReductionRow {
  static constexpr int n_out = 2;
  static constexpr SaveMask saves = 1u << (kOut0 + 1);
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  template <class T>
  static void vjp(Vjp<T>& v) {
    if (!v.has_dy(0)) return;
    const Dims& sizes = v.in_meta(0).sizes;
    T g = keep_axes(v.dy(0), v.attrs, sizes), index = keep_axes(v.out(1), v.attrs, sizes);
    if (sizes.empty()) {
      v.set(0, g);
      return;
    }
    int axis = static_cast<int>(v.attrs.dims[0]);
    v.set(0, scatter_add(zeros_meta(g, v.in_meta(0)), axis, index, g));
  }
};

struct MaxDim : ExtremeWithIndex {
  static constexpr const char* name = "max";
};

struct MinDim : ExtremeWithIndex {
  static constexpr const char* name = "min";
};

// The b largest (c: 1) or smallest elements along axis a, in order, with their i64 indices. NaN is
// above all numbers; of equal elements the first comes first. The gradient goes to the chosen ones.
struct Topk {
  static constexpr const char* name = "topk";
  static constexpr OpKind kind = OpKind::data;
  static constexpr int n_in = 1;
  static constexpr int n_out = 2;
  static constexpr SaveMask saves = 1u << (kOut0 + 1);
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  template <class T>
  static void vjp(Vjp<T>& v) {
    if (!v.has_dy(0)) return;
    if (v.in_meta(0).sizes.empty()) {
      v.set(0, v.dy(0));
      return;
    }
    T zeros = zeros_meta(v.dy(0), v.in_meta(0));
    v.set(0, scatter_add(zeros, static_cast<int>(v.attrs.a), v.out(1), v.dy(0)));
  }
};

// Two passes: mean, then squares of differences. b: the correction (1: sample variance).
struct Var : ReductionRow {
  static constexpr const char* name = "var";
  static constexpr SaveMask saves = 1u;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  template <class T>
  static void vjp(Vjp<T>& v) {
    const Dims& sizes = v.in_meta(0).sizes;
    T g = keep_axes(v.dy(), v.attrs, sizes);
    double scale = 2.0 / static_cast<double>(reduced_count(v) - v.attrs.b);
    T centred = sub(v.in(0), mean(v.in(0), v.attrs.dims, true));
    v.set(0, mul(mul(centred, g), Scalar(scale)));
  }
};

}  // namespace ingot::structured
