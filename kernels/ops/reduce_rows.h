#pragma once
// ROWS: reductions, and the one order in which every reduction of the project is computed. Owns:
// the rows (identity, combine, finish), the tree, its form over one row; reduce_columns.h has it
// for many side by side. Must not know: strides, threads, dtypes of storage. Freestanding: this
// text is also part of generated source.
//
// The tree of a sequence of n elements depends on n alone, never on layout, threads, level or
// fusion. Element i of a block of 4096 goes to lane i % 16, in order; the lanes are folded 8-4-2-1
// (lane l with lane l + 8, and so on). Longer sequences: the results of the blocks are again such a
// sequence. Which sequence several reduced axes make is said in kernels/cpu/reduce_plan.h.
#include <ingot/kernels/ops/convert.h>
#include <ingot/kernels/ops/math_bits.h>

#if defined(__CUDACC__)
#define INGOT_LOOP_INDEPENDENT
#elif defined(__clang__)
#define INGOT_LOOP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INGOT_LOOP_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

inline constexpr int kReduceLanes = 16;
inline constexpr Int64 kReduceBlock = 4096;

// repeatable: an element may be combined twice, and in any order, without a change of bits; such
// rows are computed in another order than the tree's, which is faster.
struct SumRow {
  static constexpr bool repeatable = false;
  template <class T>
  INGOT_HD static Num<T> identity() {
    return Num<T>(0);
  }
  template <class T>
  INGOT_HD static Num<T> combine(Num<T> a, Num<T> b) {
    return a + b;
  }
  template <class T>
  INGOT_HD static Num<T> finish(Num<T> a) {
    return a;
  }
};

struct ProdRow : SumRow {
  template <class T>
  INGOT_HD static Num<T> identity() {
    return Num<T>(1);
  }
  template <class T>
  INGOT_HD static Num<T> combine(Num<T> a, Num<T> b) {
    return a * b;
  }
};

// max(), or one instruction; which zero and which NaN does not matter here.
INGOT_INLINE Num<float> larger_float(Num<float> a, Num<float> b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a.v), "f"(b.v));
  return Num<float>(y);
#else
  return max(a, b);
#endif
}

// NaN wins. An extreme that is zero is +0, so that which zero came first does not show.
struct MaxRow {
  static constexpr bool repeatable = true;
  template <class T>
  INGOT_HD static Num<T> identity() {
    if constexpr (is_float<T>) {
      return Num<T>(-math::infinity());
    } else {
      return Num<T>(IntegerRange<T>::least);
    }
  }
  template <class T>
  INGOT_HD static Num<T> combine(Num<T> a, Num<T> b) {
    if constexpr (is_same_type<T, float>) return larger_float(a, b);
    return max(a, b);
  }
  template <class T>
  INGOT_HD static Num<T> finish(Num<T> a) {
    return a + Num<T>(0);
  }
};

struct MinRow : MaxRow {
  template <class T>
  INGOT_HD static Num<T> identity() {
    if constexpr (is_float<T>) {
      return Num<T>(math::infinity());
    } else {
      return Num<T>(IntegerRange<T>::greatest);
    }
  }
  template <class T>
  INGOT_HD static Num<T> combine(Num<T> a, Num<T> b) {
    return min(a, b);
  }
};

// Over truth values 0 and 1.
struct AnyRow : MaxRow {
  template <class T>
  INGOT_HD static Num<T> identity() {
    return Num<T>(0);
  }
};

struct AllRow : MinRow {
  template <class T>
  INGOT_HD static Num<T> identity() {
    return Num<T>(1);
  }
};

// What is reduced is a callable load(i) -> Num<T>. `direct` ones are a few instructions: they are
// evaluated inside the loop over lanes, others a piece at a time into a buffer before it, since the
// compilers vectorise only short expressions there. The bits are the same.
template <class T>
struct Elements {
  static constexpr bool direct = true;
  const T* x;
  INGOT_HD Num<T> operator()(Int64 i) const { return Num<T>(x[i]); }
};

template <class T>
struct Centred {
  static constexpr bool direct = true;
  const T* x;
  Num<T> centre;
  INGOT_HD Num<T> operator()(Int64 i) const { return Num<T>(x[i]) - centre; }
};

template <class T>
struct CentredSquare {
  static constexpr bool direct = true;
  const T* x;
  Num<T> centre;
  INGOT_HD Num<T> operator()(Int64 i) const {
    const Num<T> d = Num<T>(x[i]) - centre;
    return d * d;
  }
};

template <class T>
struct Products {
  static constexpr bool direct = true;
  const T* a;
  const T* b;
  INGOT_HD Num<T> operator()(Int64 i) const { return Num<T>(a[i]) * Num<T>(b[i]); }
};

template <class Load>
inline constexpr bool is_direct = requires {
  Load::direct;
};

template <class Load>
const Load& some_load();
template <class Load>
using LoadValue = typename decltype(some_load<Load>()(0))::Value;

// A load that is not direct may bring its own loop, fill(begin, n, piece), as good as load(i) for
// each element.
template <class Load>
inline constexpr bool has_fill = requires {
  &Load::fill;
};

template <class Load>
struct ShiftedDirect {
  static constexpr bool direct = true;
  Load load;
  Int64 by;
  INGOT_HD auto operator()(Int64 i) const { return load(by + i); }
};
template <class Load>
struct Shifted {
  Load load;
  Int64 by;
  INGOT_HD auto operator()(Int64 i) const { return load(by + i); }
};
template <class Load>
struct ShiftedFill : Shifted<Load> {
  INGOT_HD void fill(Int64 begin, Int64 n, LoadValue<Load>* piece) const {
    this->load.fill(this->by + begin, n, piece);
  }
};
template <class Load>
INGOT_INLINE auto shifted(Load load, Int64 by) {
  if constexpr (is_direct<Load>) {
    return ShiftedDirect<Load>{load, by};
  } else if constexpr (has_fill<Load>) {
    return ShiftedFill<Load>{{load, by}};
  } else {
    return Shifted<Load>{load, by};
  }
}

// Elements [0, n) of a block onto the lanes; n is a multiple of kReduceLanes, or the block ends
// with it. The compilers keep the lanes in vector registers.
template <class R, class T, class Load>
INGOT_INLINE void onto_lanes(T (&lanes)[kReduceLanes], Int64 n, const Load& load) {
  Int64 i = 0;
  for (; i + kReduceLanes <= n; i += kReduceLanes) {
    for (int l = 0; l < kReduceLanes; ++l) {
      lanes[l] = R::combine(Num<T>(lanes[l]), load(i + l)).v;
    }
  }
  for (Int64 l = 0; l < n - i; ++l) lanes[l] = R::combine(Num<T>(lanes[l]), load(i + l)).v;
}

template <class R, class T>
INGOT_INLINE Num<T> fold_lanes(T (&lanes)[kReduceLanes]) {
  for (int l = 0; l < 8; ++l) lanes[l] = R::combine(Num<T>(lanes[l]), Num<T>(lanes[l + 8])).v;
  for (int l = 0; l < 4; ++l) lanes[l] = R::combine(Num<T>(lanes[l]), Num<T>(lanes[l + 4])).v;
  for (int l = 0; l < 2; ++l) lanes[l] = R::combine(Num<T>(lanes[l]), Num<T>(lanes[l + 2])).v;
  return R::finish(R::combine(Num<T>(lanes[0]), Num<T>(lanes[1])));
}

// A repeatable row: whole vectors only, the last one over elements that were seen before. A tail of
// single elements would take as long as hundreds of others.
template <class R, class T, class Load>
INGOT_INLINE Num<T> reduce_repeatable(Int64 n, const Load& load) {
  constexpr Int64 kWide = 4 * kReduceLanes;
  const auto combine = [](T a, T b) { return R::combine(Num<T>(a), Num<T>(b)).v; };
  if (n < kReduceLanes) {
    Num<T> result = R::template identity<T>();
    for (Int64 i = 0; i < n; ++i) result = R::combine(result, load(i));
    return R::finish(result);
  }
  alignas(64) T lanes[kReduceLanes];
  if (n < kWide) {
    const Int64 last = n - kReduceLanes;
    const Int64 second = kReduceLanes < last ? kReduceLanes : last;
    const Int64 third = 2 * kReduceLanes < last ? 2 * kReduceLanes : last;
    for (int l = 0; l < kReduceLanes; ++l) {
      lanes[l] = combine(combine(load(l).v, load(second + l).v),
                         combine(load(third + l).v, load(last + l).v));
    }
  } else {
    alignas(64) T wide[kWide];
    for (int l = 0; l < kWide; ++l) wide[l] = load(l).v;
    for (Int64 i = kWide; i + kWide <= n; i += kWide) {
      for (int l = 0; l < kWide; ++l) wide[l] = combine(wide[l], load(i + l).v);
    }
    for (int l = 0; l < kWide; ++l) wide[l] = combine(wide[l], load(n - kWide + l).v);
    for (int l = 0; l < 32; ++l) wide[l] = combine(wide[l], wide[l + 32]);
    for (int l = 0; l < 16; ++l) lanes[l] = combine(wide[l], wide[l + 16]);
  }
  return fold_lanes<R>(lanes);
}

// The result of one block: n <= kReduceBlock elements.
template <class R, class Load>
INGOT_INLINE Num<LoadValue<Load>> reduce_block(Int64 n, Load load) {
  using T = LoadValue<Load>;
  if constexpr (is_direct<Load> && R::repeatable) {
    return reduce_repeatable<R, T>(n, load);
  } else {
    alignas(64) T lanes[kReduceLanes];
    for (int l = 0; l < kReduceLanes; ++l) lanes[l] = R::template identity<T>().v;
    if constexpr (is_direct<Load>) {
      onto_lanes<R>(lanes, n, load);
    } else {
      constexpr Int64 kPiece = 256;
      alignas(64) T piece[kPiece];
      for (Int64 begin = 0; begin < n; begin += kPiece) {
        const Int64 count = n - begin < kPiece ? n - begin : kPiece;
        if constexpr (has_fill<Load>) {
          load.fill(begin, count, piece);
        } else {
          for (Int64 i = 0; i < count; ++i) piece[i] = load(begin + i).v;
        }
        if constexpr (R::repeatable) {
          const Num<T> part = reduce_repeatable<R, T>(count, Elements<T>{piece});
          lanes[0] = R::combine(Num<T>(lanes[0]), part).v;
        } else {
          onto_lanes<R>(lanes, count, Elements<T>{piece});
        }
      }
    }
    return fold_lanes<R>(lanes);
  }
}

// The upper levels of the tree: takes the results of the blocks in order. Three levels are
// 2^48 elements.
template <class R, class T>
class Cascade {
 public:
  Cascade() {
    for (auto& level : lanes_) clear(level);
  }
  void put(Num<T> block) { put(0, block); }
  Num<T> result() {
    for (int k = 0; k + 1 < kLevels; ++k) put(k + 1, fold_lanes<R>(lanes_[k]));
    return fold_lanes<R>(lanes_[kLevels - 1]);
  }

 private:
  static constexpr int kLevels = 3;

  static void clear(T (&level)[kReduceLanes]) {
    for (T& lane : level) lane = R::template identity<T>().v;
  }
  void put(int k, Num<T> value) {
    T& lane = lanes_[k][count_[k] % kReduceLanes];
    lane = R::combine(Num<T>(lane), value).v;
    if (++count_[k] == kReduceBlock && k + 1 < kLevels) {
      const Num<T> folded = fold_lanes<R>(lanes_[k]);
      clear(lanes_[k]);
      count_[k] = 0;
      put(k + 1, folded);
    }
  }

  T lanes_[kLevels][kReduceLanes];
  Int64 count_[kLevels] = {};
};

// The result of n elements: load(0) ... load(n - 1). The identity when n is 0.
template <class R, class Load>
INGOT_INLINE Num<LoadValue<Load>> reduce_row(Int64 n, Load load) {
  if (n <= kReduceBlock) return reduce_block<R>(n, load);
  Cascade<R, LoadValue<Load>> cascade;
  for (Int64 begin = 0; begin < n; begin += kReduceBlock) {
    const Int64 count = n - begin < kReduceBlock ? n - begin : kReduceBlock;
    cascade.put(reduce_block<R>(count, shifted(load, begin)));
  }
  return cascade.result();
}

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
