// A stable sort of index keys on the device, so that equal ones stand together in their old order.
// Owns: SortedKeys and the launches it is made of. Integers only: the result is unique, whatever
// the order that blocks run in. Must not know: what the keys mean.
#pragma once

#include <ingot/kernels/cuda/indexing_task.h>
#include <ingot/kernels/cuda/scratch.h>

namespace ingot {

// Up to so many keys one launch finds the rank of each by counting smaller ones; more take three
// launches for every 8 bits of the largest key.
inline constexpr int kMostRanked = 2048;
inline constexpr int kSortDigits = 256, kSortTile = 2048;

// One pass of a radix sort: by the 8 bits from `shift` on.
struct RadixPass {
  __INT64_TYPE__ n;
  int shift;
  unsigned tiles;  // of kSortTile keys
  const IndexKey* keys;
  const unsigned* order;  // nullptr: 0, 1, 2, ...
  IndexKey* sorted_keys;
  unsigned* sorted_order;
  unsigned* counts;  // [kSortDigits][tiles]
  unsigned* totals;  // [kSortDigits]
};

inline namespace INGOT_ISA {

void launch_rank_sort(const IndexKey* keys, __INT64_TYPE__ n, IndexKey* sorted_keys,
                      unsigned* sorted_order);
void launch_radix_pass(const RadixPass& pass);

// Memory for n keys (below 2^31) and their sorted order.
class SortedKeys {
 public:
  explicit SortedKeys(__INT64_TYPE__ n);

  // The caller puts the keys here, none above `most`.
  IndexKey* input() const { return keys_[0].data<IndexKey>(); }
  void sort(IndexKey most);

  const IndexKey* keys() const { return keys_[result_].data<IndexKey>(); }
  const unsigned* order() const { return order_[result_].data<unsigned>(); }

 private:
  __INT64_TYPE__ n_;
  DeviceScratch keys_[2], order_[2];
  int result_ = 0;
};

}  // namespace INGOT_ISA
}  // namespace ingot
