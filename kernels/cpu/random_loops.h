// Runs of random numbers, compiled once per instruction set level.
// Owns: the signatures and a level's table. Every loop fills n elements without gaps, the first of
// them being the first of block `position` of the stream of `seed`; the element's word follows from
// its place (kernels/ops/structured/random.h). Must not know: metas, threads.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {

struct RandomStream {
  unsigned __INT64_TYPE__ seed, position;
};

struct RandomLoops {
  using Int = __INT64_TYPE__;
  using UInt = unsigned __INT64_TYPE__;

  // low + u * width, at most `last`.
  void (*uniform_f32)(Int n, float* out, RandomStream s, float low, float width, float last);
  void (*uniform_f64)(Int n, double* out, RandomStream s, double low, double width, double last);
  // mean + deviation * z
  void (*normal_f32)(Int n, float* out, RandomStream s, float mean, float deviation);
  void (*normal_f64)(Int n, double* out, RandomStream s, double mean, double deviation);
  // low + [0, range) from one word each (range <= 2^32), or from two.
  void (*integers_32)(Int n, Int* out, RandomStream s, Int low, UInt range);
  void (*integers_64)(Int n, Int* out, RandomStream s, Int low, UInt range);
  // Whether the high 24 bits of the word are at least `threshold`, as a bool lies in memory.
  void (*keep)(Int n, unsigned char* out, RandomStream s, unsigned threshold);
  // keep ? x * scale : 0
  void (*masked_f32)(Int n, float* out, const float* x, const unsigned char* keep, float scale);
  void (*masked_f64)(Int n, double* out, const double* x, const unsigned char* keep, double scale);
};

inline namespace INGOT_ISA {

extern const RandomLoops kRandomLoops;

}  // namespace INGOT_ISA
}  // namespace ingot
