// The least that a profiler of CUDA programs costs: CUPTI with nothing around it.
// Owns: CuptiClient. Must not know: what is recorded; it counts records and drops them.
#pragma once

#include <atomic>
#include <cstdint>

namespace bench::gpu {

// While one lives, CUPTI records kernels, calls of the CUDA runtime and external correlation ids.
// One at a time, and none while a profiler session records. Throws std::runtime_error where CUPTI
// is missing or refuses.
class CuptiClient {
 public:
  CuptiClient();
  ~CuptiClient();  // waits for the GPU, takes all records, leaves nothing behind in the process
  CuptiClient(const CuptiClient&) = delete;

  // Around each op.
  void push(std::uint64_t id) const;
  void pop() const;

  // Of the whole process.
  static std::uint64_t records();
};

}  // namespace bench::gpu
