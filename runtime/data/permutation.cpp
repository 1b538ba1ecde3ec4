#include <numeric>
#include <utility>

#include <ingot/kernels/ops/philox.h>
#include <ingot/runtime/data/permutation.h>

namespace ingot::data {

namespace {

std::uint32_t low(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
std::uint32_t high(std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); }

}  // namespace

std::vector<i64> permutation(i64 n, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<i64> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), i64{0});
  for (std::uint64_t i = order.size(); i-- > 1;) {
    const philox::Block words = philox::draw(
        {low(i), high(i), low(epoch), high(epoch) | 0x80000000u}, low(seed), high(seed));
    std::swap(order[i], order[philox::below(philox::pair(words.w0, words.w1), i + 1)]);
  }
  return order;
}

}  // namespace ingot::data
