#pragma once
// Owns TiledLoop<Row, T>: the inner loop of a user's row, as the unit that defines the row and as
// generated source instantiate it. Each row and dtype has one arithmetic loop, over dense runs;
// other strides are packed into short tiles, so that all patterns give the same bits.
// Must not know: metas, threads. Freestanding.
#include <ingot/kernels/ops/row.h>

namespace ingot {
inline namespace INGOT_ISA {

template <bool condition, class A, class B>
struct ChooseType {
  using type = A;
};
template <class A, class B>
struct ChooseType<false, A, B> {
  using type = B;
};

template <class Row, class T>
class TiledLoop {
  static constexpr int arity = arity_of<Row>;
  static constexpr Int64 kTile = 256;  // elements: all operands' tiles stay in the L1 cache

  template <int K>
  using In = typename ChooseType<K == 0 && has_condition<Row>, bool, T>::type;
  using Out = typename ChooseType<rule_of<Row> == DTypeRule::boolean || is_same_type<T, bool>, bool,
                                  T>::type;

  template <class... X>
  static void dense(Int64 n, Stored<Out>* y, const Stored<X>*... x) {
    static_assert(is_same_type<decltype(Row::value(Num<X>(x[0])...)), Num<Out>>,
                  "a row's value returns S; Num<bool> where its rule is boolean");
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (Int64 i = 0; i < n; ++i) y[i] = Row::value(Num<X>(x[i])...).v;
  }

  template <class X>
  static void pack(Int64 n, X* tile, const X* from, Int64 stride) {
    for (Int64 i = 0; i < n; ++i) tile[i] = from[i * stride];
  }
  template <int K>
  static const Stored<In<K>>* at(const void* const* in, Int64 offset) {
    return static_cast<const Stored<In<K>>*>(in[K]) + offset;
  }

  template <int... K>
  static void run(Int64 n, void* out, const void* const* in, const Int64* strides,
                  row_detail::Indices<K...>) {
    using To = Stored<Out>;
    To* y = static_cast<To*>(out);
    if (strides[0] == 1 && ((strides[1 + K] == 1) && ...)) {
      return dense<In<K>...>(n, y, at<K>(in, 0)...);
    }
    alignas(64) char tiles[1 + arity][kTile * 8];
    for (Int64 begin = 0; begin < n; begin += kTile) {
      const Int64 count = n - begin < kTile ? n - begin : kTile;
      const void* from[arity];
      const auto place = [&]<int k>(Stored<In<k>>* tile) {
        const Stored<In<k>>* x = at<k>(in, begin * strides[1 + k]);
        from[k] = strides[1 + k] == 1 ? x : tile;
        // One repeated value is spread once.
        if (strides[1 + k] != 1 && (strides[1 + k] != 0 || begin == 0)) {
          pack(count, tile, x, strides[1 + k]);
        }
      };
      (place.template operator()<K>(reinterpret_cast<Stored<In<K>>*>(tiles[K])), ...);
      To* to = strides[0] == 1 ? y + begin : reinterpret_cast<To*>(tiles[arity]);
      dense<In<K>...>(count, to, static_cast<const Stored<In<K>>*>(from[K])...);
      if (strides[0] == 1) continue;
      for (Int64 i = 0; i < count; ++i) y[(begin + i) * strides[0]] = to[i];
    }
  }

 public:
  // The signature of LoopFn in kernels/kernel_table.h.
  static void run(Int64 n, void* out, const void* const* in, const Int64* strides) {
    run(n, out, in, strides, row_detail::IndicesTo<arity>{});
  }
};

}  // namespace INGOT_ISA
}  // namespace ingot
