#pragma once
// How a row lies on the threads of a block. Owns: row_shape(), the one rule for eager and generated
// kernels; the bits of every row result depend on it, so it looks at the row's length and the width
// of its storage type alone. Must not know: formulas, memory. Freestanding.
#include <ingot/kernels/ops/scalar.h>

namespace ingot {
inline namespace INGOT_ISA {

inline constexpr int kWarp = 32, kMostRowLanes = 512;
// Rows longer than this are read again on each pass, and cut into pieces by plain reductions.
inline constexpr Int64 kLongRow = 16384;

// Elements of a 16-byte vector.
INGOT_DEVICE constexpr int vector_width(int item_size) { return 16 / item_size; }

// A warp, or the lanes of a row that takes less than one, has as many neighbouring vectors of the
// row as it has slots: vector k of them is slot k / span of lane k % span. So neighbours read
// neighbouring vectors, and slots of whole warps are as far apart in rows of any length.
struct RowShape {
  int lanes;  // a power of two up to 64, else a multiple of 32
  int slots;  // vectors a lane holds; 0: any number, `lanes` apart, read again on each pass

  INGOT_DEVICE constexpr int span() const { return lanes < kWarp ? lanes : kWarp; }
};

// What a kernel knows of its rows' lanes: nothing; that they are fewer than a warp, a warp, 2 to 4
// of them, or more. Instructions depend on no more than this.
enum class RowLanes { any, part, warp, few_warps, many_warps };
inline constexpr int kFewLanes = 4 * kWarp;
INGOT_DEVICE constexpr RowLanes row_lanes(int lanes) {
  return lanes < kWarp        ? RowLanes::part
         : lanes == kWarp     ? RowLanes::warp
         : lanes <= kFewLanes ? RowLanes::few_warps
                              : RowLanes::many_warps;
}

// Slots that rows are held in: 1, 2, 4, 6, 8 vectors of four elements, up to 4 of others.
INGOT_DEVICE constexpr int most_slots(int width) { return width == 4 ? 8 : 4; }

INGOT_DEVICE constexpr int lanes_for(Int64 vectors) {
  if (vectors > kWarp) return static_cast<int>((vectors + kWarp - 1) / kWarp * kWarp);
  int lanes = 1;
  while (lanes < vectors) lanes *= 2;
  return lanes;
}

// Measured on an H200. 16-bit rows, where a thread's share of instructions counts most, take the
// slots that leave the fewest empty, at best four, and 8 lanes that read 128 bytes side by side.
// Others take one vector a lane below 64 vectors, two up to 256, then the fewest of 4, 6, 8 that
// fit a row into a block.
INGOT_DEVICE constexpr RowShape row_shape(Int64 n, int width) {
  const Int64 vectors = (n + width - 1) / width;
  if (n > kLongRow) return {kMostRowLanes, 0};
  if (width == 8) {
    RowShape best{0, 0};
    for (int slots = most_slots(width); slots > 0; --slots) {
      const int lanes = lanes_for((vectors + slots - 1) / slots);
      if ((lanes < 8 && slots > 1) || lanes > kMostRowLanes) continue;
      if (best.slots == 0 || lanes * slots < best.lanes * best.slots) best = {lanes, slots};
    }
    return best;
  }
  if (vectors < 2 * kWarp) return {lanes_for(vectors), 1};
  if (vectors <= 8 * kWarp) return {lanes_for((vectors + 1) / 2), 2};
  for (int slots = 4; slots <= most_slots(width); slots += 2) {
    const int lanes = lanes_for((vectors + slots - 1) / slots);
    if (lanes <= kMostRowLanes) return {lanes, slots};
  }
  return {kMostRowLanes, 0};
}

// Rows that share a block: a power of two, as are the lanes where it is more than one.
INGOT_DEVICE constexpr int rows_per_block(int lanes) { return lanes < 128 ? 128 / lanes : 1; }
INGOT_DEVICE constexpr int log2_of(int power_of_two) {
  int log = 0;
  while (power_of_two >> (log + 1) != 0) ++log;
  return log;
}

// Whether one block can take all rows, each in a warp or less, and then one warp a value of each.
INGOT_DEVICE constexpr bool fits_one_block(Int64 rows, int lanes, int value_width) {
  return lanes <= kWarp && rows * lanes <= kMostRowLanes && rows <= kWarp * value_width;
}

// The largest block of the kernels with so many slots (16-bit rows of 1025 elements and more may
// take one a lane), and how many blocks of a size an SM should hold: what keeps the compiler from
// spending registers on fewer, larger blocks. `held`: rows that stay in registers, and one for what
// is made of them element by element.
INGOT_DEVICE constexpr int row_threads(int width, int slots) {
  return slots == 1 && width != 8 ? 128 : kMostRowLanes;
}
INGOT_DEVICE constexpr int row_blocks(int width, int slots, int held, int block) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
  constexpr int most = 1024;
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890)
  constexpr int most = 1536;
#else
  constexpr int most = 2048;
#endif
  const int elements = slots * width * held;
  const int wanted = slots == 0 ? 1024 : elements <= 16 ? 1536 : elements <= 64 ? 1024 : 512;
  const int threads = wanted < most ? wanted : most;
  return threads < block ? 1 : threads / block;
}

}  // namespace INGOT_ISA
}  // namespace ingot
