// Loads and stores of elements with a cast.
// Owns: load_as, store_as. Must not know: rows, shapes.
#pragma once

#include <ingot/kernels/core/dtype.h>
#include <ingot/kernels/cuda/elements.h>
#include <ingot/kernels/cuda/launch.cuh>
#include <ingot/kernels/ops/convert.h>

namespace ingot {
inline namespace INGOT_ISA {

template <class T>
inline constexpr DType dtype_of_type = DType::f32;
template <>
inline constexpr DType dtype_of_type<double> = DType::f64;
template <>
inline constexpr DType dtype_of_type<Half> = DType::f16;
template <>
inline constexpr DType dtype_of_type<BFloat16> = DType::bf16;
template <>
inline constexpr DType dtype_of_type<Int64> = DType::i64;
template <>
inline constexpr DType dtype_of_type<int> = DType::i32;
template <>
inline constexpr DType dtype_of_type<unsigned char> = DType::u8;
template <>
inline constexpr DType dtype_of_type<bool> = DType::boolean;

// Element i of p as T; `dtype` is what lies there.
template <class T>
__device__ __noinline__ Num<T> load_cast(const void* p, Int64 i, int dtype) {
  switch (static_cast<DType>(dtype)) {
    case DType::f32:
      return convert<T>(Num<float>(static_cast<const float*>(p)[i]));
    case DType::f64:
      return convert<T>(Num<double>(static_cast<const double*>(p)[i]));
    case DType::f16:
      return convert<T>(widen(static_cast<const Half*>(p)[i]));
    case DType::bf16:
      return convert<T>(widen(static_cast<const BFloat16*>(p)[i]));
    case DType::i64:
      return convert<T>(Num<Int64>(static_cast<const Int64*>(p)[i]));
    case DType::i32:
      return convert<T>(Num<int>(static_cast<const int*>(p)[i]));
    case DType::u8:
      return convert<T>(Num<unsigned char>(static_cast<const unsigned char*>(p)[i]));
    case DType::boolean:
      break;
  }
  return convert<T>(Num<bool>(static_cast<const unsigned char*>(p)[i] != 0));
}

template <class T>
__device__ __noinline__ void store_cast(void* p, Int64 i, int dtype, Num<T> x) {
  switch (static_cast<DType>(dtype)) {
    case DType::f32:
      static_cast<float*>(p)[i] = convert<float>(x).v;
      return;
    case DType::f64:
      static_cast<double*>(p)[i] = convert<double>(x).v;
      return;
    case DType::f16:
      static_cast<Half*>(p)[i] = to_half(convert<float>(x).v);
      return;
    case DType::bf16:
      static_cast<BFloat16*>(p)[i] = to_bfloat16(convert<float>(x).v);
      return;
    case DType::i64:
      static_cast<Int64*>(p)[i] = convert<Int64>(x).v;
      return;
    case DType::i32:
      static_cast<int*>(p)[i] = convert<int>(x).v;
      return;
    case DType::u8:
      static_cast<unsigned char*>(p)[i] = convert<unsigned char>(x).v;
      return;
    case DType::boolean:
      static_cast<bool*>(p)[i] = convert<bool>(x).v;
      return;
  }
}

// The same with the common case, T itself, in line.
template <class T>
__device__ __forceinline__ Num<T> load_as(const void* p, Int64 i, int dtype) {
  if (dtype == static_cast<int>(dtype_of_type<T>)) return Num<T>(static_cast<const T*>(p)[i]);
  return load_cast<T>(p, i, dtype);
}
template <class T>
__device__ __forceinline__ void store_as(void* p, Int64 i, int dtype, Num<T> x) {
  if (dtype == static_cast<int>(dtype_of_type<T>)) {
    static_cast<T*>(p)[i] = x.v;
  } else {
    store_cast<T>(p, i, dtype, x);
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
