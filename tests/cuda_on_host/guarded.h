// Memory for kernels under test: its start is aligned as asked, its bytes are garbage that shows
// (NaN in every float dtype), and what is written beyond its ends is found.
// Owns: GuardedMemory. Under AddressSanitizer the ends are those of the heap block, so that reads
// beyond them are found too. Must not know: tensors.
#pragma once

#include <cstddef>
#include <string>

namespace ingot::emulation {

class GuardedMemory {
 public:
  // data() is `phase` bytes (below 256) past a multiple of 256.
  explicit GuardedMemory(std::size_t bytes, std::size_t phase = 0);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory(GuardedMemory&& o) noexcept;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // Empty, or which byte outside was written.
  std::string damage() const;

 private:
  char* block_ = nullptr;
  char* data_ = nullptr;
  std::size_t bytes_ = 0, before_ = 0, after_ = 0;
};

// What was written beyond scratch memory since the last call; empty when nothing was.
std::string scratch_damage();

}  // namespace ingot::emulation
