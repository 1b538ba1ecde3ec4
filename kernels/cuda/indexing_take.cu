// CUDA unit: reads through index tensors (index_select, gather, embedding, index).
#include <ingot/kernels/cuda/indexing.cuh>
#include <ingot/kernels/cuda/storage.cuh>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// One element a thread, or 16 bytes of a row: bits are moved, whatever the dtype.
template <class Item>
__global__ void __launch_bounds__(kIndexThreads)
    take_kernel(const Lanes lanes, const IndexTensors indices, void* out, const void* x) {
  wait_for_previous();
  const Unsigned i = blockIdx.x * kIndexThreads + threadIdx.x;
  if (i >= lanes.lanes.n) return;
  Int64 at[4];
  lanes.offsets(i, at);
  const Place place = find_place<true>(indices, at[IndexLanes::index]);
  Item item{};
  if (place.exists) item = static_cast<const Item*>(x)[at[IndexLanes::indexed] + place.offset];
  static_cast<Item*>(out)[at[IndexLanes::plain]] = item;
}

__global__ void __launch_bounds__(kIndexThreads)
    check_kernel(const Lanes lanes, const IndexTensors indices) {
  wait_for_previous();
  const Unsigned i = blockIdx.x * kIndexThreads + threadIdx.x;
  if (i >= lanes.lanes.n) return;
  Int64 at[4];
  lanes.offsets(i, at);
  find_place<true>(indices, at[IndexLanes::index]);
}

template <class Item>
void launch_items(const TakeTask& task) {
  const Int64 blocks = (Int64(task.lanes.n) + kIndexThreads - 1) / kIndexThreads;
  launch(take_kernel<Item>, {blocks, kIndexThreads}, Lanes(task.lanes), task.indices, task.out,
         task.x);
}

}  // namespace

void launch_take(const TakeTask& task) {
  switch (task.item) {
    case 1:
      return launch_items<unsigned char>(task);
    case 2:
      return launch_items<unsigned short>(task);
    case 4:
      return launch_items<unsigned>(task);
    case 8:
      return launch_items<unsigned long long>(task);
    default:
      return launch_items<Pack<unsigned long long, 2>>(task);
  }
}

void launch_check(const CheckTask& task) {
  const Int64 blocks = (Int64(task.lanes.n) + kIndexThreads - 1) / kIndexThreads;
  launch(check_kernel, {blocks, kIndexThreads}, Lanes(task.lanes), task.indices);
}

}  // namespace INGOT_ISA
}  // namespace ingot
