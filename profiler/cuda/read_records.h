// From CUPTI's records to plain ones.
// Owns: which of CUPTI's fields mean what, the names of calls and copies. Must not know: sessions,
// timelines. For units of this folder: includes CUPTI's header.
#pragma once

#include <string_view>
#include <unordered_map>

#include <ingot/profiler/cuda/cupti.h>
#include <ingot/profiler/gpu_records.h>

namespace ingot::profiler {

class RecordReader {
 public:
  explicit RecordReader(GpuRecords& out) : out_(out) {}
  // All records of one buffer that CUPTI gave back.
  void read(std::uint8_t* buffer, std::size_t bytes);

  void add(const CUpti_Activity& record);

 private:
  void add_kernel(const CUpti_ActivityKernel9& k);
  void add_copy(const CUpti_ActivityMemcpy5& c);
  void add_set(const CUpti_ActivityMemset4& s);
  void add_call(const CUpti_ActivityAPI& a, bool driver);
  std::string_view kernel_name(const char* mangled);
  std::string_view call_name(CUpti_CallbackId id, bool driver);  // empty: of no interest

  GpuRecords& out_;
  std::unordered_map<const char*, std::string_view> kernels_;
  std::unordered_map<std::uint64_t, std::string_view> calls_;
  std::unordered_map<int, std::string_view> names_;  // of copies and sets
};

// Adds what a buffer that is not kept holds to the counts of dropped records.
void count_dropped(std::uint8_t* buffer, std::size_t bytes, GpuRecords& counts);

}  // namespace ingot::profiler
