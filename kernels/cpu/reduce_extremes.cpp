#include <algorithm>
#include <cstring>

#include <ingot/kernels/cpu/reduce_extremes.h>
#include <ingot/kernels/cpu/reduce_plan.h>
#include <ingot/kernels/cpu/reduce_scratch.h>

namespace ingot {
namespace {

struct ExtremeTask {
  const ReducePlan& plan;
  const char* in;
  DType storage, compute;
  bool smallest;
  char* value;  // dense, compute dtype
  i64* index;   // dense
};

// Each output's blocks, then the first extreme among these.
void by_rows(const ExtremeTask& task) {
  const ReducePlan& plan = task.plan;
  const ReduceLoops& loops = reduce_loops(task.compute);
  const auto extremes = loops.row_extremes[task.smallest];
  const RowReader reader(plan.reduced, task.storage, task.compute);
  const i64 item = item_size(task.compute), in_item = item_size(task.storage);
  const i64 blocks = (plan.count + kTreeBlock - 1) / kTreeBlock;
  const i64 longest = std::min(plan.count, kTreeBlock);

  const i64 pieces = blocks > 1 ? plan.outputs * blocks : 0;
  const Scratch piece_values(pieces * item), piece_places(pieces * i64{sizeof(i64)});
  char* const value = blocks > 1 ? piece_values.data() : task.value;
  const i64 row_step = plan.kept.empty() ? 0 : plan.kept.back().stride[0];
  const bool many = blocks == 1 && reader.in_place();
  i64* const place = blocks > 1 ? reinterpret_cast<i64*>(piece_places.data()) : task.index;
  parallel_for(
      plan.outputs * blocks, kReduceGrain / (longest + kTreeLanes) + 1, [&](i64 begin, i64 end) {
        const Scratch buffer(reader.buffer_bytes(longest));
        i64 block = begin % blocks;
        AxisWalk walk(plan.kept, begin / blocks);
        for (i64 t = begin; t < end;) {
          const i64 first = block * kTreeBlock, n = std::min(kTreeBlock, plan.count - first);
          const void* row =
              reader.read(task.in + walk.offset(0) * in_item, first, n, buffer.data());
          const i64 together = many ? std::min(walk.run(), end - t) : 1;
          extremes(together, n, row, row_step, first, value + t * item, place + t);
          t += together;
          if (++block == blocks) {
            block = 0;
            walk.advance(together);
          }
        }
      });
  if (blocks == 1) return;
  const auto beats = loops.beats[task.smallest];
  for (i64 output = 0; output < plan.outputs; ++output) {
    i64 best = output * blocks;
    for (i64 t = best + 1; t < (output + 1) * blocks; ++t) {
      if (beats(value + t * item, value + best * item)) best = t;
    }
    std::memcpy(task.value + output * item, value + best * item, static_cast<std::size_t>(item));
    task.index[output] = place[best];
  }
}

// Side by side along plan.kept[lane]; one reduced axis.
void by_columns(const ExtremeTask& task, int lane) {
  const ReducePlan& plan = task.plan;
  const ReduceLoops& loops = reduce_loops(task.compute);
  const auto extremes = loops.column_extremes[task.smallest];
  const auto beats = loops.beats[task.smallest];
  const LoopAxis columns = plan.kept[lane];
  AxisList outer = plan.kept;
  outer.erase(lane);
  AxisList along;
  along.push_back(columns);
  const RowReader reader(along, task.storage, task.compute);
  const i64 item = item_size(task.compute), in_item = item_size(task.storage);
  const i64 row_step = plan.reduced.back().stride[0];
  // Rows that are copied first are taken a few at a time, so that the copies stay in the cache.
  const i64 taken = reader.in_place() ? kTreeBlock : i64{64};

  for_column_tiles(outer.count(), columns.size, plan.count, item,
                   [&](i64 group, i64 first, i64 end) {
                     const i64 cols = end - first;
                     const AxisWalk place(outer, group);
                     const Scratch tile(reader.in_place() ? 0 : taken * cols * item);
                     const Scratch buffer(reader.buffer_bytes(cols));
                     const Scratch found(cols * item), found_row(cols * i64{sizeof(int)});
                     int* const row_of = reinterpret_cast<int*>(found_row.data());
                     for (i64 begin = 0; begin < plan.count; begin += taken) {
                       const i64 rows = std::min(taken, plan.count - begin);
                       const char* at = task.in + (place.offset(0) + begin * row_step) * in_item;
                       if (reader.in_place()) {
                         extremes(rows, cols, at + first * in_item, row_step, found.data(), row_of);
                       } else {
                         for (i64 r = 0; r < rows; ++r) {
                           const void* row =
                               reader.read(at + r * row_step * in_item, first, cols, buffer.data());
                           std::memcpy(tile.data() + r * cols * item, row,
                                       static_cast<std::size_t>(cols * item));
                         }
                         extremes(rows, cols, tile.data(), cols, found.data(), row_of);
                       }
                       for (i64 j = 0; j < cols; ++j) {
                         const i64 output = place.offset(1) + (first + j) * columns.stride[1];
                         const char* candidate = found.data() + j * item;
                         char* best = task.value + output * item;
                         if (begin > 0 && !beats(candidate, best)) continue;
                         std::memcpy(best, candidate, static_cast<std::size_t>(item));
                         task.index[output] = begin + row_of[j];
                       }
                     }
                   });
}

}  // namespace

void reduce_extremes(const BufferView& in, const Dims& axes, bool smallest, const BufferView* value,
                     const BufferView& index) {
  const ReducePlan plan = plan_reduction(*in.meta, axes, Sequence::logical);
  if (plan.outputs == 0) return;
  const DType storage = in.meta->dtype, compute = compute_type(storage);
  const bool in_place = value != nullptr && storage == compute;
  const Scratch values(in_place ? 0 : plan.outputs * item_size(compute));
  const ExtremeTask task{plan,
                         static_cast<const char*>(in.data),
                         storage,
                         compute,
                         smallest,
                         in_place ? static_cast<char*>(value->data) : values.data(),
                         static_cast<i64*>(index.data)};
  const int lane = lane_axis(plan);
  if (lane >= 0 && plan.reduced.size() == 1) {
    by_columns(task, lane);
  } else {
    by_rows(task);
  }
  if (value == nullptr || in_place) return;
  const auto& casts = loops().copy->cast;
  casts[static_cast<int>(compute)][static_cast<int>(storage)](plan.outputs, value->data,
                                                              values.data());
}

}  // namespace ingot
