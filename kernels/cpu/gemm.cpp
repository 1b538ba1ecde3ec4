// ISA unit: compiled once per instruction set level. Cuts a product into tiles for the threads and
// into cache blocks inside a tile; no cut shows in the bits (see gemm.h).
#include <ingot/kernels/cpu/gemm.h>
#include <ingot/kernels/cpu/gemm_integer.h>
#include <ingot/kernels/cpu/gemm_vector_products.h>
#include <ingot/kernels/cpu/parallel.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace product {

// Rows of A that stay in the second-level cache while the panels of B pass: a multiple of
// kTileRows. Columns of B that fit into the scratch memory beside them.
constexpr Index kBlockRows = 96;
template <class T>
constexpr Index kBlockCols = 4096 / static_cast<Index>(sizeof(T));
static_assert(kBlockRows % kTileRows == 0);
static_assert(kGemmScratchBytes >= kGemmBlockK * (4096 + kBlockRows * Index{sizeof(double)}));

// B is packed when its rows lie so far apart that a panel would not stay in the first caches, and
// enough rows of A use it.
template <class T>
bool worth_packing_b(const GemmArgs& g, Index rows, Index k) {
  const Index bytes = k * g.b_row * Index{sizeof(T)};
  return (rows >= 32 && bytes >= (Index{512} << 10)) || (rows >= 2 && bytes > (Index{4} << 20));
}

// A with contiguous columns touches a new cache line for every k.
template <class T>
bool worth_packing_a(const GemmArgs& g, Index cols, Index k) {
  return g.a_col != 1 && cols > 2 * kTileCols<T> &&
         k * g.a_col * Index{sizeof(T)} > (Index{32} << 10);
}

// A product of one row; false when the general path is the better one.
template <class T>
bool one_row(const GemmArgs& g, const T* a, const T* b, T* c, Index cols) {
  if (g.b_row == 1) {
    row_times_columns<T>(a, g.a_col, b, g.b_col, c, g.k, cols);
  } else if (g.b_col == 1 && g.k * g.b_row * Index{sizeof(T)} > (Index{128} << 10)) {
    row_times_rows<T>(a, g.a_col, b, g.b_row, c, g.k, cols);
  } else {
    return false;
  }
  return true;
}

// One panel of B, `wide` columns in t.b, under `high` rows of A. In the last panel, whose vectors
// reach beyond C, tiles are computed aside.
template <class T>
void run_panel(TileArgs<T> t, T* c, Index c_row, Index high, Index wide) {
  const Index width = panel_width<T>(wide);
  const TileFn<T>* const fn = kTiles<T>.fn[width / kLanes<T> - 1];
  alignas(kVectorBytes) T aside[kTileRows * kTileCols<T>];
  // Heights that differ by one at most: no thin rest.
  const Index steps = (high + kTileRows - 1) / kTileRows;
  const T* const a = t.a;
  for (Index s = 0, r = 0, next; s < steps; ++s, r = next) {
    next = high * (s + 1) / steps;
    const Index tall = next - r;
    t.a = a + r * t.a_row;
    if (wide == width) {
      t.c = c + r * c_row, t.c_row = c_row;
      fn[tall - 1](t);
      continue;
    }
    t.c = aside, t.c_row = width;
    for (Index q = 0; t.accumulate && q < tall; ++q) {
      copy_row(aside + q * width, c + (r + q) * c_row, wide);
    }
    fn[tall - 1](t);
    for (Index q = 0; q < tall; ++q) copy_row(c + (r + q) * c_row, aside + q * width, wide);
  }
}

// `rows` rows of A times a block of B: k <= kGemmBlockK from k0 on, cols <= kBlockCols columns.
// `packed` is the packed block, null where panels are read from b itself; `space` is scratch.
template <class T>
void run_block(const GemmArgs& g, const T* a, const T* b, const T* packed, T* space, T* c,
               Index rows, Index cols, Index k, bool accumulate) {
  TileArgs<T> t;
  t.k = k, t.accumulate = accumulate;
  t.a = a, t.a_row = g.a_row, t.a_col = g.a_col;
  if (worth_packing_a<T>(g, cols, k)) {
    T* const to = space + kGemmBlockK * kBlockCols<T>;
    pack_a<T>(to, a, g.a_row, g.a_col, rows, k);
    t.a = to, t.a_row = 1, t.a_col = rows;
  }
  for (Index v = 0; v < cols; v += kTileCols<T>) {
    const Index wide = min_of(kTileCols<T>, cols - v), width = panel_width<T>(wide);
    if (packed) {
      t.b = packed, t.b_row = width;
      packed += k * width;
    } else if (wide < width) {
      pack_b<T>(space, b + v, g.b_row, 1, k, wide);
      t.b = space, t.b_row = width;
    } else {
      t.b = b + v, t.b_row = g.b_row;
    }
    run_panel<T>(t, c + v, g.c_row, rows, wide);
  }
}

// Rows [i0, i1) and columns [j0, j1) of C, on the calling thread.
template <class T>
void floating_tile(const GemmArgs& g, Index i0, Index i1, Index j0, Index j1) {
  const Epilogue<T> epilogue(g);
  const T* const a = static_cast<const T*>(g.a) + i0 * g.a_row;
  const T* const b = static_cast<const T*>(g.b);
  T* const c = static_cast<T*>(g.c) + i0 * g.c_row;
  if (g.m == 1 && one_row<T>(g, a, b + j0 * g.b_col, c + j0, j1 - j0)) {
    return epilogue.run(c + j0, g.c_row, i0, 1, j0, j1 - j0);
  }
  const Index rows = i1 - i0, first_k = min_of(g.k, kGemmBlockK);
  const bool packs_b = g.b_col != 1 || worth_packing_b<T>(g, rows, first_k);
  const bool needs_space =
      packs_b || worth_packing_a<T>(g, j1 - j0, first_k) || (j1 - j0) % kLanes<T> != 0;
  T* const space = needs_space ? static_cast<T*>(gemm_scratch()) : nullptr;
  const Index row_blocks = (rows + kBlockRows - 1) / kBlockRows;
  const Index block_rows = round_up((rows + row_blocks - 1) / row_blocks, kTileRows);

  for (Index j = j0; j < j1; j += kBlockCols<T>) {
    const Index cols = min_of(kBlockCols<T>, j1 - j);
    for (Index k0 = 0; k0 < g.k; k0 += kGemmBlockK) {
      const Index k = min_of(kGemmBlockK, g.k - k0);
      const T* const b_block = b + k0 * g.b_row + j * g.b_col;
      if (packs_b) pack_b<T>(space, b_block, g.b_row, g.b_col, k, cols);
      for (Index i = 0; i < rows; i += block_rows) {
        const Index high = min_of(block_rows, rows - i);
        T* const c_block = c + i * g.c_row + j;
        run_block<T>(g, a + i * g.a_row + k0 * g.a_col, b_block, packs_b ? space : nullptr, space,
                     c_block, high, cols, k, k0 > 0);
        if (k0 + k == g.k) epilogue.run(c_block, g.c_row, i0 + i, high, j, cols);
      }
    }
  }
}

// No product, only what follows it.
template <class T>
void empty_tile(const GemmArgs& g, Index i0, Index i1, Index j0, Index j1) {
  const Epilogue<T> epilogue(g);
  for (Index i = i0; i < i1; ++i) {
    T* c = static_cast<T*>(g.c) + i * g.c_row + j0;
    for (Index j = 0; j < j1 - j0; ++j) c[j] = T(0);
    epilogue.run(c, g.c_row, i, 1, j0, j1 - j0);
  }
}

template <class T>
void tile_of(const GemmArgs& g, Index i0, Index i1, Index j0, Index j1) {
  if constexpr (T(0.5) != T(0)) {
    if (g.k == 0) return empty_tile<T>(g, i0, i1, j0, j1);
    floating_tile<T>(g, i0, i1, j0, j1);
  } else {
    integer_tile<T>(g, i0, i1, j0, j1);
  }
}

template <class T>
constexpr Index kColumnUnit = 64;
template <>
inline constexpr Index kColumnUnit<float> = kTileCols<float>;
template <>
inline constexpr Index kColumnUnit<double> = kTileCols<double>;

// The cut of all products of a batch into row_tiles x col_tiles tiles each.
template <class T>
struct Job {
  GemmArgs g;
  GemmBatch batch;
  Index row_tiles = 1, col_tiles = 1;

  void run(Index task) const {
    const Index col = task % col_tiles, row = task / col_tiles % row_tiles;
    const Index which = task / (col_tiles * row_tiles);
    GemmArgs one = g;
    one.a = static_cast<const T*>(g.a) + which * batch.a;
    one.b = static_cast<const T*>(g.b) + which * batch.b;
    one.c = static_cast<T*>(g.c) + which * batch.c;
    if (g.bias) one.bias = static_cast<const T*>(g.bias) + which * batch.bias;
    const Index units = (g.n + kColumnUnit<T> - 1) / kColumnUnit<T>;
    tile_of<T>(one, g.m * row / row_tiles, g.m * (row + 1) / row_tiles,
               units * col / col_tiles * kColumnUnit<T>,
               min_of(g.n, units * (col + 1) / col_tiles * kColumnUnit<T>));
  }
};

template <class T>
void run_tasks(void* job, std::int64_t begin, std::int64_t end) {
  for (Index task = begin; task < end; ++task) static_cast<const Job<T>*>(job)->run(task);
}

// In multiply-adds, an element of an operand counting as four. Below the first, waking a thread
// costs more than it saves (some 10 us on one core); the second is the least that a task holds.
constexpr Index kParallelWork = Index{1} << 21;
constexpr Index kTaskWork = Index{1} << 20;
constexpr Index kFewRows = 96;

template <class T>
void run_row_major(const GemmArgs& g, const GemmBatch& batch) {
  const Index one = g.m * g.n * g.k + 4 * g.k * (g.m + g.n) + g.m * g.n;
  const int threads = one * batch.count < kParallelWork ? 1 : num_threads();
  if (threads == 1 && batch.count == 1) return tile_of<T>(g, 0, g.m, 0, g.n);
  Job<T> job{g, batch};
  const Index want = min_of(one / kTaskWork, (4 * threads + batch.count - 1) / batch.count);
  if (threads > 1 && want > 1) {
    // Wide and tall tiles first: rows share a packed B, columns share the cached A.
    job.col_tiles = max_of(1, min_of(want, g.n / 256));
    // Every tile packs its own piece of B: with few rows that is the larger part of its reading.
    const Index most = g.m <= kFewRows ? 1 : (g.m + 47) / 48;
    job.row_tiles = min_of((want + job.col_tiles - 1) / job.col_tiles, most);
    job.col_tiles = min_of((want + job.row_tiles - 1) / job.row_tiles,
                           (g.n + kColumnUnit<T> - 1) / kColumnUnit<T>);
  }
  const Index tiles = job.row_tiles * job.col_tiles, tasks = batch.count * tiles;
  if (threads == 1) return run_tasks<T>(&job, 0, tasks);
  parallel_for(tasks, max_of(1, kTaskWork * tiles / one), run_tasks<T>, &job);
}

// A column is computed as the row of the transposed product. C must be contiguous for that; if it
// is not, pieces of it are.
template <class T>
void run_column(const GemmArgs& g, const GemmBatch& batch) {
  if (g.c_row == 1) {
    GemmArgs row = g;
    row.m = 1, row.n = g.m;
    row.a = g.b, row.a_row = 0, row.a_col = g.b_row;
    row.b = g.a, row.b_row = g.a_col, row.b_col = g.a_row;
    row.bias_row = 0, row.bias_col = g.bias_row;
    row.c_row = g.m;
    GemmBatch rows = batch;
    rows.a = batch.b, rows.b = batch.a;
    return run_row_major<T>(row, rows);
  }
  constexpr Index kPiece = 512;
  T piece[kPiece];
  for (Index which = 0; which < batch.count; ++which) {
    for (Index i = 0; i < g.m; i += kPiece) {
      GemmArgs part = g;
      part.m = min_of(kPiece, g.m - i);
      part.a = static_cast<const T*>(g.a) + which * batch.a + i * g.a_row;
      part.b = static_cast<const T*>(g.b) + which * batch.b;
      if (g.bias) part.bias = static_cast<const T*>(g.bias) + which * batch.bias + i * g.bias_row;
      part.c = piece, part.c_row = 1;
      run_column<T>(part, GemmBatch{});
      T* c = static_cast<T*>(g.c) + which * batch.c + i * g.c_row;
      for (Index r = 0; r < part.m; ++r) c[r * g.c_row] = piece[r];
    }
  }
}

template <class T>
void run(const GemmArgs& g, const GemmBatch& batch) {
  if (g.m <= 0 || g.n <= 0 || batch.count <= 0) return;
  if (g.n == 1 && g.k > 0) return run_column<T>(g, batch);
  run_row_major<T>(g, batch);
}

template <class T>
void product_of(const GemmArgs& g) {
  run<T>(g, GemmBatch{});
}
template <class T>
void batch_of(const GemmArgs& g, const GemmBatch& batch) {
  run<T>(g, batch);
}

}  // namespace product

extern const GemmTable kGemmTable;
const GemmTable kGemmTable = {
    product::product_of<float>,        product::product_of<double>,
    product::product_of<std::int64_t>, product::product_of<std::int32_t>,
    product::product_of<std::uint8_t>, product::batch_of<float>,
    product::batch_of<double>,         product::batch_of<std::int64_t>,
    product::batch_of<std::int32_t>,   product::batch_of<std::uint8_t>,
};

}  // namespace INGOT_ISA
}  // namespace ingot
