#include <exception>
#include <memory>
#include <new>

#include <ingot/kernels/core/check.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/free_list.h>
#include <ingot/runtime/storage.h>

namespace ingot {

Ref<Storage> Storage::create(std::size_t bytes, Device device) {
  void* data = allocate(bytes, device);
  auto* s = new (take_object<Storage>()) Storage;
  s->data = data;
  s->bytes = bytes;
  s->device = device;
  return Ref<Storage>::adopt(s);
}

Ref<Storage> Storage::borrow(void* data, std::size_t bytes, Device device) {
  auto* s = new (take_object<Storage>()) Storage;
  s->data = data;
  s->bytes = bytes;
  s->device = device;
  s->borrowed = true;
  return Ref<Storage>::adopt(s);
}

Ref<Storage> Storage::pending(std::size_t bytes, Device device) {
  auto* s = new (take_object<Storage>()) Storage;
  s->bytes = bytes;
  s->device = device;
  s->state.store(ByteState::pending, std::memory_order_relaxed);
  return Ref<Storage>::adopt(s);
}

Ref<Storage> Storage::pending_for_two(std::size_t bytes, Device device, Ref<Storage>* second) {
  Ref<Storage> first = pending(bytes, device);
  first->refs_.start_with(2);
  *second = Ref<Storage>::adopt(first.get());
  return first;
}

void Storage::materialize() {
  INGOT_BUG(data == nullptr && !borrowed, "materialize: the storage has bytes already");
  data = allocate(bytes, device);
}

void Storage::destroy() noexcept {
  if (state.load(std::memory_order_relaxed) == ByteState::poisoned) {
    delete static_cast<std::shared_ptr<const std::exception_ptr>*>(poison);
  }
  if (!borrowed) deallocate(data, bytes, device);
  this->~Storage();
  give_object<Storage>(this);
}

std::uint64_t next_stamp() {
  constexpr std::uint64_t kBlock = 1024;
  static std::atomic<std::uint64_t> next_block{1};
  thread_local std::uint64_t next = 0, end = 0;
  if (next == end) {
    next = next_block.fetch_add(1, std::memory_order_relaxed) * kBlock;
    end = next + kBlock;
  }
  return next++;
}

Ref<TensorImpl> TensorImpl::create(Ref<Storage> storage, const Meta& meta, i64 offset) {
  auto* t = new (take_object<TensorImpl>()) TensorImpl;
  t->storage = std::move(storage);
  t->meta = meta;
  t->offset = offset;
  t->stamp = next_stamp();
  return Ref<TensorImpl>::adopt(t);
}

void TensorImpl::destroy() noexcept {
  if (autograd != nullptr) ingot::destroy(autograd);
  this->~TensorImpl();
  give_object<TensorImpl>(this);
}

}  // namespace ingot
