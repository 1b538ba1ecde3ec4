// The shuffled order of n rows.
// Owns: its definition, which a saved experiment can rely on: Fisher and Yates from the top, where
// row i (n-1 down to 1) changes places with row floor(u (i+1) / 2^64). u is the first pair of words
// of Philox4x32-10 with the seed as key and the counter (i, epoch), bit 127 of the counter set: the
// tensors' generators never draw there. Must not know: tensors.
#pragma once

#include <cstdint>
#include <vector>

#include <ingot/kernels/core/dims.h>

namespace ingot::data {

std::vector<i64> permutation(i64 n, std::uint64_t seed, std::uint64_t epoch);

}  // namespace ingot::data
