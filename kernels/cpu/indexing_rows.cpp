#include <algorithm>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/indexing_rows.h>
#include <ingot/kernels/cpu/iterate.h>
#include <ingot/kernels/cpu/loops.h>
#include <ingot/kernels/ops/elementwise.h>

namespace ingot {

namespace {

// Calls f(position, index) for every element in row-major order, in range and not negative.
template <class F>
void for_each_index(const IndexedAxis& axis, const BufferView& index, F&& f) {
  Nest nest(index.meta->sizes);
  nest.add(index.data, index.meta->strides, 8);
  nest.merge();
  i64 position = 0;
  nest.walk(0, nest.numel(), [&](i64 n, char* const* at) {
    const i64* run = reinterpret_cast<const i64*>(at[0]);
    const i64 step = nest.run_strides()[0];
    for (i64 i = 0; i < n; ++i) {
      const i64 given = run[i * step];
      const i64 wrapped = axis.from_end && given < 0 ? given + axis.size : given;
      if (wrapped < 0 || wrapped >= axis.size) [[unlikely]] {
        throw IndexError(out_of_range(axis, given));
      }
      f(position++, wrapped);
    }
  });
}

// Whether slices are best moved one by one (long or gapless runs), not position by position.
bool by_slice(const Nest& nest, i64 positions) {
  constexpr i64 kShort = 4;
  const bool gapless = nest.stride(0, 0) == 1 && nest.stride(0, 1) == 1;
  return (gapless && nest.size(0) >= kShort) || nest.size(0) >= positions;
}

IndexedRun at_offsets(const Offsets& offsets, i64 first) {
  return {.index = offsets.data() + first, .index_step = 1, .stride = 1, .step = 0};
}

}  // namespace

std::string out_of_range(const IndexedAxis& axis, i64 index) {
  const std::string what = axis.unit != nullptr
                               ? fmt::format("{} {}", axis.size, axis.unit)
                               : fmt::format("dim {} of size {}", axis.axis, axis.size);
  // In range if it counted from the end: then the op is one where none does.
  const bool refused = index < 0 && index >= -axis.size;
  return fmt::format("{}: index {} is out of range for {}{}", axis.op, index, what,
                     refused ? " and does not count from the end" : "");
}

void check_indices(const IndexedAxis& axis, const BufferView& index) {
  for_each_index(axis, index, [](i64, i64) {});
}

Offsets::Offsets(IndexedAxis first, const Meta& x, const BufferView* indices, int n)
    : count_(indices[0].meta->numel()), offsets_(count_ * item_size(DType::i64)) {
  i64* offset = reinterpret_cast<i64*>(offsets_.data());
  for (int k = 0; k < n; ++k) {
    IndexedAxis axis = first;
    axis.axis += k;
    axis.size = x.sizes[axis.axis];
    const i64 stride = x.strides[axis.axis];
    for_each_index(axis, indices[k], [=](i64 position, i64 index) {
      offset[position] = (k == 0 ? 0 : offset[position]) + index * stride;
    });
  }
}

Slices::Slices(const BufferView& view, int axis, int n) : data(view.data) {
  const Meta& m = *view.meta;
  for (int d = 0; d < m.dim(); ++d) {
    if (d >= axis && d < axis + n) continue;
    sizes.push_back(m.sizes[d]);
    strides.push_back(m.strides[d]);
  }
  if (n > 0) step = m.strides[axis + n - 1];
}

void take_slices(const Slices& out, const Slices& x, DType dtype, const Offsets& offsets) {
  const int item = item_size(dtype);
  Nest nest(out.sizes);
  nest.add(out.data, out.strides, item);
  nest.add(x.data, x.strides, item);
  nest.collapse();
  const i64 count = offsets.count();
  if (count == 0 || nest.numel() == 0) return;
  const i64 out_stride = nest.stride(0, 0), x_stride = nest.stride(0, 1);

  if (by_slice(nest, count)) {
    // Work item: one run of one slice. Runs of the same outer place are neighbours.
    const i64 length = nest.size(0);
    Nest outer = nest;
    outer.remove_axis(0);
    const auto move = loops().copy->move[item_log2(item)];
    const i64* at_position = offsets.data();
    parallel_for(outer.numel() * count, 1 + kParallelGrain / length, [&](i64 begin, i64 end) {
      while (begin < end) {
        const i64 place = begin / count, first = begin % count;
        const i64 last = std::min(count, first + end - begin);
        outer.walk(place, place + 1, [&](i64, char* const* at) {
          for (i64 p = first; p < last; ++p) {
            move(length, at[0] + p * out.step * item, out_stride, at[1] + at_position[p] * item,
                 x_stride);
          }
        });
        begin += last - first;
      }
    });
    return;
  }

  // Work item: one chunk of the positions for one element of a slice.
  constexpr i64 kChunk = 4096;
  const i64 chunks = (count + kChunk - 1) / kChunk;
  const auto gather = loops().index->gather[item_log2(item)];
  parallel_for(nest.numel() * chunks, 1 + kParallelGrain / std::min(count, kChunk),
               [&](i64 begin, i64 end) {
                 for (i64 work = begin; work < end; ++work) {
                   const i64 element = work / chunks, first = work % chunks * kChunk;
                   nest.walk(element, element + 1, [&](i64, char* const* at) {
                     gather(std::min(kChunk, count - first), at[0] + first * out.step * item,
                            out.step, at[1], at_offsets(offsets, first));
                   });
                 }
               });
}

void put_slices(const Slices& x, DType dtype, const Offsets& offsets, const Slices& values,
                Put how) {
  const int item = item_size(dtype);
  Nest nest(x.sizes);
  nest.add(x.data, x.strides, item);
  nest.add(values.data, values.strides, item);
  nest.collapse();
  const i64 count = offsets.count();
  if (count == 0 || nest.numel() == 0) return;
  const i64* strides = nest.run_strides();
  // Threads share the elements of a slice, never its positions, which keep their order. A cache
  // line is not shared.
  constexpr i64 kLine = 64;
  const i64 grain = (1 + kParallelGrain / count / kLine) * kLine;

  if (by_slice(nest, count)) {
    const i64* at_position = offsets.data();
    const auto move = loops().copy->move[item_log2(item)];
    const LoopFn add = loop_for(elementwise_op<rows::Add>, dtype);
    nest.for_each_run(
        [&](i64 n, char* const* at) {
          const i64 steps[] = {strides[0], strides[0], strides[1]};
          for (i64 p = 0; p < count; ++p) {
            char* to = at[0] + at_position[p] * item;
            const char* from = at[1] + p * values.step * item;
            if (how == Put::add) {
              const void* in[] = {to, from};
              add(n, to, in, steps);
            } else {
              move(n, to, strides[0], from, strides[1]);
            }
          }
        },
        grain);
    return;
  }

  const auto scatter = how == Put::add ? loops().index->scatter_add[static_cast<int>(dtype)]
                                       : loops().index->scatter[item_log2(item)];
  INGOT_BUG(scatter != nullptr, "put_slices: no sums in {}", name(dtype));
  nest.for_each_run(
      [&](i64 n, char* const* at) {
        for (i64 i = 0; i < n; ++i) {
          scatter(count, at[0] + i * strides[0] * item, at_offsets(offsets, 0),
                  at[1] + i * strides[1] * item, values.step);
        }
      },
      grain);
}

}  // namespace ingot
