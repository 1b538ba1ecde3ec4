// ISA unit: softmax, layer_norm, cross_entropy and their gradients in f32.
#include <ingot/kernels/cpu/rowops_kernels.h>

namespace ingot {
inline namespace INGOT_ISA {

constinit const RowLoops kRowsF32 = rows::RowFunctions<float>::table;

}  // namespace INGOT_ISA
}  // namespace ingot
