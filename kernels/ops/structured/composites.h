// ROWS: composites. One op with a formula of its own along an axis (kernels/ops/row_formulas.h):
// computed in f32 for 16-bit inputs, rounded once at the end. Their gradients are composites too.
#pragma once

#include <ingot/kernels/ops/op_info.h>

namespace ingot::structured {

struct AxisRow {  // a: the axis. The result has the input's shape, row-major
  static constexpr OpKind kind = OpKind::composite;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static Cost cost(const OpInfo& op, const OpArgs& args, const Meta* out);
};

struct Softmax : AxisRow {  // exp(x - max) / sum(exp(x - max))
  static constexpr const char* name = "softmax";
  static constexpr SaveMask saves = 1u << kOut0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, softmax_backward(v.dy(), v.out(), static_cast<int>(v.attrs.a)));
  }
};

struct LogSoftmax : AxisRow {  // x - max - log(sum(exp(x - max)))
  static constexpr const char* name = "log_softmax";
  static constexpr SaveMask saves = 1u << kOut0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, log_softmax_backward(v.dy(), v.out(), static_cast<int>(v.attrs.a)));
  }
};

struct SoftmaxBackward : AxisRow {  // in: dy, y -> y * (dy - sum(dy * y))
  static constexpr const char* name = "_softmax_backward_data";
  static constexpr int n_in = 2;
};

struct LogSoftmaxBackward : AxisRow {  // in: dy, y -> dy - exp(y) * sum(dy)
  static constexpr const char* name = "_log_softmax_backward_data";
  static constexpr int n_in = 2;
};

struct Logsumexp {  // dims: one axis, a: keepdim. max + log(sum(exp(x - max)))
  static constexpr const char* name = "logsumexp";
  static constexpr OpKind kind = OpKind::composite;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static Cost cost(const OpInfo& op, const OpArgs& args, const Meta* out);
  static constexpr SaveMask saves = 1u | 1u << kOut0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    int axis = static_cast<int>(v.attrs.dims[0]);
    bool kept = v.attrs.a != 0 || v.in_meta(0).dim() == 0;
    T y = kept ? v.out() : unsqueeze(v.out(), axis), dy = kept ? v.dy() : unsqueeze(v.dy(), axis);
    v.set(0, mul(dy, exp(sub(v.in(0), y))));
  }
};

// in: x, weight or none, bias or none (both of the last c sizes). c: how many trailing axes are
// normalised, s[0]: eps. Results: y, mean and rstd of each row (in the compute type).
struct LayerNorm {
  static constexpr const char* name = "native_layer_norm";
  static constexpr OpKind kind = OpKind::composite;
  static constexpr int n_in = 3;
  static constexpr int n_out = 3;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static Cost cost(const OpInfo& op, const OpArgs& args, const Meta* out);
  static constexpr SaveMask saves = 0b011u | 0b110u << kOut0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    if (!v.has_dy(0)) return;
    int n = static_cast<int>(v.attrs.c);
    if (v.needs(0)) {
      v.set(0, layer_norm_backward(v.dy(), v.in(0), v.out(1), v.out(2), v.in(1), n));
    }
    if (v.needs(1) || v.needs(2)) {
      auto [dw, db] = layer_norm_backward_params(v.dy(), v.in(0), v.out(1), v.out(2), n);
      if (v.needs(1)) v.set(1, reshape(dw, v.in_meta(1).sizes));
      if (v.needs(2)) v.set(2, reshape(db, v.in_meta(2).sizes));
    }
  }
};

struct LayerNormBackward {  // in: dy, x, mean, rstd, weight or none; c as above -> dx
  static constexpr const char* name = "native_layer_norm_backward";
  static constexpr OpKind kind = OpKind::composite;
  static constexpr int n_in = 5;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static Cost cost(const OpInfo& op, const OpArgs& args, const Meta* out);
};

struct LayerNormBackwardParams {  // in: dy, x, mean, rstd; c -> dweight, dbias, flat
  static constexpr const char* name = "native_layer_norm_backward_params";
  static constexpr OpKind kind = OpKind::composite;
  static constexpr int n_in = 4;
  static constexpr int n_out = 2;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static Cost cost(const OpInfo& op, const OpArgs& args, const Meta* out);
};

enum class Reduction : int { none, mean, sum };

// in: logits [rows, classes], target i64 [rows] (out of range: IndexError), class weight or none.
// a: Reduction, b: ignore_index, s[0]: label smoothing in [0, 1].
// Results: the loss ([] or [rows]), logsumexp of each row, the total weight [] that mean divides
// by.
struct CrossEntropy {
  static constexpr const char* name = "cross_entropy";
  static constexpr OpKind kind = OpKind::composite;
  static constexpr bool reads_indices = true;
  static constexpr int n_in = 3;
  static constexpr int n_out = 3;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static Cost cost(const OpInfo& op, const OpArgs& args, const Meta* out);
  static constexpr SaveMask saves = 0b111u | 0b110u << kOut0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    if (!v.has_dy(0) || !v.needs(0)) return;
    v.set(0,
          cross_entropy_backward(v.dy(), v.in(0), v.in(1), v.in(2), v.out(1), v.out(2), v.attrs));
  }
};

struct CrossEntropyBackward {  // in: dy, logits, target, weight or none, logsumexp, total weight
  static constexpr const char* name = "cross_entropy_backward";
  static constexpr OpKind kind = OpKind::composite;
  static constexpr bool reads_indices = true;
  static constexpr int n_in = 6;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static Cost cost(const OpInfo& op, const OpArgs& args, const Meta* out);
};

}  // namespace ingot::structured
