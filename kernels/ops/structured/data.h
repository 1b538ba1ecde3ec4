// ROWS: copies, casts, creation from values, and joining. No arithmetic besides the cast, which is
// Num's convert: truncation toward zero, saturation, NaN -> 0 for integers.
#pragma once

#include <ingot/kernels/ops/op_info.h>

namespace ingot::structured {

struct Clone {  // a: 1 makes the result row-major, 0 keeps the stride order
  static constexpr const char* name = "clone";
  static constexpr OpKind kind = OpKind::data;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, v.dy());
  }
};

struct ToCopy {  // a: the DType, b: the DeviceType, c: the device index
  static constexpr const char* name = "_to_copy";
  static constexpr OpKind kind = OpKind::data;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, to_meta(v.dy(), v.in_meta(0)));
  }
};

struct Copy {  // writes in[1] (broadcast, cast) over in[0]
  static constexpr const char* name = "copy_";
  static constexpr OpKind kind = OpKind::data;
  static constexpr int n_in = 2;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    if (v.needs(1)) {
      v.set(1, to_meta(sum_to_size(v.dy(), v.in_meta(1).sizes), v.in_meta(1)));
    }
    if (v.needs(0)) v.set(0, zeros_like(v.dy()));
  }
};

struct Full {  // creation: dims the sizes, a the DType, s[0] the value. With in[0]: fill_
  static constexpr const char* name = "full";
  static constexpr OpKind kind = OpKind::data;
  static constexpr int n_in = 0;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
};

struct Fill {  // writes s[0] over in[0]
  static constexpr const char* name = "fill_";
  static constexpr OpKind kind = OpKind::data;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, zeros_like(v.dy()));
  }
};

struct Arange {  // creation: dims {count}, a the DType; element i is s[0] + i * s[1]
  static constexpr const char* name = "arange";
  static constexpr OpKind kind = OpKind::data;
  static constexpr int n_in = 0;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
};

struct Cat {  // a: axis. Operands of one dtype, equal sizes but for the axis
  static constexpr const char* name = "cat";
  static constexpr OpKind kind = OpKind::data;
  static constexpr int n_in = -1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    int axis = static_cast<int>(v.attrs.a);
    i64 start = 0;
    for (int i = 0; i < v.n_in(); ++i) {
      i64 length = v.in_meta(i).sizes[axis];
      if (v.needs(i)) v.set(i, narrow(v.dy(), axis, start, length));
      start += length;
    }
  }
};

struct Flip {  // dims: the axes to reverse, non-negative
  static constexpr const char* name = "flip";
  static constexpr OpKind kind = OpKind::data;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, flip(v.dy(), v.attrs.dims));
  }
};

struct SliceBackward {  // zeros of sizes `dims` with in[0] at axis a, start s[0], step b
  static constexpr const char* name = "slice_backward";
  static constexpr OpKind kind = OpKind::data;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    int axis = static_cast<int>(v.attrs.a);
    i64 start = v.attrs.s[0].to_int(), length = v.in_meta(0).sizes[axis];
    v.set(0, slice(v.dy(), axis, start, start + (length - 1) * v.attrs.b + 1, v.attrs.b));
  }
};

}  // namespace ingot::structured
