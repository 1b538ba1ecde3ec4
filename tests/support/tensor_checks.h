// What tests of tensors share: bitwise comparison, error texts, and calls made eagerly and compiled
// side by side. Header only, so that folders which link no tensors are not affected.
#pragma once

#include <bit>
#include <cmath>
#include <exception>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/runtime/ops.h>

namespace ingot::testing_support {

// Shape, dtype and every element's bits; NaNs of any sign and payload are equal.
inline ::testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return ::testing::AssertionFailure() << "one is undefined";
  if (!a.defined()) return ::testing::AssertionSuccess();
  if (!(a.sizes() == b.sizes()) || a.dtype() != b.dtype()) {
    return ::testing::AssertionFailure() << describe(a.meta()) << " against " << describe(b.meta());
  }
  if (a.dtype() == DType::i64) {
    if (a.to_vector<i64>() == b.to_vector<i64>()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << to_string(a) << " against " << to_string(b);
  }
  std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    if (std::bit_cast<std::uint64_t>(x[i]) == std::bit_cast<std::uint64_t>(y[i])) continue;
    return ::testing::AssertionFailure()
           << "element " << i << ": " << ::testing::PrintToString(x[i]) << " against "
           << ::testing::PrintToString(y[i]);
  }
  return ::testing::AssertionSuccess();
}

// Values in logical order; NaN stands for NaN, and the sign of zero counts.
inline ::testing::AssertionResult has_values(const Tensor& t, std::initializer_list<double> values,
                                             double tolerance = 0) {
  std::vector<double> x = t.to_vector<double>(), y(values);
  if (x.size() != y.size()) {
    return ::testing::AssertionFailure() << x.size() << " elements, expected " << y.size();
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    bool same =
        std::isnan(x[i]) ? std::isnan(y[i]) : x[i] == y[i] || std::abs(x[i] - y[i]) <= tolerance;
    if (x[i] == 0 && y[i] == 0 && tolerance == 0) same = std::signbit(x[i]) == std::signbit(y[i]);
    if (same) continue;
    return ::testing::AssertionFailure()
           << "element " << i << " is " << ::testing::PrintToString(x[i]) << ", expected "
           << ::testing::PrintToString(y[i]) << " in " << to_string(t);
  }
  return ::testing::AssertionSuccess();
}

// What f throws, or "" when it throws nothing.
template <class F>
std::string error_of(F f) {
  try {
    f();
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in \"" << text << "\"";
}

// 0, 1, 2, ... in this shape.
inline Tensor iota(Dims sizes, DType t = DType::f32) {
  return arange(sizes.product(), dtype(t)).reshape(sizes);
}

// Deterministic values in [-2, 2), different for each seed.
inline Tensor noise(Dims sizes, std::uint64_t seed = 1, DType t = DType::f32) {
  std::vector<double> values(static_cast<std::size_t>(sizes.product()));
  std::uint64_t z = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (double& v : values) {
    z = z * 6364136223846793005ULL + 1442695040888963407ULL;
    v = static_cast<double>(z >> 40) / 4194304.0 - 2;
  }
  return from_vector(values, sizes, t);
}

}  // namespace ingot::testing_support
