// Who watches the GPUs during a session: CUPTI, or CUDA events where CUPTI is missing or refused.
// Owns: the interface. Nothing of CUPTI is opened before the first observer is made, and nothing of
// it is left behind when that is destroyed. Must not know: sessions, tables. One at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <ingot/profiler/gpu_records.h>
#include <ingot/profiler/profiler.h>
#include <ingot/profiler/recorder.h>

namespace ingot::profiler {

class GpuObserver {
 public:
  virtual ~GpuObserver() = default;  // stops, waits for the GPUs
  virtual LaunchListener listener() const = 0;
  // Forgets what was recorded so far.
  virtual void restart() = 0;
  // Waits for the GPUs and returns what was recorded; nothing is observed any more.
  GpuRecords finish();

  // Why no GPU can be observed here, with the remedy; empty: one can.
  static std::string unavailable();
  // Throws DeviceError where unavailable() is not empty. Records of more than max_bytes are
  // dropped and counted.
  static std::unique_ptr<GpuObserver> start(std::size_t max_bytes);
  // Whether this process has used a GPU so far; asks nothing of CUDA.
  static bool in_use();

 protected:
  virtual GpuRecords collect() = 0;

 private:
  std::vector<GpuDevice> devices_;
};

// What the first GPU can do at best: bytes by copying on the device, measured once; operations from
// its clock and its units.
const Roofline& gpu_roofline();

}  // namespace ingot::profiler
