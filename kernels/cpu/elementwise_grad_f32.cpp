// ISA unit: the loops of elementwise rows, gradients of f32.
#include <ingot/kernels/cpu/elementwise_loops.h>

namespace ingot {
inline namespace INGOT_ISA {

constinit const LoopTable<float, rows::GradRows> kGradientsF32{};

}  // namespace INGOT_ISA
}  // namespace ingot
