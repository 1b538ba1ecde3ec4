// ISA unit: the loops of elementwise rows, gradients of f64.
#include <ingot/kernels/cpu/elementwise_loops.h>

namespace ingot {
inline namespace INGOT_ISA {

constinit const LoopTable<double, rows::GradRows> kGradientsF64{};

}  // namespace INGOT_ISA
}  // namespace ingot
