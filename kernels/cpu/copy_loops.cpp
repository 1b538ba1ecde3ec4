// ISA unit: moves, transposes and casts.
#include <ingot/kernels/cpu/copy_loops.h>
#include <ingot/kernels/ops/convert.h>
#include <ingot/kernels/ops/half.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace {

template <class T>
void move(Int64 n, void* out, Int64 out_stride, const void* in, Int64 in_stride) {
  T* __restrict y = static_cast<T*>(out);
  const T* __restrict x = static_cast<const T*>(in);
  if (in_stride == 0) {
    const T value = *x;
    if (out_stride == 1) {
      for (Int64 i = 0; i < n; ++i) y[i] = value;
    } else {
      for (Int64 i = 0; i < n; ++i) y[i * out_stride] = value;
    }
  } else if (in_stride == 1 && out_stride == 1) {
    if (n > 0) __builtin_memcpy(y, x, static_cast<__SIZE_TYPE__>(n) * sizeof(T));
  } else if (out_stride == 1) {
    for (Int64 i = 0; i < n; ++i) y[i] = x[i * in_stride];
  } else {
    for (Int64 i = 0; i < n; ++i) y[i * out_stride] = x[i * in_stride];
  }
}

// Blocks of one cache line of input by one of output: each line is then read and written whole.
template <class T>
void transpose(Int64 rows, Int64 cols, void* out, Int64 out_stride, const void* in,
               Int64 in_stride) {
  constexpr Int64 kBlock = sizeof(T) >= 4 ? 64 / sizeof(T) : 16;
  T* __restrict y = static_cast<T*>(out);
  const T* __restrict x = static_cast<const T*>(in);
  Int64 c = 0;
  for (; c + kBlock <= cols; c += kBlock) {
    Int64 r = 0;
    for (; r + kBlock <= rows; r += kBlock) {
      T block[kBlock][kBlock];
      for (Int64 i = 0; i < kBlock; ++i) {
        for (Int64 j = 0; j < kBlock; ++j) block[i][j] = x[(r + i) * in_stride + c + j];
      }
      for (Int64 j = 0; j < kBlock; ++j) {
        T line[kBlock];
        for (Int64 i = 0; i < kBlock; ++i) line[i] = block[i][j];
        for (Int64 i = 0; i < kBlock; ++i) y[(c + j) * out_stride + r + i] = line[i];
      }
    }
    for (; r < rows; ++r) {
      for (Int64 j = 0; j < kBlock; ++j) y[(c + j) * out_stride + r] = x[r * in_stride + c + j];
    }
  }
  for (; c < cols; ++c) {
    for (Int64 r = 0; r < rows; ++r) y[c * out_stride + r] = x[r * in_stride + c];
  }
}

// Storage types compute in their Num; 16-bit floats go through float, so that a cast from f64 or
// i64 rounds twice, as it does when written as two casts.
INGOT_INLINE Num<float> load(Half x) { return Num<float>(to_float(x)); }
INGOT_INLINE Num<float> load(BFloat16 x) { return Num<float>(to_float(x)); }
template <class T>
INGOT_INLINE Num<T> load(T x) {
  return Num<T>(x);
}

template <class To, class N>
INGOT_INLINE To stored(N x) {
  if constexpr (is_same_type<To, Half>) {
    return to_half(convert<float>(x).v);
  } else if constexpr (is_same_type<To, BFloat16>) {
    return to_bfloat16(convert<float>(x).v);
  } else {
    return convert<To>(x).v;
  }
}

template <class From, class To>
void cast(Int64 n, void* out, const void* in) {
  To* __restrict y = static_cast<To*>(out);
  const From* __restrict x = static_cast<const From*>(in);
  if constexpr (is_same_type<From, To>) {
    if (n > 0) __builtin_memcpy(y, x, static_cast<__SIZE_TYPE__>(n) * sizeof(To));
  } else {
    for (Int64 i = 0; i < n; ++i) y[i] = stored<To>(load(x[i]));
  }
}

#define INGOT_CASTS_FROM(From)                                                          \
  {                                                                                     \
    cast<From, float>, cast<From, double>, cast<From, Half>, cast<From, BFloat16>,      \
        cast<From, Int64>, cast<From, int>, cast<From, unsigned char>, cast<From, bool> \
  }

}  // namespace

const CopyLoops kCopyLoops = {
    {move<unsigned char>, move<unsigned short>, move<unsigned>, move<unsigned __INT64_TYPE__>},
    {transpose<unsigned char>, transpose<unsigned short>, transpose<unsigned>,
     transpose<unsigned __INT64_TYPE__>},
    {INGOT_CASTS_FROM(float), INGOT_CASTS_FROM(double), INGOT_CASTS_FROM(Half),
     INGOT_CASTS_FROM(BFloat16), INGOT_CASTS_FROM(Int64), INGOT_CASTS_FROM(int),
     // A bool is a byte of 0 or 1, and loops over bytes vectorise better than loops over bool.
     INGOT_CASTS_FROM(unsigned char), INGOT_CASTS_FROM(unsigned char)}};

void move_items(Int64 n, int item_size, void* out, Int64 out_stride, const void* in,
                Int64 in_stride) {
  kCopyLoops.move[__builtin_ctz(static_cast<unsigned>(item_size))](n, out, out_stride, in,
                                                                   in_stride);
}

}  // namespace INGOT_ISA
}  // namespace ingot
