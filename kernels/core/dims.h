// Dims: up to 8 sizes, strides or axes, stored inline. Scalar: a host number with its kind.
// Owns: these two value types and which C++ types count as numbers, public. Must not know: tensors,
// dtypes' kernels.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <ingot/kernels/core/error.h>

namespace ingot {

using i64 = std::int64_t;
inline constexpr int kMaxDims = 8;

// Integers of up to 64 bits, characters, and enums that convert to integers by themselves; not
// bool.
template <class T>
concept Integer = ((std::integral<T> && !std::same_as<T, bool>) ||
                   std::is_enum_v<T>)&&std::is_convertible_v<T, i64> &&
                  sizeof(T) <= sizeof(i64);

template <class T>
concept Number = std::floating_point<T> || std::same_as<T, bool> || Integer<T>;

// Unsigned 64-bit values that no i64 holds become the largest one: as a size or an index that is an
// error, where -1 would mean something.
template <Integer I>
constexpr i64 saturated(I i) {
  if constexpr (std::is_enum_v<I>) {
    return saturated(static_cast<std::underlying_type_t<I>>(i));
  } else {
    constexpr i64 most = std::numeric_limits<i64>::max();
    if constexpr (std::is_unsigned_v<I> && sizeof(I) == sizeof(i64)) {
      if (i > static_cast<I>(most)) return most;
    }
    return static_cast<i64>(i);
  }
}

// Any integer as one entry of Dims: `{v.size() / 4, -1}` does not narrow, `true` does not convert.
struct Dim {
  i64 v;
  template <Integer I>
  constexpr Dim(I i) : v(saturated(i)) {}
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
  template <Integer I>
  Dims(I i) {
    push_back(saturated(i));
  }
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

  friend std::ostream& operator<<(std::ostream& out, const Dims& dims);  // [2, 3]

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
  template <Number T>
  constexpr Scalar(T value) {
    if constexpr (std::is_enum_v<T>) {
      *this = Scalar(static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      kind_ = Kind::floating;
      d_ = static_cast<double>(value);
    } else {
      kind_ = std::is_same_v<T, bool> ? Kind::boolean : Kind::integer;
      i_ = static_cast<i64>(value);
      if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(i64)) above_i64_ = i_ < 0;
    }
  }
  constexpr Kind kind() const { return kind_; }
  constexpr bool is_floating() const { return kind_ == Kind::floating; }
  // An unsigned integer of 2^63 or more: floating dtypes take it, no integer dtype does.
  constexpr bool above_i64() const { return above_i64_; }
  constexpr double to_double() const {
    if (is_floating()) return d_;
    return above_i64_ ? static_cast<double>(static_cast<std::uint64_t>(i_))
                      : static_cast<double>(i_);
  }
  // Floating values truncate toward zero; out of range saturates and NaN is 0.
  i64 to_int() const;
  // The same for any type of number; bool: whether it is not 0.
  template <Number T>
  T to() const;
  std::string str() const;
  bool operator==(const Scalar& o) const;  // same kind, same bits
  friend std::ostream& operator<<(std::ostream& out, const Scalar& s);

 private:
  std::uint64_t to_unsigned() const;  // to_int() for the range of u64

  Kind kind_ = Kind::integer;
  bool above_i64_ = false;  // i_ holds the bits of a std::uint64_t
  union {
    i64 i_ = 0;
    double d_;
  };
};

template <Number T>
T Scalar::to() const {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(to<std::underlying_type_t<T>>());
  } else if constexpr (std::is_same_v<T, bool>) {
    return to_double() != 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    return is_floating() || above_i64_ ? static_cast<T>(to_double()) : static_cast<T>(i_);
  } else if constexpr (std::is_unsigned_v<T>) {
    constexpr std::uint64_t most = std::numeric_limits<T>::max();
    const std::uint64_t v = to_unsigned();
    return static_cast<T>(v < most ? v : most);
  } else {
    constexpr i64 least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    const i64 v = to_int();
    return static_cast<T>(v < least ? least : v > most ? most : v);
  }
}

}  // namespace ingot
