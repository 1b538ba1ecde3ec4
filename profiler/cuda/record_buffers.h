// The memory that CUPTI writes its records into, and gives back full.
// Owns: the buffers, the cap on their bytes. What comes back over the cap is counted by the caller
// and its memory used again, so CUPTI never goes without. What CUPTI never gave back is freed with
// the rest, once it has ended. Must not know: CUPTI, records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace ingot::profiler {

class RecordBuffers {
 public:
  struct Filled {
    std::uint8_t* data = nullptr;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kBytes = std::size_t{1} << 20;

  explicit RecordBuffers(std::size_t max_bytes);
  ~RecordBuffers();
  RecordBuffers(const RecordBuffers&) = delete;
  RecordBuffers& operator=(const RecordBuffers&) = delete;

  // kBytes of zeros, aligned to a page; nullptr without memory. A thread of the program waits for
  // this: some are always ready.
  std::uint8_t* lend();
  // False: over the cap; recycle() it once it is counted.
  bool keep(Filled buffer);
  void recycle(std::uint8_t* data);
  std::vector<Filled> take();  // all that was kept
  void free(const std::vector<Filled>& taken);
  // CUPTI did not end: what it has stays its own.
  void give_away();

 private:
  static std::uint8_t* make();
  static void unmake(std::uint8_t* data);

  std::mutex mutex_;
  std::size_t max_bytes_, kept_bytes_ = 0;
  std::vector<std::uint8_t*> ready_;
  std::vector<std::uint8_t*> lent_;  // neither given back nor kept
  std::vector<Filled> kept_;
};

}  // namespace ingot::profiler
