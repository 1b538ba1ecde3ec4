// Copies of tensors' storages for a kernel that must not touch the originals.
// Owns: Images: one copy for each storage, so that operands which share memory still do, at the
// same offsets and alignments. Must not know: ops, what the bytes mean.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ingot/runtime/tensor.h>

#include "cuda_on_host/guarded.h"

namespace ingot::emulation {

// The bytes of a storage at some time.
using Snapshot = std::vector<char>;
Snapshot snapshot(const Storage& storage);

class Images {
 public:
  // The view of `t` in a copy of its storage, whose bytes are `before`, those of now, or garbage.
  BufferView view(const Tensor& t, const Snapshot* before);
  BufferView fresh(const Tensor& t);
  // The same in a copy that nobody shares.
  BufferView own(const Tensor& t, const Snapshot* before);

  // The copy of a storage; nullptr when there is none.
  const char* bytes_of(const Storage& storage) const;
  // Writes outside of the copies, or into ones of storages other than `written`; empty for none.
  std::string damage(const std::vector<const Storage*>& written) const;

 private:
  struct Image {
    GuardedMemory memory;
    Snapshot before;
  };
  Image& add(const Storage& storage, const Snapshot* before, bool garbage);
  std::map<const Storage*, std::size_t> shared_;
  std::vector<Image> images_;
};

}  // namespace ingot::emulation
