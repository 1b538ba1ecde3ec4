// ISA unit: reductions in f64.
#include <ingot/kernels/cpu/reduce_kernels.h>

namespace ingot {
inline namespace INGOT_ISA {

constinit const ReduceLoops kReduceF64 = rows::make_reduce_loops<double>();

}  // namespace INGOT_ISA
}  // namespace ingot
