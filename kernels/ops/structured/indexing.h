// ROWS: reading and writing by integer tensors. Indices are i64 (i32 is cast before). As in PyTorch
// negative ones count from the end for Index and IndexPut only; all others refuse them. Out of
// range is an IndexError found by the kernel before it writes, also where slices have no elements.
#pragma once

#include <ingot/kernels/ops/op_info.h>

namespace ingot::structured {

struct IndexSelect {  // in: x, 1-d or 0-d index; a: axis
  static constexpr const char* name = "index_select";
  static constexpr OpKind kind = OpKind::data;
  static constexpr bool reads_indices = true;
  static constexpr int n_in = 2;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0b10;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, index_add(zeros_meta(v.dy(), v.in_meta(0)), static_cast<int>(v.attrs.a), v.in(1),
                       v.dy()));
  }
};

struct IndexAdd {  // in: x, 1-d index, source; a: axis. x + the source's slices, added in order
  static constexpr const char* name = "index_add";
  static constexpr OpKind kind = OpKind::data;
  static constexpr bool reads_indices = true;
  static constexpr int n_in = 3;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0b010;
  template <class T>
  static void vjp(Vjp<T>& v) {
    if (v.needs(0)) v.set(0, v.dy());
    if (v.needs(2)) v.set(2, index_select(v.dy(), static_cast<int>(v.attrs.a), v.in(1)));
  }
};

struct Gather {  // in: x, index of the result's shape; a: axis
  static constexpr const char* name = "gather";
  static constexpr OpKind kind = OpKind::data;
  static constexpr bool reads_indices = true;
  static constexpr int n_in = 2;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0b10;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, scatter_add(zeros_meta(v.dy(), v.in_meta(0)), static_cast<int>(v.attrs.a), v.in(1),
                         v.dy()));
  }
};

struct ScatterAdd {  // in: x, index, source of the index's shape; a: axis. Added in index order
  static constexpr const char* name = "scatter_add";
  static constexpr OpKind kind = OpKind::data;
  static constexpr bool reads_indices = true;
  static constexpr int n_in = 3;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0b010;
  template <class T>
  static void vjp(Vjp<T>& v) {
    if (v.needs(0)) v.set(0, v.dy());
    if (v.needs(2)) v.set(2, gather(v.dy(), static_cast<int>(v.attrs.a), v.in(1)));
  }
};

struct Embedding {  // in: weight [rows, width], index of any shape -> index.sizes + [width]
  static constexpr const char* name = "embedding";
  static constexpr OpKind kind = OpKind::data;
  static constexpr bool reads_indices = true;
  static constexpr int n_in = 2;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0b10;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, embedding_backward(v.dy(), v.in(1), v.in_meta(0).sizes[0]));
  }
};

struct EmbeddingBackward {  // in: dy, index; a: rows. Rows of dy added in index order
  static constexpr const char* name = "embedding_dense_backward";
  static constexpr OpKind kind = OpKind::data;
  static constexpr bool reads_indices = true;
  static constexpr int n_in = 2;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0b10;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, embedding(v.dy(), v.in(1)));
  }
};

// in: the classes as [classes, 1], class numbers of any shape -> index.sizes + [1]: the same
// numbers, each found to be a class. What is equal to its class then is compared by an elementwise
// op.
struct OneHot {
  static constexpr const char* name = "one_hot";
  static constexpr OpKind kind = OpKind::data;
  static constexpr bool reads_indices = true;
  static constexpr int n_in = 2;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
};

// in: x, then one index per indexed axis (all of one shape). dims: the indexed axes, ascending and
// adjacent. The index shape takes their place in the result.
struct Index {
  static constexpr const char* name = "index";
  static constexpr OpKind kind = OpKind::data;
  static constexpr bool reads_indices = true;
  static constexpr int n_in = -1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static SaveMask saves_for(int count) { return ((1u << count) - 1u) & ~1u; }
  template <class T>
  static void vjp(Vjp<T>& v) {
    T indices[kMaxDims];
    for (int i = 1; i < v.n_in(); ++i) indices[i - 1] = v.in(i);
    v.set(0, index_put(zeros_meta(v.dy(), v.in_meta(0)), v.attrs.dims, indices, v.dy(), true));
  }
};

// in: x, values, then the indices as for Index. a: 1 accumulates (in index order), 0 overwrites
// (the last of equal indices wins). Writes x.
struct IndexPut {
  static constexpr const char* name = "index_put_";
  static constexpr OpKind kind = OpKind::data;
  static constexpr bool reads_indices = true;
  static constexpr int n_in = -1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static SaveMask saves_for(int count) { return ((1u << count) - 1u) & ~3u; }
  template <class T>
  static void vjp(Vjp<T>& v) {
    T indices[kMaxDims];
    for (int i = 2; i < v.n_in(); ++i) indices[i - 2] = v.in(i);
    if (v.needs(0)) {
      v.set(0, v.attrs.a != 0 ? v.dy()
                              : index_put(v.dy(), v.attrs.dims, indices,
                                          zeros_meta(v.dy(), v.in_meta(1)), false));
    }
    if (v.needs(1)) {
      v.set(1, sum_to_size(index(v.dy(), v.attrs.dims, indices), v.in_meta(1).sizes));
    }
  }
};

}  // namespace ingot::structured
