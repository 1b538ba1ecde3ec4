// ISA unit: the loops of elementwise rows, values of i64, i32, u8 and bool.
#include <ingot/kernels/cpu/elementwise_loops.h>

namespace ingot {
inline namespace INGOT_ISA {

constinit const LoopTable<Int64, rows::ValueRows> kValuesI64{};
constinit const LoopTable<int, rows::ValueRows> kValuesI32{};
constinit const LoopTable<unsigned char, rows::ValueRows> kValuesU8{};
constinit const LoopTable<bool, rows::ValueRows> kValuesBool{};

}  // namespace INGOT_ISA
}  // namespace ingot
