// ISA unit: reductions in the integer types; bool is reduced as u8.
#include <ingot/kernels/cpu/reduce_kernels.h>

namespace ingot {
inline namespace INGOT_ISA {

constinit const ReduceLoops kReduceI64 = rows::make_reduce_loops<Int64>();
constinit const ReduceLoops kReduceI32 = rows::make_reduce_loops<int>();
constinit const ReduceLoops kReduceU8 = rows::make_reduce_loops<unsigned char>();

}  // namespace INGOT_ISA
}  // namespace ingot
