#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include <ingot/profiler/clock.h>
#include <ingot/profiler/pages.h>
#include <ingot/profiler/thread_log.h>

namespace ingot::profiler {
namespace {

// A thread that records little costs little; later chunks are one huge page each. The longest
// record, 255 shapes and two texts, has 22 KB.
constexpr std::size_t kFirstChunk = 64 << 10, kChunk = 2 << 20;

}  // namespace

Chunk* Chunk::make(std::size_t bytes) noexcept {
  void* memory = map_pages(bytes, bytes);
  return memory == nullptr ? nullptr : new (memory) Chunk(bytes - sizeof(Chunk));
}

void Chunk::free_chain(Chunk* first) noexcept {
  while (first != nullptr) {
    Chunk* next = first->next.load(std::memory_order_relaxed);
    const std::size_t bytes = first->capacity + sizeof(Chunk);
    first->~Chunk();
    unmap_pages(first, bytes);
    first = next;
  }
}

bool Budget::take(std::size_t bytes) {
  std::size_t before = taken.load(std::memory_order_relaxed);
  do {
    if (before + bytes > limit.load(std::memory_order_relaxed)) return false;
  } while (!taken.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  return true;
}

ThreadLog::ThreadLog(int number_, int tid_, const char* name_) : number(number_), tid(tid_) {
  std::strncpy(name, name_, sizeof name - 1);
  name[sizeof name - 1] = '\0';
  first_ = current_ = Chunk::make(kFirstChunk);
  if (first_ == nullptr) throw std::bad_alloc();
}

ThreadLog::~ThreadLog() { Chunk::free_chain(first_); }

void ThreadLog::restart(std::uint64_t window) {
  scopes = skipped = events = 0;
  full = false;
  end_room = 0;
  linked = 0;
  ended_elsewhere_.store(0, std::memory_order_relaxed);
  std::fill(std::begin(graphs_), std::end(graphs_), 0);
  current_ = first_;
  first_->used.store(0, std::memory_order_relaxed);
  dropped_.store(0, std::memory_order_relaxed);
  n_chunks_.store(1, std::memory_order_relaxed);
  window_.store(window, std::memory_order_release);
}

void ThreadLog::prepare() {
  if (first_->next.load(std::memory_order_relaxed) != nullptr) return;
  first_->next.store(Chunk::make(kChunk), std::memory_order_release);
}

std::byte* ThreadLog::next_chunk(std::size_t bytes, Budget& budget) {
  const std::size_t elsewhere =
      ended_elsewhere_.exchange(0, std::memory_order_relaxed) * sizeof(RangeEndRecord);
  end_room -= std::min(end_room, elsewhere);
  if (fits(bytes)) return current_->data() + current_->used.load(std::memory_order_relaxed);
  // So many ranges are open that their ends alone fill a chunk.
  if (sizeof(OverheadRecord) + bytes + kSpare + end_room > kChunk - sizeof(Chunk)) return nullptr;
  if (!budget.take(kChunk)) return nullptr;
  Chunk* next = current_->next.load(std::memory_order_relaxed);
  std::uint64_t began = 0;
  if (next == nullptr) {
    began = ticks();
    next = Chunk::make(kChunk);
    if (next == nullptr) return nullptr;
    current_->next.store(next, std::memory_order_release);
  }
  next->used.store(0, std::memory_order_relaxed);
  current_ = next;
  n_chunks_.store(n_chunks_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (began != 0) {
    RecordHead head{RecordType::overhead, 0, 0, 0, sizeof(OverheadRecord), began};
    new (next->data()) OverheadRecord{head, ticks()};
    publish(sizeof(OverheadRecord));
  }
  return next->data() + next->used.load(std::memory_order_relaxed);
}

void ThreadLog::free_chunks() {
  window_.store(0, std::memory_order_release);
  current_ = first_;
  Chunk::free_chain(first_->next.exchange(nullptr, std::memory_order_relaxed));
}

bool ThreadLog::copy(std::uint64_t window, Bytes* bytes, std::uint64_t* dropped) const {
  if (window_.load(std::memory_order_acquire) != window) return false;
  *dropped = dropped_.load(std::memory_order_relaxed);
  std::uint32_t n = n_chunks_.load(std::memory_order_acquire);
  std::size_t total = 0;
  Chunk* chunk = first_;
  for (std::uint32_t i = 0; i < n; ++i) {
    total += chunk->used.load(std::memory_order_relaxed);
    chunk = chunk->next.load(std::memory_order_acquire);
  }
  bytes->reserve(total);
  chunk = first_;
  for (std::uint32_t i = 0; i < n; ++i) {
    std::size_t used = chunk->used.load(std::memory_order_acquire);
    bytes->insert(bytes->end(), chunk->data(), chunk->data() + used);
    chunk = chunk->next.load(std::memory_order_acquire);
  }
  return true;
}

}  // namespace ingot::profiler
