#include <exception>
#include <memory>
#include <new>

#include <ingot/kernels/core/check.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/free_list.h>
#include <ingot/runtime/storage.h>

namespace ingot {

constinit thread_local Numbers t_stamps;

Ref<Storage> Storage::create(std::size_t bytes, Device device) {
  void* data = allocate(bytes, device);
  return Ref<Storage>::adopt(new (take_object<Storage>()) Storage(data, bytes, device));
}

Ref<Storage> Storage::create_pinned(std::size_t bytes) {
  void* data = allocate_pinned(bytes);
  auto* s = new (take_object<Storage>()) Storage(data, bytes, kCPU);
  s->pinned = true;
  return Ref<Storage>::adopt(s);
}

Ref<Storage> Storage::borrow(void* data, std::size_t bytes, Device device) {
  auto* s = new (take_object<Storage>()) Storage(data, bytes, device);
  s->borrowed = true;
  return Ref<Storage>::adopt(s);
}

void Storage::materialize() {
  INGOT_BUG(data == nullptr && !borrowed, "materialize: the storage has bytes already");
  data = allocate(bytes, device);
}

void Storage::drop_bytes() noexcept {
  if (!borrowed) free_bytes();
  data = nullptr;
}

void Storage::free_bytes() noexcept {
  if (pinned) [[unlikely]] {
    deallocate_pinned(data, bytes);
  } else {
    deallocate(data, bytes, device);
  }
}

void Storage::end() noexcept {
  if (state.load(std::memory_order_relaxed) == ByteState::poisoned) {
    delete static_cast<std::shared_ptr<const std::exception_ptr>*>(poison);
  }
  if (!borrowed) free_bytes();
}

void Numbers::take_block() {
  constexpr std::uint64_t kBlock = 1024;
  static std::atomic<std::uint64_t> next_block{1};
  next_ = next_block.fetch_add(1, std::memory_order_relaxed) * kBlock;
  end_ = next_ + kBlock;
}

}  // namespace ingot
