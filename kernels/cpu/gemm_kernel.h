// Owns: the inner kernels of a product, which keep a tile of C in registers over one block of k,
// and what happens to a tile afterwards (alpha, bias, relu).
// Must not know: packing, blocking, threads. Included by kernel units only.
#pragma once

#include <ingot/kernels/cpu/gemm.h>
#include <ingot/kernels/cpu/gemm_vector.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace product {

// The largest tile of C: rows x vectors of columns. 24 accumulators and 4 vectors of B fit into the
// 32 registers of AVX-512 and aarch64; 12 and 2 into the 16 of the other levels.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kTileRows = 6, kTileVectors = 4;
#else
inline constexpr int kTileRows = 6, kTileVectors = 2;
#endif
template <class T>
inline constexpr int kTileCols = kTileVectors* kLanes<T>;

// c[rows][...] (= or +=) a[rows][k] b[k][V vectors]: `b` is read in whole vectors, row after row.
template <class T>
struct TileArgs {
  Index k;
  const T* a;
  Index a_row, a_col;
  const T* b;
  Index b_row;
  T* c;
  Index c_row;
  bool accumulate;
};

template <class T, int R, int V>
void tile(const TileArgs<T>& t) {
  constexpr int W = kLanes<T>;
  Vector<T> sum[R][V] = {};
  const T *a = t.a, *b = t.b;
  const Index a_row = t.a_row;
  for (Index p = 0; p < t.k; ++p, a += t.a_col, b += t.b_row) {
    Vector<T> bv[V];
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j) bv[j] = load<T>(b + j * W);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const Vector<T> av = splat<T>(a[i * a_row]);
#pragma GCC unroll 4
      for (int j = 0; j < V; ++j) sum[i][j] = multiply_add<T>(av, bv[j], sum[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j) {
      T* c = t.c + i * t.c_row + j * W;
      store<T>(c, t.accumulate ? load<T>(c) + sum[i][j] : sum[i][j]);
    }
  }
}

// tile<T, R, V> for R in 1..kTileRows and V in 1..kTileVectors.
template <class T>
using TileFn = void (*)(const TileArgs<T>&);

template <class T>
struct Tiles {
  TileFn<T> fn[kTileVectors][kTileRows];
};
template <class T, int V, int... R>
constexpr void fill_tiles(Tiles<T>& tiles, std::integer_sequence<int, R...>) {
  ((tiles.fn[V][R] = tile<T, R + 1, V + 1>), ...);
}
template <class T, int... V>
constexpr Tiles<T> make_tiles(std::integer_sequence<int, V...>) {
  Tiles<T> tiles{};
  (fill_tiles<T, V>(tiles, std::make_integer_sequence<int, kTileRows>{}), ...);
  return tiles;
}
template <class T>
inline constexpr Tiles<T> kTiles = make_tiles<T>(std::make_integer_sequence<int, kTileVectors>{});

// What follows the product, on C in place. Each step is rounded; one formula for vectors and tails.
template <class T>
struct Epilogue {
  T alpha, beta;
  const T* bias;  // null: none
  Index bias_row, bias_col;
  bool relu, any;

  explicit Epilogue(const GemmArgs& g)
      : alpha(static_cast<T>(g.alpha)),
        beta(static_cast<T>(g.beta_for_bias)),
        bias(g.beta_for_bias == 0 ? nullptr : static_cast<const T*>(g.bias)),
        bias_row(bias ? g.bias_row : 0),
        bias_col(bias ? g.bias_col : 0),
        relu(g.relu),
        any(alpha != T(1) || bias != nullptr || relu) {}

  template <class X>
  INGOT_INLINE X apply(X x, X bias_value) const {
    if (alpha != T(1)) x = alpha * x;
    if (bias) x = x + (beta == T(1) ? bias_value : beta * bias_value);
    if (relu) x = x <= X{} ? X{} : x;
    return x;
  }

  // Rows [i0, i0 + rows) and columns [j0, j0 + cols) of C; `c` is the first of them.
  void run(T* c, Index c_row, Index i0, Index rows, Index j0, Index cols) const {
    if (!any) return;
    constexpr int W = kLanes<T>;
    const Index whole = bias_col == 0 || bias_col == 1 ? cols - cols % W : 0;
    for (Index i = 0; i < rows; ++i, c += c_row) {
      const T* at = bias + (i0 + i) * bias_row + j0 * bias_col;
      for (Index j = 0; j < whole; j += W) {
        Vector<T> value = {};
        if (bias) value = bias_col ? load<T>(at + j) : splat<T>(*at);
        store<T>(c + j, apply<Vector<T>>(load<T>(c + j), value));
      }
      for (Index j = whole; j < cols; ++j) {
        c[j] = apply<T>(c[j], bias ? at[j * bias_col] : T(0));
      }
    }
  }
};

}  // namespace product
}  // namespace INGOT_ISA
}  // namespace ingot
