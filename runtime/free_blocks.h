// FreeBlocks: the free memory of a pool that one stream may use again.
// Owns: free blocks by size class; the cut of a larger free block where a class has none, and the
// join of neighbours that lets cut memory become large again. Segments, what came from the system
// in one piece, are never joined with each other. Must not know: the system, streams, statistics.
#pragma once

#include <bit>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <ingot/runtime/allocator.h>

namespace ingot {

// Bytes of the blocks of each size class: four steps a power of two, so that at most a fifth of a
// block is unused.
inline constexpr int kSizeClasses = 4 * 48;
inline int size_class(std::size_t bytes) {
  const std::size_t units = (bytes + kStorageAlignment - 1) / kStorageAlignment;
  if (units <= 4) return static_cast<int>(units) - 1;
  const int power = std::bit_width(units - 1) - 1;  // 2^power < units <= 2^(power + 1)
  const std::size_t step = std::size_t{1} << (power - 2);
  return power * 4 - 4 + static_cast<int>((units - 1 - (std::size_t{1} << power)) / step);
}
inline std::size_t class_bytes(int c) {
  if (c < 4) return static_cast<std::size_t>(c + 1) * kStorageAlignment;
  const int power = (c + 4) / 4;
  const std::size_t step = std::size_t{1} << (power - 2);
  const auto quarter = static_cast<std::size_t>((c + 4) % 4 + 1);
  return ((std::size_t{1} << power) + quarter * step) * kStorageAlignment;
}
// Large blocks start on a page, so that one of them never shares a page with another.
std::size_t block_alignment(std::size_t block_bytes);

// Bytes by first address.
using Segments = std::map<char*, std::size_t>;

class FreeBlocks {
 public:
  void put(int c, void* block) {
    of_[c].push_back(block);
    bytes_ += class_bytes(c);
    joined_ = false;
  }

  // A block of just this class; nullptr: none is free.
  void* take(int c) {
    if (of_[c].empty()) return nullptr;
    void* block = of_[c].back();
    of_[c].pop_back();
    bytes_ -= class_bytes(c);
    return block;
  }

  // A block cut from a larger free one; nullptr: none fits. The larger one has at most 1.5 times
  // the size; eight times where more of its size are free or it is a part of a segment already. So
  // a small block neither takes the place of a large one nor keeps much memory from going back.
  void* cut(int c, const Segments& segments);

  // Joins what is free of each segment that was cut. Returns how many blocks were looked at.
  std::size_t join(const Segments& segments);

  // Takes out segments that are free as a whole, smaller ones than class `c` first and then the
  // smallest, until `enough` bytes are out. Joins first.
  std::vector<std::pair<char*, std::size_t>> take_segments(const Segments& segments, int c,
                                                           std::size_t enough);

  std::size_t bytes() const { return bytes_; }  // that are free

 private:
  using Piece = std::pair<std::size_t, char*>;  // bytes, address
  // The larger class to cut from; kSizeClasses: none.
  int larger_class(int c) const;
  void put_part(char* at, std::size_t bytes);

  std::vector<void*> of_[kSizeClasses];
  std::set<Piece> pieces_;  // whose size is that of no class
  std::set<char*> cut_;     // segments that are not whole
  std::size_t bytes_ = 0;
  bool joined_ = true;  // nothing came in since join()
};

}  // namespace ingot
