// Random draws as their CUDA kernels see them.
// Owns: the tasks and their launches. Element i of the logical order takes the word that
// kernels/ops/structured/random.h names, whatever the launch. Must not know: metas, checks.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {

struct RandomStreamStart {
  unsigned __INT64_TYPE__ seed, position;
};

// n elements without gaps, the first of them being the first of block `position`.
struct RandomFill {
  void* out;
  int dtype;
  __INT64_TYPE__ n;
  RandomStreamStart stream;
};

// native_dropout over a nest in logical order, axis 0 the innermost: the result, the mask, x.
struct DropoutTask {
  static constexpr int kAxes = 8;
  using Int = __INT64_TYPE__;
  void* y;
  void* mask;
  const void* x;
  int dtype;
  Int n;
  int dim;
  Int sizes[kAxes];
  Int strides[kAxes][3];
  bool dense;  // all three are runs without gaps
  RandomStreamStart stream;
  unsigned threshold;
  double scale;
};

inline namespace INGOT_ISA {

// Of f64 in double, else in float. low + u * width, at most `last`; mean + deviation * z.
void launch_uniform(const RandomFill& fill, double low, double width, double last);
void launch_normal(const RandomFill& fill, double mean, double deviation);
// low + [0, width): from 64 bits if `wide`, else from 32.
void launch_integers(const RandomFill& fill, __INT64_TYPE__ low, unsigned __INT64_TYPE__ width,
                     bool wide);
void launch_dropout(const DropoutTask& task);

}  // namespace INGOT_ISA
}  // namespace ingot
