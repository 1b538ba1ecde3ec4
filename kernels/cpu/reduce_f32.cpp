// ISA unit: reductions in f32.
#include <ingot/kernels/cpu/reduce_kernels.h>

namespace ingot {
inline namespace INGOT_ISA {

constinit const ReduceLoops kReduceF32 = rows::make_reduce_loops<float>();

}  // namespace INGOT_ISA
}  // namespace ingot
