#pragma once
// Owns the three macros under which every line of kernel code is written: the inline namespace of
// the instruction set level, and the annotations of functions that run on host and device.
// Must not know scalar types, rows or kernels. Like every header of this folder that generated code
// embeds, it includes nothing but its siblings.

// One kernel source is compiled once per level; the inline namespace keeps the levels' symbols
// apart, so that the linker cannot hand code of a newer CPU to an older one.
#ifndef INGOT_ISA
#define INGOT_ISA isa_host
#endif

// INGOT_HD marks a member function template (a row's value or grad), INGOT_INLINE a free function.
// Both are always inlined where the compiler optimises, as kernel units always are: an out-of-line
// copy would be a call inside a loop that must vectorise. INGOT_DEVICE marks what only computes
// constants.
#if defined(__CUDACC__)
#define INGOT_DEVICE __host__ __device__
#define INGOT_HD __host__ __device__ constexpr __forceinline__
#define INGOT_INLINE __host__ __device__ __forceinline__
#elif defined(__OPTIMIZE__)
#define INGOT_DEVICE
#define INGOT_HD constexpr __attribute__((always_inline))
#define INGOT_INLINE inline __attribute__((always_inline))
#else
#define INGOT_DEVICE
#define INGOT_HD constexpr
#define INGOT_INLINE inline
#endif

// A function of the C library by its C name: INGOT_LIBM(sqrtf)(x).
#if defined(__CUDACC__)
#define INGOT_LIBM(function) ::function
#else
#define INGOT_LIBM(function) __builtin_##function
#endif

// The 64-bit integer: std::int64_t, whose header kernel code does not include.
#if defined(__INT64_TYPE__)
#define INGOT_INT64 __INT64_TYPE__
#else
#define INGOT_INT64 long long
#endif
