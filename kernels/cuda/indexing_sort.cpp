#include <bit>

#include <ingot/kernels/cuda/indexing_sort.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

std::size_t bytes(__INT64_TYPE__ n, std::size_t item) { return static_cast<std::size_t>(n) * item; }

}  // namespace

SortedKeys::SortedKeys(__INT64_TYPE__ n)
    : n_(n),
      keys_{DeviceScratch(bytes(n, sizeof(IndexKey))), DeviceScratch(bytes(n, sizeof(IndexKey)))},
      order_{DeviceScratch(bytes(n, sizeof(unsigned))), DeviceScratch(bytes(n, sizeof(unsigned)))} {
}

void SortedKeys::sort(IndexKey most) {
  if (n_ <= kMostRanked) {
    launch_rank_sort(input(), n_, keys_[1].data<IndexKey>(), order_[1].data<unsigned>());
    result_ = 1;
    return;
  }
  const auto tiles = static_cast<unsigned>((n_ + kSortTile - 1) / kSortTile);
  const DeviceScratch counts(bytes(tiles, kSortDigits * sizeof(unsigned)));
  const DeviceScratch totals(kSortDigits * sizeof(unsigned));
  const int bits = most == 0 ? 1 : std::bit_width(most);
  for (int shift = 0; shift < bits; shift += 8) {
    const int to = 1 - result_;
    launch_radix_pass({n_, shift, tiles, keys(), shift == 0 ? nullptr : order(),
                       keys_[to].data<IndexKey>(), order_[to].data<unsigned>(),
                       counts.data<unsigned>(), totals.data<unsigned>()});
    result_ = to;
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
