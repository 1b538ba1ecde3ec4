#include <algorithm>

#include <ingot/compiler/frame_tables.h>

namespace ingot::compiler {

int FrameTables::slot_of(std::uint64_t stamp) {
  for (int i = 0; i < few(); ++i) {
    if (slots[static_cast<std::size_t>(i)].stamp == stamp) return i;
  }
  const int* place = slot_places_.look_up(stamp);
  if (place == nullptr || *place >= static_cast<int>(slots.size())) return -1;
  return slots[static_cast<std::size_t>(*place)].stamp == stamp ? *place : -1;
}

int FrameTables::buffer_of(std::uint64_t storage) {
  for (int i = 0; i < few(); ++i) {
    const Slot& slot = slots[static_cast<std::size_t>(i)];
    if (slot.storage == storage) return slot.buffer;
  }
  const int* place = storage_places_.look_up(storage);
  if (place == nullptr || *place >= static_cast<int>(slots.size())) return -1;
  const Slot& slot = slots[static_cast<std::size_t>(*place)];
  return slot.storage == storage ? slot.buffer : -1;
}

void FrameTables::add_slot(const Slot& slot) {
  const auto place = static_cast<int>(slots.size());
  slots.push_back(slot);
  if (place < kFew) return;
  mapped_ = true;
  // An entry that is there may be that of a slot that was forgotten.
  if (slot_places_.insert(slot.stamp, place) != place) *slot_places_.look_up(slot.stamp) = place;
  if (storage_places_.insert(slot.storage, place) == place) return;
  int& first = *storage_places_.look_up(slot.storage);
  if (first > place || slots[static_cast<std::size_t>(first)].storage != slot.storage)
    first = place;
}

int FrameTables::add_produced(Storage& storage) {
  storage.hold();
  buffers.push_back({&storage, true});
  return static_cast<int>(buffers.size()) - 1;
}

int FrameTables::add_outside() {
  buffers.push_back({nullptr, false});
  return static_cast<int>(buffers.size()) - 1;
}

void FrameTables::hold(int b, Storage& storage) {
  CallBuffer& x = buffer(b);
  if (x.held) return;
  if (x.produced) {
    storage.needed = true;  // no handle: who asks for the handles sees the function's
  } else {
    storage.retain();
    x.storage = &storage;
  }
  x.held = true;
  held_.push_back(b);
}

void FrameTables::wait_for_write(int b) {
  CallBuffer& x = buffer(b);
  if (x.write_waits || x.storage->state.load(std::memory_order_relaxed) != ByteState::real) return;
  x.write_waits = true;
  x.storage->state.store(ByteState::pending, std::memory_order_release);
  waiting_writes_.push_back(b);
}

void FrameTables::let_go(CallBuffer& b) {
  if (!b.held) return;
  b.held = false;
  if (b.produced) {
    b.storage->needed = false;
    if (!b.has_handles() && b.storage->data != nullptr) b.storage->drop_bytes();
  } else {
    b.storage->release();
    b.storage = nullptr;
  }
}

void FrameTables::cut_back(int n_slots, int n_buffers) {
  slots.resize(static_cast<std::size_t>(n_slots));
  while (static_cast<int>(buffers.size()) > n_buffers) {
    let_go(buffers.back());
    buffers.pop_back();  // held_ may go on naming it: whoever gets its number is held or is not
  }
}

void FrameTables::end_segment() {
  matched.clear();
  n_attrs = 0;
  for (int b : waiting_writes_) {
    buffer(b).write_waits = false;
    buffer(b).storage->state.store(ByteState::real, std::memory_order_release);
  }
  waiting_writes_.clear();
  for (int b : held_) {
    if (b < static_cast<int>(buffers.size())) let_go(buffer(b));
  }
  held_.clear();
}

void FrameTables::clear() {
  end_segment();
  if (mapped_) {
    slot_places_.clear();
    storage_places_.clear();
    mapped_ = false;
  }
  for (const CallBuffer& b : buffers) {
    if (b.produced) b.storage->let_go();
  }
  slots.clear();
  results.clear();
  buffers.clear();
}

}  // namespace ingot::compiler
