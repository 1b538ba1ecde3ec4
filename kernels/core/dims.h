// Dims: up to 8 sizes, strides or axes, stored inline. Scalar: a host number with its kind.
// Owns: these two value types, public. Must not know: tensors, dtypes' kernels.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include <ingot/kernels/core/error.h>

namespace ingot {

using i64 = std::int64_t;
inline constexpr int kMaxDims = 8;

// Any integer as one entry of Dims: `{v.size() / 4, -1}` does not narrow, `true` does not convert.
struct Dim {
  i64 v;
  template <std::integral I>
  requires(!std::same_as<I, bool>) constexpr Dim(I i) : v(static_cast<i64>(i)) {}
};

class Dims {
 public:
  constexpr Dims() = default;
  Dims(std::initializer_list<Dim> dims, Loc loc = Loc::here()) {
    if (dims.size() > kMaxDims) too_many(loc);
    for (Dim d : dims) v_[size_++] = d.v;
  }
  Dims(const std::vector<i64>& dims, Loc loc = Loc::here()) {
    if (dims.size() > kMaxDims) too_many(loc);
    for (i64 d : dims) v_[size_++] = d;
  }
  template <std::integral I>
  requires(!std::same_as<I, bool>) Dims(I i) { push_back(static_cast<i64>(i)); }
  static Dims filled(int n, i64 value) {
    Dims d;
    for (int i = 0; i < n; ++i) d.push_back(value);
    return d;
  }

  constexpr int size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr i64 operator[](int i) const { return v_[i]; }
  constexpr i64& operator[](int i) { return v_[i]; }
  constexpr const i64* begin() const { return v_; }
  constexpr const i64* end() const { return v_ + size_; }
  constexpr i64* begin() { return v_; }
  constexpr i64* end() { return v_ + size_; }
  constexpr i64 back() const { return v_[size_ - 1]; }
  constexpr i64& back() { return v_[size_ - 1]; }
  void push_back(i64 value) {
    if (size_ == kMaxDims) too_many();
    v_[size_++] = value;
  }
  void insert(int at, i64 value) {
    push_back(value);
    for (int i = size_ - 1; i > at; --i) v_[i] = v_[i - 1];
    v_[at] = value;
  }
  void erase(int at) {
    for (int i = at; i + 1 < size_; ++i) v_[i] = v_[i + 1];
    --size_;
  }
  void pop_back() { --size_; }

  // The product of all entries; 1 for none.
  constexpr i64 product() const {
    std::uint64_t p = 1;  // wraps: callers that allocate check for overflow
    for (i64 d : *this) p *= static_cast<std::uint64_t>(d);
    return static_cast<i64>(p);
  }
  constexpr bool operator==(const Dims& o) const {
    if (size_ != o.size_) return false;
    for (int i = 0; i < size_; ++i) {
      if (v_[i] != o.v_[i]) return false;
    }
    return true;
  }

  // A Dims is copied a few times in every op: half of it is enough for most, without a loop.
  constexpr Dims(const Dims& o) : size_(o.size_) { copy_entries(o); }
  constexpr Dims& operator=(const Dims& o) {
    size_ = o.size_;
    copy_entries(o);
    return *this;
  }

 private:
  [[noreturn]] static void too_many();  // the caller's line is added later
  [[noreturn]] static void too_many(Loc loc);
  constexpr void copy_entries(const Dims& o) {
    constexpr int kFew = kMaxDims / 2;
    for (int i = 0; i < kFew; ++i) v_[i] = o.v_[i];
    if (size_ > kFew) [[unlikely]] {
      for (int i = kFew; i < kMaxDims; ++i) v_[i] = o.v_[i];
    }
  }
  i64 v_[kMaxDims] = {};
  int size_ = 0;
};

std::string to_string(const Dims& dims);  // "[2, 3]"

// Row-major strides (in elements) of a dense tensor of these sizes.
Dims contiguous_strides(const Dims& sizes);

// A host number: integers and bools are kept exactly, everything else as double. The kind takes
// part in promotion (and in compiled signatures); the value never does.
class Scalar {
 public:
  enum class Kind : std::uint8_t { boolean, integer, floating };
  constexpr Scalar() = default;
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Scalar(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      kind_ = Kind::floating;
      d_ = static_cast<double>(value);
    } else {
      kind_ = std::is_same_v<T, bool> ? Kind::boolean : Kind::integer;
      i_ = static_cast<i64>(value);
    }
  }
  constexpr Kind kind() const { return kind_; }
  constexpr bool is_floating() const { return kind_ == Kind::floating; }
  constexpr double to_double() const { return is_floating() ? d_ : static_cast<double>(i_); }
  // Floating values truncate toward zero; out of range saturates and NaN is 0.
  i64 to_int() const;
  std::string str() const;
  bool operator==(const Scalar& o) const;  // same kind, same bits

 private:
  Kind kind_ = Kind::integer;
  union {
    i64 i_ = 0;
    double d_;
  };
};

}  // namespace ingot
