#!/usr/bin/python3
"""Writes tests/runtime/permutation_golden.h: shuffled orders by the definition in
runtime/data/permutation.h, written down a second time.

Run: tests/golden/permutation.py > tests/runtime/permutation_golden.h
"""
M32 = 0xFFFFFFFF


def philox(counter, key):
    """Philox4x32-10 of Salmon et al., SC 2011."""
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & M32, (a >> 32) ^ c[3] ^ k1, a & M32]
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return c


# The authors' known answers (Random123, kat_vectors).
assert philox([0] * 4, (0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox([M32] * 4, (M32, M32)) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def permutation(n, seed, epoch):
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        w = philox([i & M32, i >> 32, epoch & M32, (epoch >> 32) | 1 << 31], (seed & M32, seed >> 32))
        j = (w[0] | w[1] << 32) * (i + 1) >> 64
        order[i], order[j] = order[j], order[i]
    return order


def main():
    print("// Shuffled orders by the definition in runtime/data/permutation.h.")
    print("// Made by tests/golden/permutation.py, a second writing of it.")
    print("#pragma once\n")
    print("#include <cstdint>\n#include <vector>\n")
    print("namespace ingot::golden {\n")
    print("struct Order {\n  std::uint64_t seed, epoch;\n  std::vector<std::int64_t> rows;\n};")
    print("inline const std::vector<Order> kOrders = {")
    for n, seed, epoch in ((10, 0, 0), (10, 0, 1), (13, 1, 0), (7, 0x123456789ABCDEF0, 1 << 33)):
        rows = ", ".join(map(str, permutation(n, seed, epoch)))
        print(f"    {{{seed}u, {epoch}u, {{{rows}}}}},")
    print("};\n")
    print("}  // namespace ingot::golden")


main()
