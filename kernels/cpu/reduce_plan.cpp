#include <algorithm>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/reduce_plan.h>
#include <ingot/kernels/cpu/reduce_scratch.h>

namespace ingot {

ReducePlan plan_reduction(const Meta& in, const Dims& axes, Sequence sequence) {
  ReducePlan plan{.kept = {}, .reduced = {}, .outputs = 1, .count = 1};
  bool is_reduced[kMaxDims] = {};
  for (i64 axis : axes) {
    if (in.dim() > 0) is_reduced[axis] = true;
  }
  LoopAxis kept[kMaxDims], reduced[kMaxDims];
  int n_kept = 0, n_reduced = 0;
  for (int d = in.dim() - 1; d >= 0; --d) {  // innermost first
    const LoopAxis axis{in.sizes[d], {in.strides[d], is_reduced[d] ? 0 : plan.outputs}};
    (is_reduced[d] ? reduced[n_reduced++] : kept[n_kept++]) = axis;
    (is_reduced[d] ? plan.count : plan.outputs) *= axis.size;
  }
  if (sequence == Sequence::memory) {
    std::stable_sort(reduced, reduced + n_reduced, [](const LoopAxis& a, const LoopAxis& b) {
      return a.stride[0] < b.stride[0];
    });
  }
  while (n_kept > 0) plan.kept.push_back(kept[--n_kept]);
  while (n_reduced > 0) plan.reduced.push_back(reduced[--n_reduced]);
  return plan;
}

int lane_axis(const ReducePlan& plan) {
  constexpr i64 kFewest = 4;
  if (plan.count < 2 || plan.reduced.empty()) return -1;
  int lane = -1;
  for (int d = 0; d < plan.kept.size(); ++d) {
    if (lane < 0 || plan.kept[d].stride[0] <= plan.kept[lane].stride[0]) lane = d;
  }
  if (lane < 0 || plan.kept[lane].stride[0] <= 0) return -1;
  // Few columns pay off only where their rows follow each other without gaps.
  const bool dense = plan.reduced.back().stride[0] == plan.kept[lane].size;
  if (plan.kept[lane].size < kFewest && !dense) return -1;
  return plan.kept[lane].stride[0] < plan.reduced.back().stride[0] ? lane : -1;
}

namespace {

ReduceKind of_partials(ReduceKind kind) {
  return kind == ReduceKind::difference || kind == ReduceKind::square ? ReduceKind::sum : kind;
}

// Rows: each output's elements, a block at a time.
void reduce_by_rows(const ReduceTask& task) {
  const ReducePlan& plan = task.plan;
  const ReduceLoops::Kind& loops = reduce_loops(task.compute).kind[static_cast<int>(task.kind)];
  const RowReader reader(plan.reduced, task.storage, task.compute);
  const i64 item = item_size(task.compute), in_item = item_size(task.storage);
  const i64 blocks = std::max<i64>(1, (plan.count + kTreeBlock - 1) / kTreeBlock);
  const i64 longest = std::min(plan.count, kTreeBlock);

  const Scratch partials(blocks > 1 ? plan.outputs * blocks * item : 0);
  char* to = blocks > 1 ? partials.data() : static_cast<char*>(task.out);
  const char* centre = static_cast<const char*>(task.centre);
  const i64 row_step = plan.kept.empty() || plan.count == 0 ? 0 : plan.kept.back().stride[0];
  const bool many = blocks == 1 && reader.in_place();  // rows that follow each other at one stride
  parallel_for(
      plan.outputs * blocks, kReduceGrain / (longest + kTreeLanes) + 1, [&](i64 begin, i64 end) {
        const Scratch buffer(reader.buffer_bytes(longest));
        i64 output = begin / blocks, block = begin % blocks;
        AxisWalk walk(plan.kept, output);
        for (i64 t = begin; t < end;) {
          const i64 first = block * kTreeBlock, n = std::min(kTreeBlock, plan.count - first);
          const i64 offset =
              plan.count == 0 ? 0 : walk.offset(0);  // an empty operand has no address
          const void* row = reader.read(static_cast<const char*>(task.in) + offset * in_item, first,
                                        n, buffer.data());
          const i64 together = many ? std::min(walk.run(), end - t) : 1;
          loops.rows(together, n, row, row_step,
                     centre == nullptr ? nullptr : centre + output * item, to + t * item);
          t += together;
          if (++block == blocks) {
            block = 0;
            output += together;
            walk.advance(together);
          }
        }
      });
  if (blocks == 1) return;

  ReducePlan upper{.kept = {}, .reduced = {}, .outputs = plan.outputs, .count = blocks};
  upper.kept.push_back({plan.outputs, {blocks, 1}});
  upper.reduced.push_back({blocks, {1}});
  reduce_by_rows({of_partials(task.kind), upper, partials.data(), task.compute, task.compute,
                  nullptr, task.out});
}

}  // namespace

void reduce_values(const ReduceTask& task) {
  if (task.plan.outputs == 0) return;
  const int lane = lane_axis(task.plan);
  if (lane >= 0) {
    reduce_columns(task, lane);
  } else {
    reduce_by_rows(task);
  }
}

void reduce_columns(const ReduceTask& task, int lane) {
  const ReducePlan& plan = task.plan;
  const ReduceLoops::Kind& loops = reduce_loops(task.compute).kind[static_cast<int>(task.kind)];
  const LoopAxis columns = plan.kept[lane];
  AxisList outer = plan.kept;
  outer.erase(lane);
  AxisList along;
  along.push_back(columns);
  const RowReader reader(along, task.storage, task.compute);
  const CopyLoops::Move move = ingot::loops().copy->move[item_log2(item_size(task.compute))];

  const i64 item = item_size(task.compute), in_item = item_size(task.storage);
  const i64 width = columns.size, out_step = columns.stride[1];
  const i64 blocks = (plan.count + kTreeBlock - 1) / kTreeBlock;
  const i64 groups = outer.count() * blocks;
  const Scratch partials(blocks > 1 ? groups * width * item : 0);

  for_column_tiles(
      groups, width, std::min(plan.count, kTreeBlock), item, [&](i64 group, i64 first, i64 end) {
        const i64 cols = end - first, block = group % blocks;
        const AxisWalk place(outer, group / blocks);
        const i64 result = place.offset(1) + first * out_step;
        const Scratch lanes(kTreeLanes * cols * item);
        const i64 held = reader.in_place() ? 0 : kTreeLanes;
        const Scratch tile(held * cols * item), lines(2 * cols * item);
        const Scratch buffer(reader.buffer_bytes(cols));
        char* const line = lines.data();  // one row of the result

        const void* centre = nullptr;
        if (task.centre != nullptr) {
          const char* at = static_cast<const char*>(task.centre) + result * item;
          centre = at;
          if (out_step != 1) {
            centre = line + cols * item;
            move(cols, line + cols * item, 1, at, out_step);
          }
        }

        const i64 begin = block * kTreeBlock, rows = std::min(kTreeBlock, plan.count - begin);
        loops.start(rows, cols, lanes.data());
        const char* base = static_cast<const char*>(task.in) + place.offset(0) * in_item;
        AxisWalk walk(plan.reduced, begin);
        for (i64 r = 0; r < rows;) {
          i64 run = std::min(walk.run(), rows - r);
          if (reader.in_place()) {
            loops.add(r, run, cols, base + (walk.offset() + first) * in_item,
                      plan.reduced.back().stride[0], centre, lanes.data());
            walk.advance(run);
          } else {
            run = std::min(kTreeLanes, rows - r);
            for (i64 q = 0; q < run; ++q, walk.advance(1)) {
              const void* row =
                  reader.read(base + walk.offset() * in_item, first, cols, buffer.data());
              move(cols, tile.data() + q * cols * item, 1, row, 1);
            }
            loops.add(r, run, cols, tile.data(), cols, centre, lanes.data());
          }
          r += run;
        }

        if (blocks > 1) {
          loops.fold(rows, cols, lanes.data(), partials.data() + (group * width + first) * item);
        } else if (out_step == 1) {
          loops.fold(rows, cols, lanes.data(), static_cast<char*>(task.out) + result * item);
        } else {
          loops.fold(rows, cols, lanes.data(), line);
          move(cols, static_cast<char*>(task.out) + result * item, out_step, line, 1);
        }
      });
  if (blocks == 1) return;

  ReducePlan upper{.kept = {}, .reduced = {}, .outputs = plan.outputs, .count = blocks};
  i64 stride = groups * width;
  for (int d = 0; d < outer.size(); ++d) {
    stride /= outer[d].size;
    upper.kept.push_back({outer[d].size, {stride, outer[d].stride[1]}});
  }
  upper.kept.push_back({width, {1, out_step}});
  upper.reduced.push_back({blocks, {width}});
  reduce_columns({of_partials(task.kind), upper, partials.data(), task.compute, task.compute,
                  nullptr, task.out},
                 upper.kept.size() - 1);
}

}  // namespace ingot
