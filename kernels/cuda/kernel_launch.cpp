#include <cuda.h>
#include <cuda_runtime_api.h>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/check.h>
#include <ingot/kernels/cuda/driver.h>
#include <ingot/kernels/cuda/kernel_launch.h>

namespace ingot::cuda {

namespace {

thread_local LaunchTape* t_tape = nullptr;
constinit thread_local std::int64_t t_launches = 0;

// From compute capability 9.0 a kernel may be started before the one ahead of it has ended, where
// its code has the instruction that waits: made at run time it has, in this library when the build
// was for 9.0 or newer.
bool starts_early(const void* symbol) {
  constexpr int kUnknown = -1;
  static thread_local int device = kUnknown, library = kUnknown;  // library: 0 no, 1 yes
  static thread_local bool hardware = false;
  if (current_device() != device) {
    device = current_device();
    hardware = properties(device).major >= 9;
    library = kUnknown;
  }
  if (!hardware || symbol == nullptr) return hardware;
  if (library == kUnknown) {
    cudaFuncAttributes attributes{};
    INGOT_CUDA_CHECK(cudaFuncGetAttributes(&attributes, symbol));
    library = attributes.ptxVersion >= 90 ? 1 : 0;
  }
  return library == 1;
}

void launch_symbol(const KernelLaunch& k) {
  cudaLaunchConfig_t config{};
  config.gridDim = {static_cast<unsigned>(k.blocks), 1, 1};
  config.blockDim = {k.threads, 1, 1};
  config.dynamicSmemBytes = k.shared;
  config.stream = current_stream();
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early;
  config.numAttrs = starts_early(k.symbol) ? 1 : 0;
  INGOT_CUDA_CHECK(cudaLaunchKernelExC(&config, k.symbol, const_cast<void**>(k.parameters)));
}

void launch_made(const KernelLaunch& k) {
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(k.blocks);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = k.threads;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = k.shared;
  config.hStream = current_stream();
  CUlaunchAttribute early{};
  early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  early.value.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early;
  config.numAttrs = starts_early(k.symbol) ? 1 : 0;
  const CUresult status = driver().launch(&config, reinterpret_cast<CUfunction>(k.kernel),
                                          const_cast<void**>(k.parameters), nullptr);
  INGOT_CHECK_AS(DeviceError, status == CUDA_SUCCESS, "CUDA: {} in the launch of a compiled kernel",
                 error_text(status));
}

}  // namespace

void launch_kernel(const KernelLaunch& k) {
  if (k.blocks == 0) return;
  if (t_tape != nullptr && t_tape->takes(k)) return;
  if (k.symbol != nullptr) {
    launch_symbol(k);
  } else {
    launch_made(k);
  }
  count_launch();
  if (t_tape != nullptr) t_tape->launched(k);
}

std::int64_t launches_made() { return t_launches; }
void count_launch() { ++t_launches; }

LaunchTape* LaunchTape::current() { return t_tape; }

LaunchTape::Use::Use(LaunchTape& tape) : outer_(t_tape) { t_tape = &tape; }
LaunchTape::Use::~Use() { t_tape = outer_; }

bool leave_out() { return t_tape != nullptr && t_tape->takes_other(); }

}  // namespace ingot::cuda
