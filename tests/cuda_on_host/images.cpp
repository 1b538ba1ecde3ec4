#include "cuda_on_host/images.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace ingot::emulation {

namespace {

BufferView view_in(const GuardedMemory& memory, const Tensor& t) {
  const i64 offset = t.get().offset * item_size(t.dtype());
  return {static_cast<char*>(memory.data()) + offset, &t.meta()};
}

}  // namespace

Snapshot snapshot(const Storage& storage) {
  const char* bytes = static_cast<const char*>(storage.data);
  return bytes == nullptr ? Snapshot() : Snapshot(bytes, bytes + storage.bytes);
}

Images::Image& Images::add(const Storage& storage, const Snapshot* before, bool garbage) {
  Image image{GuardedMemory(storage.bytes, reinterpret_cast<std::uintptr_t>(storage.data) % 256),
              {}};
  if (!garbage) {
    image.before = before != nullptr ? *before : snapshot(storage);
    if (!image.before.empty()) {
      std::memcpy(image.memory.data(), image.before.data(), image.before.size());
    }
  }
  images_.push_back(std::move(image));
  return images_.back();
}

BufferView Images::view(const Tensor& t, const Snapshot* before) {
  const Storage& storage = *t.get().storage;
  const auto [it, first] = shared_.try_emplace(&storage, images_.size());
  if (first) add(storage, before, false);
  return view_in(images_[it->second].memory, t);
}

BufferView Images::fresh(const Tensor& t) {
  const Storage& storage = *t.get().storage;
  const auto [it, first] = shared_.try_emplace(&storage, images_.size());
  if (first) add(storage, nullptr, true);
  return view_in(images_[it->second].memory, t);
}

BufferView Images::own(const Tensor& t, const Snapshot* before) {
  return view_in(add(*t.get().storage, before, false).memory, t);
}

const char* Images::bytes_of(const Storage& storage) const {
  const auto it = shared_.find(&storage);
  return it == shared_.end() ? nullptr
                             : static_cast<const char*>(images_[it->second].memory.data());
}

std::string Images::damage(const std::vector<const Storage*>& written) const {
  std::vector<bool> may_change(images_.size());
  for (const auto& [storage, place] : shared_) {
    may_change[place] = std::find(written.begin(), written.end(), storage) != written.end();
  }
  for (std::size_t i = 0; i < images_.size(); ++i) {
    const Image& image = images_[i];
    if (std::string outside = image.memory.damage(); !outside.empty()) return outside;
    if (may_change[i] || image.before.empty()) continue;
    if (std::memcmp(image.memory.data(), image.before.data(), image.before.size()) != 0) {
      return fmt::format("an operand of {} bytes was written", image.before.size());
    }
  }
  return "";
}

}  // namespace ingot::emulation
