// CUDA unit: writes and sums through index tensors (index_add, scatter_add, embedding's gradient,
// index_put_).
//
// Elements that several positions write are summed in the order of positions, by one thread each:
// no atomics on floats, the same bits in every run and those of a loop over the positions. A sum
// starts with what stands in x, is kept in the compute type and rounded once. Two ways lead to the
// thread that does it:
//   direct   Few positions. The thread of each position looks for its equals among the others: the
//            first one (the last, where values overwrite) does the work. One launch, quadratic in
//            the positions.
//   ordered  The positions come sorted by what they write, equal ones in order (indexing_sort.h).
//            The thread of the first (last) of each run does the work.
// Both give the same bits, so the choice between them may follow cost alone.
#include <ingot/kernels/cuda/indexing.cuh>
#include <ingot/kernels/cuda/storage.cuh>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

struct PutParams {
  Lanes lanes;
  IndexTensors indices;
  Int64 positions, value_step, index_step;

  explicit PutParams(const PutTask& task)
      : lanes(task.lanes),
        indices(task.indices),
        positions(task.positions),
        value_step(task.value_step),
        index_step(task.index_step) {}
};

template <class S>
__global__ void __launch_bounds__(kIndexThreads)
    add_direct_kernel(const PutParams p, S* x, const S* values) {
  wait_for_previous();
  const Unsigned i = blockIdx.x * kIndexThreads + threadIdx.x;
  if (i >= p.lanes.lanes.n) return;
  Int64 at[4];
  p.lanes.offsets(i, at);
  const Place mine = find_place<true>(p.indices, at[IndexLanes::index]);
  if (!mine.exists) return;
  const Int64 position = at[IndexLanes::position];
  const Int64 first_index = at[IndexLanes::index] - position * p.index_step;
  const S* first_value = values + at[IndexLanes::plain] - position * p.value_step;
  const auto same = [&](Int64 other) {
    const Place its = find_place<false>(p.indices, first_index + other * p.index_step);
    return its.exists && its.number == mine.number;
  };
  for (Int64 before = 0; before < position; ++before) {
    if (same(before)) return;
  }
  S* target = x + at[IndexLanes::indexed] + mine.offset;
  auto sum = widen(*target) + widen(first_value[position * p.value_step]);
  for (Int64 after = position + 1; after < p.positions; ++after) {
    if (same(after)) sum = sum + widen(first_value[after * p.value_step]);
  }
  *target = narrow<S>(sum);
}

template <class Item>
__global__ void __launch_bounds__(kIndexThreads)
    overwrite_direct_kernel(const PutParams p, Item* x, const Item* values) {
  wait_for_previous();
  const Unsigned i = blockIdx.x * kIndexThreads + threadIdx.x;
  if (i >= p.lanes.lanes.n) return;
  Int64 at[4];
  p.lanes.offsets(i, at);
  const Place mine = find_place<true>(p.indices, at[IndexLanes::index]);
  if (!mine.exists) return;
  Int64 index = at[IndexLanes::index];
  for (Int64 after = at[IndexLanes::position] + 1; after < p.positions; ++after) {
    index += p.index_step;
    const Place its = find_place<false>(p.indices, index);
    if (its.exists && its.number == mine.number) return;
  }
  x[at[IndexLanes::indexed] + mine.offset] = values[at[IndexLanes::plain]];
}

// The lanes are those of the positions in memory, or all of them.
__global__ void __launch_bounds__(kIndexThreads)
    keys_kernel(const PutParams p, IndexKey* keys, IndexKey limit, bool slices) {
  wait_for_previous();
  const Int64 i = Int64(blockIdx.x) * kIndexThreads + threadIdx.x;
  if (slices) {
    if (i >= p.positions) return;
    const Place place = find_place<true>(p.indices, i * p.index_step);
    keys[i] = place.exists ? IndexKey(place.number) : limit;
    return;
  }
  if (i >= p.lanes.lanes.n) return;
  Int64 at[4];
  p.lanes.offsets(Unsigned(i), at);
  const Place place = find_place<true>(p.indices, at[IndexLanes::index]);
  keys[i] = place.exists ? IndexKey(at[IndexLanes::indexed] + place.offset) : limit;
}

// A thread's place in the order and, with slices, its lane. Blocks are tiles of `width` lanes by
// kIndexThreads / width places.
struct OrderedParams {
  PutParams put;
  IndexOrder order;
  Unsigned width, tiles;  // tiles: blocks along the lanes

  struct Thread {
    Int64 place;
    Unsigned lane;
  };
  __device__ __forceinline__ Thread thread() const {
    const Unsigned rows = kIndexThreads / width, across = blockIdx.x % tiles;
    return {Int64(blockIdx.x / tiles) * rows + threadIdx.x / width,
            across * width + threadIdx.x % width};
  }
  __device__ __forceinline__ bool outside(const Thread& t) const {
    return t.place >= order.n || (order.slices && t.lane >= put.lanes.lanes.n) ||
           order.keys[t.place] >= order.limit;
  }
  // Where the value of a place lies, and what it goes to.
  __device__ __forceinline__ Int64 value(Int64 place, Int64 lane_value) const {
    if (order.slices) return Int64(order.order[place]) * put.value_step + lane_value;
    Int64 at[4];
    put.lanes.offsets(order.order[place], at);
    return at[IndexLanes::plain];
  }
  __device__ __forceinline__ Int64 target(Int64 place, Int64 lane_target) const {
    if (!order.slices) return Int64(order.keys[place]);
    return lane_target +
           find_place<false>(put.indices, Int64(order.order[place]) * put.index_step).offset;
  }
};

template <class S>
__global__ void __launch_bounds__(kIndexThreads)
    add_ordered_kernel(const OrderedParams p, S* x, const S* values) {
  wait_for_previous();
  const auto thread = p.thread();
  if (p.outside(thread)) return;
  const IndexKey* keys = p.order.keys;
  const IndexKey key = keys[thread.place];
  if (thread.place > 0 && keys[thread.place - 1] == key) return;
  Int64 lane[4] = {};
  if (p.order.slices) p.put.lanes.offsets(thread.lane, lane);
  S* target = x + p.target(thread.place, lane[IndexLanes::indexed]);
  auto sum = widen(*target);
  // Several loads under way at a time: a run may be as long as the index.
  constexpr int kAhead = 4;
  for (Int64 place = thread.place;; place += kAhead) {
    decltype(sum) next[kAhead];
    int count = 0;
#pragma unroll
    for (int l = 0; l < kAhead; ++l) {
      if (place + l < p.order.n && keys[place + l] == key) {
        next[l] = widen(values[p.value(place + l, lane[IndexLanes::plain])]);
        count = l + 1;
      }
    }
#pragma unroll
    for (int l = 0; l < kAhead; ++l) {
      if (l < count) sum = sum + next[l];
    }
    if (count < kAhead) break;
  }
  *target = narrow<S>(sum);
}

template <class Item>
__global__ void __launch_bounds__(kIndexThreads)
    overwrite_ordered_kernel(const OrderedParams p, Item* x, const Item* values) {
  wait_for_previous();
  const auto thread = p.thread();
  if (p.outside(thread)) return;
  const IndexKey* keys = p.order.keys;
  if (thread.place + 1 < p.order.n && keys[thread.place + 1] == keys[thread.place]) return;
  Int64 lane[4] = {};
  if (p.order.slices) p.put.lanes.offsets(thread.lane, lane);
  x[p.target(thread.place, lane[IndexLanes::indexed])] =
      values[p.value(thread.place, lane[IndexLanes::plain])];
}

Int64 blocks_of(Int64 threads) { return (threads + kIndexThreads - 1) / kIndexThreads; }

template <class S>
struct AddRow {
  static constexpr auto direct = add_direct_kernel<S>;
  static constexpr auto ordered = add_ordered_kernel<S>;
};
template <class S>
struct OverwriteRow {
  static constexpr auto direct = overwrite_direct_kernel<S>;
  static constexpr auto ordered = overwrite_ordered_kernel<S>;
};

// Calls f(kernels, x, values) with the kernels and pointers of the task's dtype: sums by the dtype
// itself, moves by its size.
template <class F>
void with_kernels(const PutTask& task, F f) {
  const auto typed = [&]<class S>(auto kernels, S*) {
    f(kernels, static_cast<S*>(task.x), static_cast<const S*>(task.values));
  };
  const auto row = [&]<class S>(S* type) {
    if (task.add) {
      typed(AddRow<S>{}, type);
    } else if constexpr (sizeof(S) == 1) {
      typed(OverwriteRow<unsigned char>{}, static_cast<unsigned char*>(nullptr));
    } else if constexpr (sizeof(S) == 2) {
      typed(OverwriteRow<unsigned short>{}, static_cast<unsigned short*>(nullptr));
    } else if constexpr (sizeof(S) == 4) {
      typed(OverwriteRow<unsigned>{}, static_cast<unsigned*>(nullptr));
    } else {
      typed(OverwriteRow<unsigned long long>{}, static_cast<unsigned long long*>(nullptr));
    }
  };
  switch (static_cast<DType>(task.dtype)) {
    case DType::f32:
      return row(static_cast<float*>(nullptr));
    case DType::f64:
      return row(static_cast<double*>(nullptr));
    case DType::f16:
      return row(static_cast<Half*>(nullptr));
    case DType::bf16:
      return row(static_cast<BFloat16*>(nullptr));
    case DType::i64:
      return row(static_cast<Int64*>(nullptr));
    case DType::i32:
      return row(static_cast<int*>(nullptr));
    case DType::u8:
      return row(static_cast<unsigned char*>(nullptr));
    case DType::boolean:
      return row(static_cast<bool*>(nullptr));
  }
}

}  // namespace

void launch_put_direct(const PutTask& task) {
  with_kernels(task, [&](auto kernels, auto* x, const auto* values) {
    launch(kernels.direct, {blocks_of(task.lanes.n), kIndexThreads}, PutParams(task), x, values);
  });
}

void launch_put_keys(const PutTask& task, IndexKey* keys, IndexKey limit, bool slices) {
  launch(keys_kernel, {blocks_of(slices ? task.positions : task.lanes.n), kIndexThreads},
         PutParams(task), keys, limit, slices);
}

void launch_put_ordered(const PutTask& task, const IndexOrder& order) {
  const Unsigned lanes = order.slices ? task.lanes.n : 1;
  Unsigned width = 1;
  while (width < kIndexThreads && width < lanes) width *= 2;
  const OrderedParams params{PutParams(task), order, width, (lanes + width - 1) / width};
  const Int64 rows = kIndexThreads / width;
  const Int64 blocks = (order.n + rows - 1) / rows * params.tiles;
  with_kernels(task, [&](auto kernels, auto* x, const auto* values) {
    launch(kernels.ordered, {blocks, kIndexThreads}, params, x, values);
  });
}

}  // namespace INGOT_ISA
}  // namespace ingot
