// ROWS: matrix products. The result is row-major; 16-bit operands accumulate in f32.
// Owns: how shapes, batches and 1-d operands are read. Must not know: kernels.
#pragma once

#include <ingot/kernels/ops/op_info.h>

namespace ingot::structured {

// attrs.a of a product: kTf32: f32 factors may be rounded to TF32; else 0.
inline constexpr i64 kTf32 = 1;

// How a product of shapes a and b reads: batch broadcast, 1-d operands as a row or a column.
struct MatmulShape {
  Dims batch;
  i64 m, k, n;
  bool a_is_vector, b_is_vector;
  Dims result() const;
};
// Throws with both shapes when the inner sizes or the batches do not fit.
MatmulShape matmul_shape(const char* op, const Meta& a, const Meta& b);

struct Matmul {  // NumPy's matmul: 1-d operands, broadcast batches
  static constexpr const char* name = "matmul";
  static constexpr OpKind kind = OpKind::product;
  static constexpr int n_in = 2;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static Cost cost(const OpInfo& op, const OpArgs& args, const Meta* out);
  static constexpr SaveMask saves = 0b11;
  template <class T>
  static void vjp(Vjp<T>& v) {
    const Dims &as = v.in_meta(0).sizes, &bs = v.in_meta(1).sizes;
    T dy = v.dy();
    if (bs.size() == 1) dy = unsqueeze(dy, -1);
    if (as.size() == 1) dy = unsqueeze(dy, -2);
    if (v.needs(0)) {
      T b = bs.size() == 1 ? unsqueeze(v.in(1), 0) : transpose(v.in(1), -2, -1);
      v.set(0, reshape(sum_to_size(matmul(dy, b), as.size() == 1 ? Dims{1, as[0]} : as), as));
    }
    if (v.needs(1)) {
      T a = as.size() == 1 ? unsqueeze(v.in(0), 1) : transpose(v.in(0), -2, -1);
      v.set(1, reshape(sum_to_size(matmul(a, dy), bs.size() == 1 ? Dims{bs[0], 1} : bs), bs));
    }
  }
};

struct Addmm {  // in: input (broadcast), a [m, k], b [k, n]; s[0] beta, s[1] alpha
  static constexpr const char* name = "addmm";
  static constexpr OpKind kind = OpKind::product;
  static constexpr int n_in = 3;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static Cost cost(const OpInfo& op, const OpArgs& args, const Meta* out);
  static constexpr SaveMask saves = 0b110;
  template <class T>
  static T scaled(const T& x, Scalar s) {
    return s.to_double() == 1.0 ? x : mul(x, s);
  }
  template <class T>
  static void vjp(Vjp<T>& v) {
    Scalar beta = v.attrs.s[0], alpha = v.attrs.s[1];
    if (v.needs(0)) v.set(0, sum_to_size(scaled(v.dy(), beta), v.in_meta(0).sizes));
    if (v.needs(1)) v.set(1, scaled(matmul(v.dy(), transpose(v.in(2), 0, 1)), alpha));
    if (v.needs(2)) v.set(2, scaled(matmul(transpose(v.in(1), 0, 1), v.dy()), alpha));
  }
};

struct Linear {  // in: x [..., in], weight [out, in], bias [out] or none
  static constexpr const char* name = "linear";
  static constexpr OpKind kind = OpKind::product;
  static constexpr int n_in = 3;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static Cost cost(const OpInfo& op, const OpArgs& args, const Meta* out);
  static constexpr SaveMask saves = 0b011;
  template <class T>
  static void vjp(Vjp<T>& v) {
    const Dims& ws = v.in_meta(1).sizes;
    T dy = v.dy();
    if (v.needs(0)) v.set(0, matmul(dy, v.in(1)));
    T rows = reshape(dy, {-1, ws[0]});
    if (v.needs(1)) v.set(1, matmul(transpose(rows, 0, 1), reshape(v.in(0), {-1, ws[1]})));
    if (v.needs(2)) v.set(2, sum(rows, {0}, false));
  }
};

}  // namespace ingot::structured
