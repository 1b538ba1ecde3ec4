// A reduction as loops, and the steps that all reductions are made of.
// Owns: ReducePlan, the choice between rows and columns, reduce_values (the tree over any strides,
// on several threads). The bits of a result depend on the number of reduced elements and on their
// sequence alone: the reduced axes in the order of the operand's strides, the largest outside
// (equal strides keep their order). Must not know: ops, finishing divisions.
#pragma once

#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/reduce_loops.h>
#include <ingot/kernels/cpu/reduce_walk.h>

namespace ingot {

// One operand of sizes[kept and reduced]; the result is dense in the logical order of the kept
// axes.
struct ReducePlan {
  AxisList kept;     // operand 0: the input, operand 1: the result
  AxisList reduced;  // operand 0: the input
  i64 outputs;       // product of the kept sizes
  i64 count;         // product of the reduced ones
};

enum class Sequence { memory, logical };  // of the reduced axes; logical: what arg-reductions count

ReducePlan plan_reduction(const Meta& in, const Dims& axes, Sequence sequence);

// Where several columns are reduced side by side: `lane` is the place in plan.kept of the axis that
// runs along memory; -1 when rows are the better way.
int lane_axis(const ReducePlan& plan);

// The loops of a compute dtype (bool: as u8) at isa_level(), and at a given level: nullptr when
// that was left out of the build.
const ReduceLoops& reduce_loops(DType compute);
const ReduceLoops* reduce_loops_of(IsaLevel level, DType compute);

// out[o] = the reduction of output o's elements, dense, in the compute dtype. centre (difference,
// square): dense, one element for each output.
struct ReduceTask {
  ReduceKind kind;
  const ReducePlan& plan;
  const void* in;
  DType storage, compute;
  const void* centre;
  void* out;
};
void reduce_values(const ReduceTask& task);

// reduce_values by columns along plan.kept[lane].
void reduce_columns(const ReduceTask& task, int lane);

// Elements of work below which one thread does it: some microseconds of reading from the cache.
inline constexpr i64 kReduceGrain = 262144;
// Elements of a block of the tree.
inline constexpr i64 kTreeBlock = 4096;
inline constexpr i64 kTreeLanes = 16;

// Columns are handed out in units of this many, and at most kTileBytes of them are taken together:
// the lanes of a tile stay in the second-level cache, its pieces of rows are whole pages.
inline constexpr i64 kColumnUnit = 64;
inline constexpr i64 kTileBytes = 4096;

// Calls f(group, first, end) for column ranges [first, end) of each of `groups` groups of `cols`
// columns, on several threads; `work`: elements behind one column of a group.
template <class F>
void for_column_tiles(i64 groups, i64 cols, i64 work, i64 item, F&& f) {
  const i64 units = (cols + kColumnUnit - 1) / kColumnUnit, total = groups * units;
  const i64 least = kReduceGrain / (kColumnUnit * (work + kTreeLanes)) + 1;
  const i64 tile = kTileBytes / item / kColumnUnit;
  const i64 share = (total + num_threads() - 1) / num_threads();
  const i64 wide = share < tile ? share : tile;
  parallel_for(total, least > wide ? least : wide, [&](i64 begin, i64 end) {
    for (i64 t = begin; t < end;) {
      const i64 unit = t % units;
      i64 take = end - t < units - unit ? end - t : units - unit;
      take = take < tile ? take : tile;
      const i64 last = (unit + take) * kColumnUnit;
      f(t / units, unit * kColumnUnit, last < cols ? last : cols);
      t += take;
    }
  });
}

}  // namespace ingot
