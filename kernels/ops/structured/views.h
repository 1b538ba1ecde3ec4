// ROWS: views. Strided, free of copies; the result shares the storage of input 0.
// Sizes, axes and steps are structural; the start of a slice and the index of a select are run
// time (attrs.s[0]).
#pragma once

#include <ingot/kernels/ops/op_info.h>

namespace ingot::structured {

// Strides of m read as `sizes` without a copy; false when no strides can do it.
bool view_strides(const Meta& m, const Dims& sizes, Dims* strides);

struct View {  // dims: the sizes, none of them -1
  static constexpr const char* name = "view";
  static constexpr OpKind kind = OpKind::view;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, reshape(v.dy(), v.in_meta(0).sizes));
  }
};

struct Permute {  // dims: the permutation, non-negative
  static constexpr const char* name = "permute";
  static constexpr OpKind kind = OpKind::view;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    Dims inverse = v.attrs.dims;
    for (int i = 0; i < inverse.size(); ++i) inverse[static_cast<int>(v.attrs.dims[i])] = i;
    v.set(0, permute(v.dy(), inverse));
  }
};

struct Slice {  // a: axis, b: step > 0, c: length of the result, s[0]: start in [0, size]
  static constexpr const char* name = "slice";
  static constexpr OpKind kind = OpKind::view;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, slice_backward(v.dy(), v.in_meta(0).sizes, static_cast<int>(v.attrs.a),
                            v.attrs.s[0].to_int(), v.attrs.b));
  }
};

struct Select {  // a: axis, s[0]: index in [0, size)
  static constexpr const char* name = "select";
  static constexpr OpKind kind = OpKind::view;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    int axis = static_cast<int>(v.attrs.a);
    v.set(0, slice_backward(unsqueeze(v.dy(), axis), v.in_meta(0).sizes, axis,
                            v.attrs.s[0].to_int(), 1));
  }
};

struct Expand {  // dims: the sizes, none of them -1
  static constexpr const char* name = "expand";
  static constexpr OpKind kind = OpKind::view;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, sum_to_size(v.dy(), v.in_meta(0).sizes));
  }
};

struct Unsqueeze {  // a: axis of the new size-1 dimension
  static constexpr const char* name = "unsqueeze";
  static constexpr OpKind kind = OpKind::view;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, reshape(v.dy(), v.in_meta(0).sizes));
  }
};

struct Squeeze {  // dims: the axes to drop, each of size 1, ascending
  static constexpr const char* name = "squeeze";
  static constexpr OpKind kind = OpKind::view;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, reshape(v.dy(), v.in_meta(0).sizes));
  }
};

struct AsStrided {  // dims, strides: the geometry; s[0]: elements from the first of the input
  static constexpr const char* name = "as_strided";
  static constexpr OpKind kind = OpKind::view;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {  // of dense inputs and windows that do not overlap themselves
    T all = zeros_geometry(v.dy(), v.in_meta(0));
    T window = as_strided(all, v.attrs.dims, v.attrs.strides, v.attrs.s[0].to_int());
    window.copy_(v.dy());
    v.set(0, all);
  }
};

struct Detach {  // the same elements without history; has no gradient on purpose
  static constexpr const char* name = "detach";
  static constexpr OpKind kind = OpKind::view;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
};

}  // namespace ingot::structured
