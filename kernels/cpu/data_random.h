// CPU kernels of the rows in kernels/ops/structured/random.h.
// Owns: these entry points. Element i of the logical order takes its word from the stream by i
// alone, so values do not depend on strides, threads, vector width or instruction set level (those
// of v3 and v4; randn differs in last bits on the baseline). Must not know: generators.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {

// rand and uniform_: s[0] + u (s[1] - s[0]) with u in [0, 1); never s[1] itself unless both are
// equal. Error when s[0] > s[1] or their distance is not finite in the compute dtype.
void cpu_uniform(const KernelArgs& args);

// randn and normal_: mean s[0], deviation s[1] >= 0.
void cpu_normal(const KernelArgs& args);

// randint: s[0] + floor(word * (s[1] - s[0]) / 2^b), b the 32 or 64 bits of the draw. The
// probabilities of two values differ by less than (s[1] - s[0]) / 2^b of themselves. Error when the
// range is empty, does not fit the dtype, or is wider than a 32-bit draw.
void cpu_randint(const KernelArgs& args);

// native_dropout: y = x * s[1] where kept, 0 elsewhere, whatever x is there.
void cpu_dropout(const KernelArgs& args);

// What is drawn, once the call was found to make sense: the same on all devices.
struct UniformDraw {
  double low, width;
  double last;  // the largest value of the dtype that may come out
};
UniformDraw uniform_draw(const KernelArgs& args);

struct NormalDraw {
  double mean, deviation;
};
NormalDraw normal_draw(const KernelArgs& args);

struct IntegerDraw {
  i64 low;
  std::uint64_t width;
  bool wide;  // from 64 bits, else from 32
};
IntegerDraw integer_draw(const KernelArgs& args);

// The high 24 bits of a word, as a number, from which on an element is kept.
std::uint32_t dropout_threshold(double p);

}  // namespace ingot
