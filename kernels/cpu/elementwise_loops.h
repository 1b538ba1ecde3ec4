// From an elementwise row to its inner loop over runs, compiled once per instruction set level.
// Owns: the loop over dense runs, its forms for repeated operands, and the way in for every other
// stride: operands are packed into short dense tiles, so that each row and dtype has one arithmetic
// loop and all stride patterns, bodies and tails give the same bits. Must not know: metas, threads.
#pragma once

#include <utility>

#include <ingot/kernels/ops/all_rows.h>

namespace ingot {

// What LoopFn of kernels/kernel_table.h is, without the headers of the host.
using ElementwiseLoop = void (*)(__INT64_TYPE__ n, void* out, const void* const* in,
                                 const __INT64_TYPE__* strides);

inline namespace INGOT_ISA {

// A result may be exactly an operand, never overlap one in part: no iteration needs another.
#if defined(__clang__)
// Loops that call the C library stay scalar, which is no mistake.
#pragma clang diagnostic ignored "-Wpass-failed"
#define INGOT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INGOT_INDEPENDENT _Pragma("GCC ivdep")
#endif

struct DenseLoop {
  void (*run)(Int64 n, void* out, const void* const* in);
  int arity;
  int out_size;                // bytes of one result
  int in_size[kMaxRowInputs];  // bytes of one element of each operand
};

// Any strides, by way of dense tiles.
void run_packed(const DenseLoop& loop, Int64 n, void* out, const void* const* in,
                const Int64* strides);

// Whether operand 0 of a row is the mask of where().
template <class Row>
inline constexpr bool takes_mask = requires {
  Row::condition_first;
};
template <class Row, int K>
inline constexpr bool takes_mask<GradRow<Row, K>> = takes_mask<Row> &&
                                                    (GradRow<Row, K>::uses & 1u) != 0;

// A dense operand.
template <class T>
struct Dense {
  const Stored<T>* at;
  INGOT_INLINE explicit Dense(const void* in) : at(static_cast<const Stored<T>*>(in)) {}
  INGOT_INLINE Num<T> operator[](Int64 i) const { return Num<T>(at[i]); }
};

// One value for the whole run.
template <class T>
struct Repeated {
  Num<T> value;
  INGOT_INLINE explicit Repeated(const void* in) : value(Dense<T>(in)[0]) {}
  INGOT_INLINE Num<T> operator[](Int64) const { return value; }
};

template <class Row, class T>
struct RowLoop {
  static constexpr int arity = arity_of<Row>;

  template <bool condition, class A, class B>
  struct Choose {
    using type = A;
  };
  template <class A, class B>
  struct Choose<false, A, B> {
    using type = B;
  };
  template <int K>
  using OperandType = typename Choose<K == 0 && takes_mask<Row>, bool, T>::type;
  template <int K, unsigned repeated>
  using Operand = typename Choose<(repeated >> K & 1u) != 0, Repeated<OperandType<K>>,
                                  Dense<OperandType<K>>>::type;
  using Result =
      typename Choose<rule_of<Row> == DTypeRule::boolean || is_same_type<T, bool>, bool, T>::type;

  template <class... Operands>
  INGOT_INLINE static void loop(Int64 n, Stored<Result>* y, Operands... x) {
    INGOT_INDEPENDENT
    for (Int64 i = 0; i < n; ++i) y[i] = Row::value(x[i]...).v;
  }
  template <unsigned repeated, int... K>
  INGOT_INLINE static void expand(Int64 n, void* out, const void* const* in,
                                  std::integer_sequence<int, K...>) {
    loop(n, static_cast<Stored<Result>*>(out), Operand<K, repeated>(in[K])...);
  }

  // Bit K of `repeated`: operand K is one value.
  template <unsigned repeated>
  static void dense(Int64 n, void* out, const void* const* in) {
    expand<repeated>(n, out, in, std::make_integer_sequence<int, arity>{});
  }

  template <int... K>
  static constexpr DenseLoop describe(std::integer_sequence<int, K...>) {
    return {dense<0>, arity, sizeof(Result), {sizeof(OperandType<K>)...}};
  }
  static constexpr DenseLoop packed = describe(std::make_integer_sequence<int, arity>{});

  static void run(Int64 n, void* out, const void* const* in, const Int64* strides) {
    unsigned repeated = 0;
    bool dense_or_repeated = strides[0] == 1;
    for (int k = 0; k < arity; ++k) {
      dense_or_repeated &= strides[1 + k] == 1 || strides[1 + k] == 0;
      repeated |= unsigned(strides[1 + k] == 0) << k;
    }
    if (dense_or_repeated) {
      if (repeated == 0) return dense<0>(n, out, in);
      if constexpr (arity == 2) {
        if (repeated == 1) return dense<1>(n, out, in);
        if (repeated == 2) return dense<2>(n, out, in);
      }
    }
    run_packed(packed, n, out, in, strides);
  }
};

template <class Row, class T>
constexpr ElementwiseLoop loop_of() {
  if constexpr (contains(dtypes_of<Row>, kind_of<T>)) {
    return &RowLoop<Row, T>::run;
  } else {
    return nullptr;
  }
}

// The loops of a list of rows for one dtype, by the row's place in the list.
template <class T, class List>
struct LoopTable;
template <class T, class... Row>
struct LoopTable<T, RowList<Row...>> {
  static constexpr int size = sizeof...(Row);
  ElementwiseLoop at[size] = {loop_of<Row, T>()...};
};

// Value rows and gradient rows are compiled apart: no unit should take long.
extern const LoopTable<float, rows::ValueRows> kValuesF32;
extern const LoopTable<float, rows::GradRows> kGradientsF32;
extern const LoopTable<double, rows::ValueRows> kValuesF64;
extern const LoopTable<double, rows::GradRows> kGradientsF64;
extern const LoopTable<Int64, rows::ValueRows> kValuesI64;
extern const LoopTable<int, rows::ValueRows> kValuesI32;
extern const LoopTable<unsigned char, rows::ValueRows> kValuesU8;
extern const LoopTable<bool, rows::ValueRows> kValuesBool;

// By place in rows::AllRows and DType (as int); nullptr when the row does not exist for it.
ElementwiseLoop elementwise_loop(int row, int dtype);

}  // namespace INGOT_ISA
}  // namespace ingot
