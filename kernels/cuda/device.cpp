#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/check.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/kernel_launch.h>
#include <ingot/kernels/cuda/stream.h>

namespace ingot::cuda {

namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// What the first question to the CUDA runtime found.
struct Presence {
  int count = 0;
  std::string reason;

  Presence() {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status == cudaSuccess && devices > 0) {
      count = std::min(devices, kMaxDevices);
      return;
    }
    (void)cudaGetLastError();
    if (status == cudaSuccess || status == cudaErrorNoDevice) {
      reason = "no CUDA device is visible (a driver is there; CUDA_VISIBLE_DEVICES may hide it)";
    } else if (status == cudaErrorInsufficientDriver || status == cudaErrorStubLibrary) {
      int driver = 0, runtime = 0;
      (void)cudaDriverGetVersion(&driver);
      (void)cudaRuntimeGetVersion(&runtime);
      reason = driver == 0
                   ? "there is no NVIDIA driver (libcuda.so.1); install the driver of the GPU"
                   : fmt::format(
                         "the NVIDIA driver is for CUDA {}, this build needs {}; "
                         "update the driver",
                         version_text(driver), version_text(runtime));
    } else {
      reason = fmt::format("the CUDA runtime does not start: {}", cudaGetErrorString(status));
    }
  }
};

const Presence& presence() {
  static const Presence found;
  return found;
}

void require() { INGOT_CHECK_AS(DeviceError, presence().count > 0, "cuda: {}", presence().reason); }

void check_index(int device) {
  require();
  INGOT_CHECK_AS(DeviceError, device >= 0 && device < presence().count,
                 "cuda:{}: there are {} CUDA devices", device, presence().count);
}

thread_local int t_device = -1;  // -1: the CUDA runtime was not told yet
thread_local std::array<StreamHandle, kMaxDevices> t_streams{};
thread_local StreamHandle t_capture = nullptr;  // takes what is recorded
std::array<std::atomic<StreamHandle>, kMaxDevices> g_shared{};
std::array<std::atomic<bool>, kMaxDevices> g_in_use{};

StreamHandle shared_stream_of(int device) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  StreamHandle stream = g_shared[static_cast<std::size_t>(device)].load();
  if (stream == nullptr) {
    INGOT_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    g_shared[static_cast<std::size_t>(device)].store(stream, std::memory_order_release);
  }
  return stream;
}

}  // namespace

void throw_status(int code, const char* call) {
  const auto status = static_cast<cudaError_t>(code);
  (void)cudaGetLastError();  // not sticky: the next call starts afresh
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction) {
    const DeviceProperties& p = properties(current_device());
    detail::fail<DeviceError>(
        "this build has no kernels for {} (compute capability {}.{}); build with "
        "-DCMAKE_CUDA_ARCHITECTURES={}{}",
        p.name, p.major, p.minor, p.major, p.minor);
  }
  detail::fail<DeviceError>("CUDA: {} ({}) in {}", cudaGetErrorString(status),
                            cudaGetErrorName(status), call);
}

bool is_available() { return presence().count > 0; }
std::string unavailable_reason() { return presence().reason; }
int device_count() { return presence().count; }

const DeviceProperties& properties(int device) {
  check_index(device);
  static std::mutex mutex;
  static std::array<std::unique_ptr<DeviceProperties>, kMaxDevices> known;
  std::lock_guard lock(mutex);
  auto& slot = known[static_cast<std::size_t>(device)];
  if (slot == nullptr) {
    auto fresh = std::make_unique<DeviceProperties>();
    cudaDeviceProp p;
    INGOT_CUDA_CHECK(cudaGetDeviceProperties(&p, device));
    fresh->name = p.name;
    fresh->major = p.major;
    fresh->minor = p.minor;
    fresh->multiprocessors = p.multiProcessorCount;
    fresh->memory = static_cast<i64>(p.totalGlobalMem);
    fresh->l2 = p.l2CacheSize;
    INGOT_CUDA_CHECK(cudaDeviceGetAttribute(&fresh->clock_khz, cudaDevAttrClockRate, device));
    fresh->threads_per_multiprocessor = p.maxThreadsPerMultiProcessor;
    fresh->registers_per_multiprocessor = p.regsPerMultiprocessor;
    fresh->shared_per_multiprocessor = static_cast<i64>(p.sharedMemPerMultiprocessor);
    INGOT_CUDA_CHECK(cudaDriverGetVersion(&fresh->driver));
    INGOT_CUDA_CHECK(cudaRuntimeGetVersion(&fresh->runtime));
    slot = std::move(fresh);
  }
  return *slot;
}

bool in_use(int device) {
  return device < kMaxDevices &&
         g_in_use[static_cast<std::size_t>(device)].load(std::memory_order_relaxed);
}

int current_device() { return t_device < 0 ? 0 : t_device; }

void set_current_device(int device) {
  if (device == t_device) [[likely]]
    return;
  check_index(device);
  INGOT_CUDA_CHECK(cudaSetDevice(device));
  t_device = device;
  g_in_use[static_cast<std::size_t>(device)].store(true, std::memory_order_relaxed);
}

StreamHandle current_stream() {
  if (t_capture != nullptr) [[unlikely]]
    return t_capture;
  const auto device = static_cast<std::size_t>(current_device());
  if (t_streams[device] != nullptr) return t_streams[device];
  return shared_stream();
}

StreamHandle shared_stream() {
  const auto device = static_cast<std::size_t>(current_device());
  if (StreamHandle s = g_shared[device].load(std::memory_order_acquire)) [[likely]]
    return s;
  require();
  set_current_device(current_device());
  return shared_stream_of(current_device());
}

void set_current_stream(StreamHandle stream) {
  t_streams[static_cast<std::size_t>(current_device())] = stream;
}

StreamHandle thread_stream() { return thread_stream(current_device()); }
StreamHandle thread_stream(int device) { return t_streams[static_cast<std::size_t>(device)]; }

CaptureStream::CaptureStream(StreamHandle stream) : outer_(t_capture) { t_capture = stream; }
CaptureStream::~CaptureStream() { t_capture = outer_; }

void synchronize_stream() { INGOT_CUDA_CHECK(cudaStreamSynchronize(current_stream())); }

namespace {
// Recordings go side by side; waiting for a device excludes them.
std::shared_mutex g_recording;
}  // namespace

RecordingLock::RecordingLock() { g_recording.lock_shared(); }
RecordingLock::~RecordingLock() { g_recording.unlock_shared(); }

void synchronize_device(int device) {
  const std::lock_guard lock(g_recording);
  const DeviceGuard guard(device);
  INGOT_CUDA_CHECK(cudaDeviceSynchronize());
}

void* allocate_raw(std::size_t bytes) {
  require();
  void* block = nullptr;
  const cudaError_t status = cudaMalloc(&block, bytes);
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    return nullptr;
  }
  if (status != cudaSuccess) throw_status(status, "cudaMalloc");
  return block;
}

void free_raw(void* block) noexcept {
  (void)cudaFree(block);
  (void)cudaGetLastError();
}

MemoryInfo memory_info() {
  require();
  std::size_t free = 0, total = 0;
  INGOT_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return {static_cast<i64>(free), static_cast<i64>(total)};
}

void* allocate_pinned(std::size_t bytes) {
  require();
  void* block = nullptr;
  const cudaError_t status = cudaMallocHost(&block, bytes);
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    return nullptr;
  }
  if (status != cudaSuccess) throw_status(status, "cudaMallocHost");
  return block;
}

void free_pinned(void* block) noexcept {
  (void)cudaFreeHost(block);
  (void)cudaGetLastError();
}

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0 || leave_out()) return;
  INGOT_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, current_stream()));
  count_launch();
}

void fill_zero(void* to, std::size_t bytes) {
  if (bytes == 0 || leave_out()) return;
  INGOT_CUDA_CHECK(cudaMemsetAsync(to, 0, bytes, current_stream()));
  count_launch();
}

}  // namespace ingot::cuda
