// ISA unit: elementwise loops over operands of any stride, and the look-up of a row's loop.
#include <ingot/kernels/cpu/copy_loops.h>
#include <ingot/kernels/cpu/elementwise_loops.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {
constexpr Int64 kTile = 512;  // elements: all tiles of a row stay in the first-level cache
}

void run_packed(const DenseLoop& loop, Int64 n, void* out, const void* const* in,
                const Int64* strides) {
  alignas(64) char tiles[kMaxRowInputs + 1][kTile * 8];
  const void* from[kMaxRowInputs];
  const Int64 first = n < kTile ? n : kTile;
  for (int k = 0; k < loop.arity; ++k) {
    from[k] = strides[1 + k] == 1 ? in[k] : tiles[k];
    if (strides[1 + k] == 0) move_items(first, loop.in_size[k], tiles[k], 1, in[k], 0);
  }
  for (Int64 begin = 0; begin < n; begin += kTile) {
    const Int64 count = n - begin < kTile ? n - begin : kTile;
    for (int k = 0; k < loop.arity; ++k) {
      const char* at = static_cast<const char*>(in[k]) + begin * strides[1 + k] * loop.in_size[k];
      if (strides[1 + k] == 1) {
        from[k] = at;
      } else if (strides[1 + k] != 0) {
        move_items(count, loop.in_size[k], tiles[k], 1, at, strides[1 + k]);
      }
    }
    char* to = static_cast<char*>(out) + begin * strides[0] * loop.out_size;
    if (strides[0] == 1) {
      loop.run(count, to, from);
    } else {
      loop.run(count, tiles[kMaxRowInputs], from);
      move_items(count, loop.out_size, to, strides[0], tiles[kMaxRowInputs], 1);
    }
  }
}

ElementwiseLoop elementwise_loop(int row, int dtype) {
  constexpr int kValues = rows::ValueRows::size;
  if (row >= kValues) {
    switch (dtype) {
      case 0:
        return kGradientsF32.at[row - kValues];
      case 1:
        return kGradientsF64.at[row - kValues];
      default:
        return nullptr;
    }
  }
  // The order of DType; 16-bit floats (2 and 3) compute in f32.
  switch (dtype) {
    case 0:
      return kValuesF32.at[row];
    case 1:
      return kValuesF64.at[row];
    case 4:
      return kValuesI64.at[row];
    case 5:
      return kValuesI32.at[row];
    case 6:
      return kValuesU8.at[row];
    case 7:
      return kValuesBool.at[row];
    default:
      return nullptr;
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
