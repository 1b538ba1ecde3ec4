// The one place from which kernels are launched. Owns: KernelLaunch, a launch as data, and
// LibraryCall, one that a library makes; LaunchTape, through which a recorded graph sees a thread's
// launches or takes them over. Must not know: what is launched, graphs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

struct CUkern_st;

namespace ingot::cuda {

// One kernel on the current device and stream. It begins with wait_for_previous(), so it may be
// started while the one ahead of it still runs.
struct KernelLaunch {
  const void* symbol = nullptr;  // a kernel compiled into this library,
  CUkern_st* kernel = nullptr;   // or one made at run time
  std::int64_t blocks = 0;       // along x: at most 2^31 - 1
  unsigned threads = 0;
  unsigned shared = 0;  // bytes of dynamic shared memory
  void* const* parameters = nullptr;
  const std::uint32_t* sizes = nullptr;  // of the parameters, bytes
  int n = 0;
};

// Throws DeviceError.
void launch_kernel(const KernelLaunch& launch);

// A call of a library that launches kernels of its own on the current stream.
struct LibraryCall {
  static constexpr int kAddresses = 5;
  std::span<const std::byte> kind;  // calls of equal bytes differ in their addresses only,
  // as long as each address has the alignment that it had (up to 16 bytes).
  std::array<const void*, kAddresses> addresses{};
};

// While a Use lives, this thread's work for the GPU passes by the tape.
class LaunchTape {
 public:
  virtual ~LaunchTape() = default;
  // Instead of the launch; false: launch it.
  virtual bool takes(const KernelLaunch& launch) = 0;
  // After a launch was made.
  virtual void launched(const KernelLaunch& launch) = 0;
  // The same of a library's call. When it throws, launched() is not called.
  virtual bool takes(const LibraryCall& call) = 0;
  virtual void launched(const LibraryCall& call) = 0;
  // Before any other work (a copy); true: leave it out.
  virtual bool takes_other() = 0;

  static LaunchTape* current();

  class Use {
   public:
    explicit Use(LaunchTape& tape);
    ~Use();
    Use(const Use&) = delete;

   private:
    LaunchTape* outer_;
  };
};

// What this thread has given to GPUs so far, launches of graphs aside: kernels, a library's calls,
// copies. Those that a tape took are none.
std::int64_t launches_made();
void count_launch();

// Makes the call, unless the tape takes it.
template <class F>
void launch_library(const LibraryCall& call, const F& make) {
  LaunchTape* const tape = LaunchTape::current();
  if (tape != nullptr && tape->takes(call)) return;
  make();
  count_launch();
  if (tape != nullptr) tape->launched(call);
}

// Whether other work (a copy) is to be left out: the tape only wants to know of it.
bool leave_out();

}  // namespace ingot::cuda
