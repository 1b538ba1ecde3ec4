// Operands of any layout, and the product as kernels/cpu/gemm.h documents it, element by element.
// Must not know: how the kernels compute.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/kernels/cpu/gemm.h>
#include <ingot/kernels/cpu/isa_level.h>

namespace ingot::gemm_reference {

using Index = std::int64_t;

struct Level {
  IsaLevel level;
  const GemmTable* table;
  bool fused;  // multiply-add with one rounding
};

inline std::vector<Level> levels() {
  std::vector<Level> found;
  for (const IsaLevel level : {IsaLevel::base, IsaLevel::v3, IsaLevel::v4}) {
    const GemmTable* table = level <= detected_isa_level() ? gemm_table(level) : nullptr;
#if defined(__FMA__) || defined(__aarch64__)
    const bool fused = true;
#else
    const bool fused = level != IsaLevel::base;
#endif
    if (table) found.push_back({level, table, fused});
  }
  return found;
}

template <class T>
GemmTable::Product product(const GemmTable& table) {
  if constexpr (std::is_same_v<T, float>)
    return table.f32;
  else if constexpr (std::is_same_v<T, double>)
    return table.f64;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return table.i64;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return table.i32;
  else
    return table.u8;
}
template <class T>
GemmTable::Batch batched(const GemmTable& table) {
  if constexpr (std::is_same_v<T, float>)
    return table.f32_batch;
  else if constexpr (std::is_same_v<T, double>)
    return table.f64_batch;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return table.i64_batch;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return table.i32_batch;
  else
    return table.u8_batch;
}

inline std::mt19937_64& engine() {
  static std::mt19937_64 engine(20240607);
  return engine;
}

template <class T>
T any_value() {
  if constexpr (std::is_floating_point_v<T>) {
    return std::uniform_real_distribution<T>(-1, 1)(engine());
  } else {
    return static_cast<T>(engine()());
  }
}

// A matrix in memory with any strides.
template <class T>
struct Matrix {
  std::vector<T> data;
  Index row = 0, col = 0, start = 0;
  T* at(Index i = 0, Index j = 0) { return data.data() + start + i * row + j * col; }
  const T* at(Index i = 0, Index j = 0) const { return data.data() + start + i * row + j * col; }
};

enum class Layout { rows, columns, padded, scattered, repeated_row };

template <class T>
Matrix<T> make(Index m, Index n, Layout layout, Index start = 0) {
  Matrix<T> x;
  x.start = start;
  switch (layout) {
    case Layout::rows:
      x.row = n, x.col = 1;
      break;
    case Layout::columns:
      x.row = 1, x.col = m;
      break;
    case Layout::padded:
      x.row = n + 3, x.col = 1;
      break;
    case Layout::scattered:
      x.row = 2, x.col = 2 * m + 5;
      break;
    case Layout::repeated_row:
      x.row = 0, x.col = 1;
      break;
  }
  x.data.resize(static_cast<std::size_t>(start + m * x.row + n * x.col + 1));
  for (T& v : x.data) v = any_value<T>();
  return x;
}

template <class T>
GemmArgs args_of(Index m, Index n, Index k, const Matrix<T>& a, const Matrix<T>& b, Matrix<T>& c) {
  return {.m = m,
          .n = n,
          .k = k,
          .a = a.at(),
          .a_row = a.row,
          .a_col = a.col,
          .b = b.at(),
          .b_row = b.row,
          .b_col = b.col,
          .c = c.at(),
          .c_row = c.row};
}

template <class T>
T multiply_add(T x, T y, T s, bool fused) {
  if constexpr (std::is_floating_point_v<T>) {
    if (fused) return std::fma(x, y, s);
    const volatile T product = x * y;
    return product + s;
  } else {
    return static_cast<T>(std::uint64_t(s) + std::uint64_t(x) * std::uint64_t(y));
  }
}
template <class T>
T add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
}

inline bool is_dot(const GemmArgs& g) { return g.n == 1 ? g.a_col == 1 : g.m == 1 && g.b_row == 1; }

// What gemm.h promises for the product's element (i, j).
template <class T>
T expected(const GemmArgs& g, Index i, Index j, bool fused) {
  const T* a = static_cast<const T*>(g.a) + i * g.a_row;
  const T* b = static_cast<const T*>(g.b) + j * g.b_col;
  const bool dot = is_dot(g);
  const Index block = dot ? kDotBlock : kGemmBlockK, lanes = dot ? kDotLanes : 1;
  T total = 0;
  for (Index k0 = 0; k0 < g.k; k0 += block) {
    std::array<T, kDotLanes> s = {};
    const Index k1 = std::min(g.k, k0 + block);
    for (Index p = k0; p < k0 + (k1 - k0 + lanes - 1) / lanes * lanes; ++p) {
      T& lane = s[std::size_t((p - k0) % lanes)];
      lane = p < k1 ? multiply_add(a[p * g.a_col], b[p * g.b_row], lane, fused)
                    : multiply_add(T(0), T(0), lane, fused);
    }
    for (Index h = lanes / 2; h > 0; h /= 2) {
      for (Index l = 0; l < h; ++l) {
        s[std::size_t(l)] = add(s[std::size_t(l)], s[std::size_t(l + h)]);
      }
    }
    total = k0 ? add(total, s[0]) : s[0];
  }
  return total;
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// Element (i, j) for all i and j, row by row.
template <class T>
std::vector<T> expected(const GemmArgs& g, bool fused) {
  std::vector<T> all;
  for (Index i = 0; i < g.m; ++i) {
    for (Index j = 0; j < g.n; ++j) all.push_back(expected<T>(g, i, j, fused));
  }
  return all;
}

// Position of the first element of C whose bits are not those of `want`, or -1.
template <class T>
Index first_wrong(const GemmArgs& g, const std::vector<T>& want) {
  for (Index e = 0; e < g.m * g.n; ++e) {
    const T* c = static_cast<const T*>(g.c) + e / g.n * g.c_row + e % g.n;
    if (!same_bits(*c, want[std::size_t(e)])) return e;
  }
  return -1;
}

// a @ b at every level.
template <class T>
void check_product(Index m, Index n, Index k, const Matrix<T>& a, const Matrix<T>& b,
                   Layout result) {
  std::vector<T> want[2];
  for (const Level& at : levels()) {
    auto c = make<T>(m, n, result);
    const GemmArgs g = args_of(m, n, k, a, b, c);
    if (want[at.fused].empty()) want[at.fused] = expected<T>(g, at.fused);
    product<T> (*at.table)(g);
    ASSERT_EQ(first_wrong<T>(g, want[at.fused]), -1)
        << m << "x" << k << "x" << n << ", strides " << a.row << "," << a.col << " and " << b.row
        << "," << b.col << " at " << isa_name(at.level);
  }
}

}  // namespace ingot::gemm_reference
