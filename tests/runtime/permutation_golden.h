// Shuffled orders by the definition in runtime/data/permutation.h.
// Made by tests/golden/permutation.py, a second writing of it.
#pragma once

#include <cstdint>
#include <vector>

namespace ingot::golden {

struct Order {
  std::uint64_t seed, epoch;
  std::vector<std::int64_t> rows;
};
inline const std::vector<Order> kOrders = {
    {0u, 0u, {9, 2, 4, 1, 3, 6, 7, 8, 0, 5}},
    {0u, 1u, {8, 1, 5, 7, 3, 4, 2, 6, 0, 9}},
    {1u, 0u, {9, 0, 2, 5, 3, 11, 6, 10, 12, 8, 1, 7, 4}},
    {1311768467463790320u, 8589934592u, {4, 5, 2, 6, 0, 3, 1}},
};

}  // namespace ingot::golden
