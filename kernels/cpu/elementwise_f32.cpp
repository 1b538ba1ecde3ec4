// ISA unit: the loops of elementwise rows, values of f32.
#include <ingot/kernels/cpu/elementwise_loops.h>

namespace ingot {
inline namespace INGOT_ISA {

constinit const LoopTable<float, rows::ValueRows> kValuesF32{};

}  // namespace INGOT_ISA
}  // namespace ingot
