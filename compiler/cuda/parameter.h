// KernelParameter: the one parameter of a generated kernel, written piece by piece.
// Owns: its bytes. Must not know: what stands in it.
#pragma once

#include <cstddef>
#include <cstring>

#include <ingot/compiler/codegen/cuda.h>
#include <ingot/kernels/core/check.h>

namespace ingot::compiler {

// The order and the alignment are those of the struct in the generated text.
class KernelParameter {
 public:
  template <class T>
  void put(const T& value) {
    INGOT_BUG(size_ + sizeof value <= sizeof bytes_, "a kernel's parameter of {} bytes", size_);
    std::memcpy(bytes_ + size_, &value, sizeof value);
    size_ += sizeof value;
  }
  void align() { size_ = (size_ + 7) / 8 * 8; }
  void* data() { return bytes_; }
  std::size_t size() const { return size_; }

 private:
  // 4 KB is what every GPU takes.
  alignas(16) char bytes_[4096];
  std::size_t size_ = 0;
};

}  // namespace ingot::compiler
