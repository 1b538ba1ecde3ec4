#include <algorithm>
#include <array>
#include <mutex>

#include <ingot/kernels/cuda/capture.h>
#include <ingot/kernels/cuda/check.h>

namespace ingot::cuda {

namespace {

// As many streams are made as record at a time.
struct Idle {
  std::mutex mutex;
  std::array<std::vector<StreamHandle>, kMaxDevices> streams;
};

// Never destroyed, as the streams: CUDA may be gone when statics are.
Idle& idle() {
  static auto* made = new Idle;
  return *made;
}

// The nodes that a node waits for; at most two are told.
std::size_t ahead_of(cudaGraphNode_t node, std::array<cudaGraphNode_t, 2>& ahead) {
  std::size_t n = ahead.size();
  // What lies on an edge (a kernel may start early) is asked for, or the call fails.
  std::array<cudaGraphEdgeData, 2> edges;
#if CUDART_VERSION >= 13000
  INGOT_CUDA_CHECK(cudaGraphNodeGetDependencies(node, ahead.data(), edges.data(), &n));
#else
  INGOT_CUDA_CHECK(cudaGraphNodeGetDependencies_v2(node, ahead.data(), edges.data(), &n));
#endif
  return n;
}

}  // namespace

Recorded recorded() {
  Recorded r;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t n = 0;
#if CUDART_VERSION >= 13000
  INGOT_CUDA_CHECK(
      cudaStreamGetCaptureInfo(current_stream(), &status, &id, &r.graph, &nodes, &edges, &n));
#else
  INGOT_CUDA_CHECK(
      cudaStreamGetCaptureInfo_v3(current_stream(), &status, &id, &r.graph, &nodes, &edges, &n));
#endif
  if (n == 1) r.last = nodes[0];
  return r;
}

std::optional<std::vector<cudaGraphNode_t>> chain(cudaGraphNode_t before, cudaGraphNode_t last) {
  std::vector<cudaGraphNode_t> nodes;
  for (cudaGraphNode_t at = last; at != before;) {
    if (at == nullptr) return std::nullopt;
    nodes.push_back(at);
    std::array<cudaGraphNode_t, 2> ahead{};
    const std::size_t n = ahead_of(at, ahead);
    if (n > 1) return std::nullopt;
    at = n == 0 ? nullptr : ahead[0];
  }
  if (nodes.empty()) return std::nullopt;
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

Capture::Stream::Stream() : device_(current_device()) {
  {
    const std::lock_guard lock(idle().mutex);
    auto& streams = idle().streams[static_cast<std::size_t>(device_)];
    if (!streams.empty()) {
      handle = streams.back();
      streams.pop_back();
      return;
    }
  }
  INGOT_CUDA_CHECK(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking));
}

Capture::Stream::~Stream() {
  const std::lock_guard lock(idle().mutex);
  idle().streams[static_cast<std::size_t>(device_)].push_back(handle);
}

Capture::Capture() : current_(stream_.handle) {
  // Relaxed: the allocator may need memory from the driver meanwhile.
  INGOT_CUDA_CHECK(cudaStreamBeginCapture(stream_.handle, cudaStreamCaptureModeRelaxed));
  open_ = true;
}

cudaGraph_t Capture::end() {
  open_ = false;
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream_.handle, &graph) == cudaSuccess) return graph;
  (void)cudaGetLastError();
  return nullptr;
}

Capture::~Capture() {
  if (!open_) return;
  if (cudaGraph_t graph = end(); graph != nullptr) (void)cudaGraphDestroy(graph);
  (void)cudaGetLastError();
}

}  // namespace ingot::cuda
