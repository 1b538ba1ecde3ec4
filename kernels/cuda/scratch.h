// Device memory for the length of a kernel: partial results of reductions, copies of operands.
// Owns: DeviceScratch. It is stream-ordered: freeing at the end of a scope is right while the work
// still runs, since whoever gets the memory next runs behind it. Must not know: who provides it.
#pragma once

#include <cstddef>
#include <vector>

#include <ingot/kernels/ops/isa.h>

namespace ingot {

// The provider of all scratch memory: the device's caching allocator, once the runtime is there.
struct ScratchProvider {
  void* (*take)(std::size_t bytes);  // never nullptr: throws OutOfMemoryError
  void (*give)(void* block, std::size_t bytes, int device) noexcept;
};
void set_scratch_provider(ScratchProvider provider);

// Keeps the device memory that this thread frees while a Use lives: a recorded graph's kernels use
// it whenever the graph is launched, so nobody else may get it. Scratch memory of the same size
// that is asked for later, or under a later Use, is the same again: the kernels run one after the
// other. The same requests in the same order get the same addresses.
class ScratchHold {
 public:
  ScratchHold() = default;
  ~ScratchHold();
  ScratchHold(const ScratchHold&) = delete;

  class Use {
   public:
    explicit Use(ScratchHold& hold);
    ~Use();
    Use(const Use&) = delete;

   private:
    ScratchHold* outer_;
  };

  // True when this thread records: the block is then the hold's.
  static bool keep(void* block, std::size_t bytes, int device);
  // A block that is kept and not in use, of just this size; nullptr: there is none.
  static void* take(std::size_t bytes, int device);
  // A block that was made for this thread's recording, if it records: it will be kept.
  static void note(void* block, std::size_t bytes, int device);

 private:
  struct Block {
    void* data;
    std::size_t bytes;
    int device;
    bool free;
  };
  std::vector<Block> blocks_;  // in the order in which they were first asked for
};

inline namespace INGOT_ISA {

class DeviceScratch {
 public:
  explicit DeviceScratch(std::size_t bytes);
  ~DeviceScratch();
  DeviceScratch(const DeviceScratch&) = delete;
  template <class T = void>
  T* data() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  std::size_t bytes_;
  int device_ = 0;
};

}  // namespace INGOT_ISA
}  // namespace ingot
