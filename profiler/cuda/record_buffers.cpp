#include <cstring>

#include <ingot/profiler/cuda/record_buffers.h>
#include <ingot/profiler/pages.h>

namespace ingot::profiler {
namespace {

constexpr std::size_t kPage = 4096, kReady = 4;

}  // namespace

RecordBuffers::RecordBuffers(std::size_t max_bytes) : max_bytes_(max_bytes) {
  for (std::size_t i = 0; i < kReady; ++i) {
    if (std::uint8_t* data = make(); data != nullptr) ready_.push_back(data);
  }
}

RecordBuffers::~RecordBuffers() {
  for (std::uint8_t* data : ready_) unmake(data);
  for (std::uint8_t* data : lent_) unmake(data);
  for (const Filled& f : kept_) unmake(f.data);
}

std::uint8_t* RecordBuffers::make() { return static_cast<std::uint8_t*>(map_pages(kBytes, kPage)); }

void RecordBuffers::unmake(std::uint8_t* data) { unmap_pages(data, kBytes); }

std::uint8_t* RecordBuffers::lend() {
  std::uint8_t* data = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!ready_.empty()) {
      data = ready_.back();
      ready_.pop_back();
      lent_.push_back(data);
      return data;
    }
  }
  data = make();
  if (data == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  lent_.push_back(data);
  return data;
}

bool RecordBuffers::keep(Filled buffer) {
  std::uint8_t* fresh = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (kept_bytes_ + buffer.bytes > max_bytes_) return false;
    kept_bytes_ += buffer.bytes;
    std::erase(lent_, buffer.data);
    kept_.push_back(buffer);
    if (ready_.size() >= kReady) return true;
  }
  // This is CUPTI's own thread: better here than in lend().
  fresh = make();
  if (fresh != nullptr) {
    const std::lock_guard lock(mutex_);
    ready_.push_back(fresh);
  }
  return true;
}

void RecordBuffers::recycle(std::uint8_t* data) {
  std::memset(data, 0, kBytes);
  const std::lock_guard lock(mutex_);
  std::erase(lent_, data);
  ready_.push_back(data);
}

std::vector<RecordBuffers::Filled> RecordBuffers::take() {
  const std::lock_guard lock(mutex_);
  kept_bytes_ = 0;
  return std::move(kept_);
}

void RecordBuffers::free(const std::vector<Filled>& taken) {
  for (const Filled& f : taken) unmake(f.data);
}

void RecordBuffers::give_away() {
  const std::lock_guard lock(mutex_);
  lent_.clear();
}

}  // namespace ingot::profiler
