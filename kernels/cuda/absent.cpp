// The CUDA part of a build without CUDA: every question is answered, every use is one sentence.
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/graph.h>
#include <ingot/kernels/cuda/kernel_launch.h>
#include <ingot/kernels/cuda/kernels.h>
#include <ingot/kernels/cuda/module.h>
#include <ingot/kernels/cuda/scratch.h>
#include <ingot/kernels/cuda/stream.h>

namespace ingot {

namespace {
constexpr const char* kReason =
    "this build has no CUDA support; build where a CUDA toolkit 12.4 or newer is, with "
    "-DINGOT_CUDA=ON";
[[noreturn]] void absent() { detail::fail<DeviceError>("cuda: {}", kReason); }
}  // namespace

void set_scratch_provider(ScratchProvider) {}
ScratchHold::~ScratchHold() = default;
bool ScratchHold::keep(void*, std::size_t, int) { return false; }

Kernel isa_cuda::cuda_kernel(const OpInfo&) { absent(); }
bool isa_cuda::cuda_product_with(const KernelArgs&, const ProductEpilogue&) { absent(); }

namespace cuda {

bool is_available() { return false; }
std::string unavailable_reason() { return kReason; }
int device_count() { return 0; }
const DeviceProperties& properties(int) { absent(); }
bool in_use(int) { return false; }
int current_device() { return 0; }
void set_current_device(int) { absent(); }
StreamHandle current_stream() { absent(); }
void set_current_stream(StreamHandle) { absent(); }
StreamHandle thread_stream() { absent(); }
StreamHandle shared_stream() { absent(); }
StreamHandle thread_stream(int) { absent(); }
StreamHandle take_stream() { absent(); }
bool streams_in_use() { return false; }
bool stream_done(StreamHandle) { absent(); }
void synchronize_stream(StreamHandle) { absent(); }
EventHandle make_event(bool) { absent(); }
void free_event(EventHandle) noexcept {}
void record_event(EventHandle, StreamHandle) { absent(); }
void wait_event(StreamHandle, EventHandle) { absent(); }
bool event_done(EventHandle) { absent(); }
void wait_for_event(EventHandle) { absent(); }
double elapsed_ms(EventHandle, EventHandle) noexcept { return -1; }
bool is_pinned(const void*) { return false; }
RecordingLock::RecordingLock() = default;
RecordingLock::~RecordingLock() = default;
void synchronize_stream() { absent(); }
void synchronize_device(int) { absent(); }
void* allocate_raw(std::size_t) { absent(); }
void free_raw(void*) noexcept {}
MemoryInfo memory_info() { absent(); }
void* allocate_pinned(std::size_t) { absent(); }
void free_pinned(void*) noexcept {}
void copy(void*, const void*, std::size_t) { absent(); }
void fill_zero(void*, std::size_t) { absent(); }
void throw_status(int, const char*) { absent(); }
void launch_kernel(const KernelLaunch&) { absent(); }
std::int64_t launches_made() { return 0; }
DeviceModule::~DeviceModule() = default;
std::unique_ptr<Graph> Graph::record(const std::function<void()>&) { absent(); }
Graph::~Graph() = default;
bool Graph::update(const std::function<void()>&) { absent(); }
void Graph::launch() const { absent(); }
int Graph::nodes_recorded() { absent(); }

}  // namespace cuda
}  // namespace ingot
