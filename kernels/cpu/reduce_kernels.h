// From the rows of kernels/ops/reduce_rows.h to the loops of one compute type. For kernel units.
// Owns: the functions behind ReduceLoops. Must not know: metas, threads, storage types.
#pragma once

#include <ingot/kernels/cpu/reduce_loops.h>
#include <ingot/kernels/ops/reduce_columns.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

template <class R, class T>
void rows_loop(Int64 rows, Int64 n, const void* x, Int64 stride, const void*, void* out) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(out);
  if (n <= kReduceLanes && rows > 1) return reduce_short_rows<R>(rows, n, from, stride, to);
  for (Int64 r = 0; r < rows; ++r) to[r] = reduce_block<R>(n, Elements<T>{from + r * stride}).v;
}

template <template <class> class Load, class T>
void centred_rows_loop(Int64 rows, Int64 n, const void* x, Int64 stride, const void* centre,
                       void* out) {
  for (Int64 r = 0; r < rows; ++r) {
    const Load<T> load{static_cast<const T*>(x) + r * stride,
                       Num<T>(static_cast<const T*>(centre)[r])};
    static_cast<T*>(out)[r] = reduce_block<SumRow>(n, load).v;
  }
}

template <class R, class T>
void start_loop(Int64 block_rows, Int64 cols, void* lanes) {
  start_columns<R>(block_rows, cols, static_cast<T*>(lanes));
}

template <class R, class T>
void add_loop(Int64 first, Int64 rows, Int64 cols, const void* x, Int64 stride, const void*,
              void* lanes) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(lanes);
  if (stride == cols) {
    add_dense_rows<R>(first, rows, cols, to, from);
  } else {
    add_rows<R>(first, rows, cols, to,
                [=](Int64 r, Int64 j) { return Num<T>(from[r * stride + j]); });
  }
}

template <template <class> class Load, class T>
void centred_add_loop(Int64 first, Int64 rows, Int64 cols, const void* x, Int64 stride,
                      const void* centre, void* lanes) {
  const T* from = static_cast<const T*>(x);
  const T* c = static_cast<const T*>(centre);
  add_rows<SumRow>(first, rows, cols, static_cast<T*>(lanes), [=](Int64 r, Int64 j) {
    return Load<T>{from, Num<T>(c[j])}(r * stride + j);
  });
}

template <class R, class T>
void fold_loop(Int64 block_rows, Int64 cols, void* lanes, void* out) {
  fold_columns<R>(block_rows, cols, static_cast<T*>(lanes), static_cast<T*>(out));
}

template <class T>
INGOT_INLINE bool is_extreme(T x, T value) {
  if constexpr (is_float<T>) return (x == value) | ((x != x) & (value != value));
  return x == value;
}

// The first of n elements that equals v, or that is NaN if v is; n if there is none.
template <class T>
INGOT_INLINE Int64 find(Int64 n, const T* x, T v) {
  constexpr Int64 kPiece = 64;
  for (Int64 begin = 0; begin < n; begin += kPiece) {
    const int count = static_cast<int>(n - begin < kPiece ? n - begin : kPiece);
    int first = count;
    for (int l = 0; l < count; ++l) {
      const int place = is_extreme(x[begin + l], v) ? l : count;
      first = place < first ? place : first;
    }
    if (first < count) return begin + first;
  }
  return n;
}

// The first extreme stays: only a strictly better one, or the first NaN, replaces it.
template <bool kSmallest, class T>
INGOT_INLINE bool beats(T a, T b) {
  const bool better = kSmallest ? a < b : a > b;
  if constexpr (is_float<T>) return better | ((a != a) & (b == b));
  return better;
}

template <bool kSmallest, class T>
bool beats_loop(const void* a, const void* b) {
  return beats<kSmallest>(*static_cast<const T*>(a), *static_cast<const T*>(b));
}

template <bool kFirst, class A, class B>
struct EitherType {
  using type = A;
};
template <class A, class B>
struct EitherType<false, A, B> {
  using type = B;
};
template <bool kFirst, class A, class B>
using Either = typename EitherType<kFirst, A, B>::type;

template <bool kSmallest, class T>
void row_extremes_loop(Int64 rows, Int64 n, const void* x, Int64 stride, Int64 begin, void* value,
                       Int64* place) {
  using R = Either<kSmallest, MinRow, MaxRow>;
  constexpr Int64 kShort = 32;  // elements that one scan takes less time for than two passes
  for (Int64 r = 0; r < rows; ++r) {
    const T* row = static_cast<const T*>(x) + r * stride;
    T& best = static_cast<T*>(value)[r];
    Int64 at = 0;
    if (n > kShort) {
      best = reduce_block<R>(n, Elements<T>{row}).v;
      at = find(n, row, best);
    } else {
      for (Int64 i = 1; i < n; ++i) at = beats<kSmallest>(row[i], row[at]) ? i : at;
      best = R::finish(Num<T>(row[at])).v;
    }
    place[r] = begin + at;
  }
}

template <bool kSmallest, class T>
void column_extremes_loop(Int64 rows, Int64 cols, const void* x, Int64 stride, void* value,
                          int* row) {
  const T* from = static_cast<const T*>(x);
  T* best = static_cast<T*>(value);
  for (Int64 j = 0; j < cols; ++j) best[j] = from[j];
  for (Int64 j = 0; j < cols; ++j) row[j] = 0;
  for (int r = 1; r < rows; ++r) {
    const T* at = from + r * stride;
    INGOT_LOOP_INDEPENDENT
    for (Int64 j = 0; j < cols; ++j) {
      const bool better = beats<kSmallest>(at[j], best[j]);
      best[j] = better ? at[j] : best[j];
      row[j] = better ? r : row[j];
    }
  }
  for (Int64 j = 0; j < cols; ++j) best[j] = MaxRow::finish(Num<T>(best[j])).v;
}

template <class T>
void divide_loop(Int64 n, void* x, double by) {
  T* to = static_cast<T*>(x);
  for (Int64 i = 0; i < n; ++i) to[i] = to[i] / static_cast<T>(by);
}

template <class T>
void add_quotient_loop(Int64 n, void* x, const void* y, double by) {
  T* to = static_cast<T*>(x);
  const T* from = static_cast<const T*>(y);
  INGOT_LOOP_INDEPENDENT
  for (Int64 i = 0; i < n; ++i) to[i] = to[i] + from[i] / static_cast<T>(by);
}

template <class R, class T>
inline constexpr ReduceLoops::Kind plain_kind = {rows_loop<R, T>, start_loop<R, T>, add_loop<R, T>,
                                                 fold_loop<R, T>};

template <template <class> class Load, class T>
inline constexpr ReduceLoops::Kind centred_kind = {centred_rows_loop<Load, T>,
                                                   start_loop<SumRow, T>, centred_add_loop<Load, T>,
                                                   fold_loop<SumRow, T>};

template <class T>
constexpr ReduceLoops make_reduce_loops() {
  ReduceLoops loops{};
  const auto set = [&](ReduceKind kind, ReduceLoops::Kind functions) {
    loops.kind[static_cast<int>(kind)] = functions;
  };
  set(ReduceKind::max, plain_kind<MaxRow, T>);
  set(ReduceKind::min, plain_kind<MinRow, T>);
  if constexpr (is_float<T> || is_same_type<T, Int64>) {
    set(ReduceKind::sum, plain_kind<SumRow, T>);
    set(ReduceKind::prod, plain_kind<ProdRow, T>);
  }
  if constexpr (is_float<T>) {
    set(ReduceKind::difference, centred_kind<Centred, T>);
    set(ReduceKind::square, centred_kind<CentredSquare, T>);
    loops.divide = divide_loop<T>;
    loops.add_quotient = add_quotient_loop<T>;
  }
  if constexpr (is_same_type<T, unsigned char>) {
    set(ReduceKind::any, plain_kind<AnyRow, T>);
    set(ReduceKind::all, plain_kind<AllRow, T>);
  }
  loops.row_extremes[0] = row_extremes_loop<false, T>;
  loops.row_extremes[1] = row_extremes_loop<true, T>;
  loops.column_extremes[0] = column_extremes_loop<false, T>;
  loops.column_extremes[1] = column_extremes_loop<true, T>;
  loops.beats[0] = beats_loop<false, T>;
  loops.beats[1] = beats_loop<true, T>;
  return loops;
}

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
