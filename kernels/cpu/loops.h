// The inner loops that eager kernels, the tile interpreter and tests share, at one instruction set
// level. Owns: the choice of the level, once per process, and the table of a level. Must not know:
// how loops are composed into kernels.
#pragma once

#include <ingot/kernels/cpu/copy_loops.h>
#include <ingot/kernels/cpu/indexing_loops.h>
#include <ingot/kernels/cpu/isa_level.h>
#include <ingot/kernels/cpu/random_loops.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot {

struct LevelLoops {
  const CopyLoops* copy;
  const IndexLoops* index;
  const RandomLoops* random;
  // By place in rows::AllRows and compute dtype; nullptr when the row does not exist for it.
  LoopFn (*elementwise)(int row, int dtype);
};

// The loops of isa_level().
const LevelLoops& loops();

// The loops of a level of this build; nullptr when it was left out. The CPU must have the level.
const LevelLoops* loops_of(IsaLevel level);

// Index of a table by item size: 0 for 1 byte ... 3 for 8 bytes.
constexpr int item_log2(int item_size) {
  return item_size == 8 ? 3 : item_size == 4 ? 2 : item_size == 2 ? 1 : 0;
}

}  // namespace ingot
