// Types of parameters that nothing else converts to by accident: dropout(x, true), sum(x, 0, 1) and
// argmax(x, true) do not compile.
// Owns: Flag, Int, Real: a bool, int and double to the callee. Must not know: tensors, ops.
#pragma once

#include <ingot/kernels/core/dims.h>

namespace ingot {

// keepdim, training, ...: a bool, or a class that stands for one (std::vector<bool>'s elements).
class Flag {
 public:
  template <class B>
  requires std::same_as<B, bool> ||(std::convertible_to<const B&, bool>&& requires(const B& b) {
    b.operator bool();
  }) constexpr Flag(B on)
      : on_(on) {}
  constexpr operator bool() const { return on_; }

 private:
  bool on_;
};

// An axis or a count: an integer, not a bool. Beyond the range of int it is the nearest one.
class Int {
 public:
  template <Integer I>
  constexpr Int(I i) : value_(narrowed(saturated(i))) {}
  constexpr operator int() const { return value_; }

 private:
  static constexpr int narrowed(i64 v) {
    constexpr i64 least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
    return static_cast<int>(v < least ? least : v > most ? most : v);
  }
  int value_;
};

// A probability, a tolerance, a bound: any number, not a bool.
class Real {
 public:
  template <Number T>
  requires(!std::same_as<T, bool>) constexpr Real(T value) : value_(Scalar(value).to_double()) {}
  constexpr operator double() const { return value_; }

 private:
  double value_;
};

}  // namespace ingot
