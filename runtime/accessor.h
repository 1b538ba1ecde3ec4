// Accessor: a tensor's elements as a C++ array.
// Owns: a[i][j], and which C++ types elements have. Must not know: ops.
#pragma once

#include <concepts>

#include <ingot/runtime/storage.h>

namespace ingot {

// The C++ types that elements are read and written as in place.
template <class T>
concept Element = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, i64> ||
    std::same_as<T, int> || std::same_as<T, unsigned char> || std::same_as<T, bool>;

// It has sizes and strides of its own and keeps the bytes: whatever becomes of the tensor's name
// and metadata, a stays what it was. A row a[i] keeps nothing: it is valid while a or the tensor
// is.
template <class T, int N>
class Accessor {
 public:
  Accessor(T* data, const Dims& sizes, const Dims& strides, Ref<Storage> bytes)
      : Accessor(data, sizes.begin(), strides.begin()) {
    bytes_ = std::move(bytes);
  }
  Accessor(T* data, const i64* sizes, const i64* strides) : data_(data) {
    for (int d = 0; d < N; ++d) {
      sizes_[d] = sizes[d];
      strides_[d] = strides[d];
    }
  }
  i64 size(int d) const { return sizes_[d]; }
  decltype(auto) operator[](i64 i) const {
    if constexpr (N == 1) {
      return (data_[i * strides_[0]]);
    } else {
      return Accessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
    }
  }

 private:
  T* data_;
  static constexpr std::size_t kDims = N > 0 ? N : 1;
  i64 sizes_[kDims], strides_[kDims];
  Ref<Storage> bytes_;
};

}  // namespace ingot
