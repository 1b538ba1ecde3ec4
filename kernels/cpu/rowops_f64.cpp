// ISA unit: softmax, layer_norm, cross_entropy and their gradients in f64.
#include <ingot/kernels/cpu/rowops_kernels.h>

namespace ingot {
inline namespace INGOT_ISA {

constinit const RowLoops kRowsF64 = rows::RowFunctions<double>::table;

}  // namespace INGOT_ISA
}  // namespace ingot
