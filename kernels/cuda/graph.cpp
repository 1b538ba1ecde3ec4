#include <array>
#include <cuda_runtime_api.h>

#include <ingot/kernels/cuda/check.h>
#include <ingot/kernels/cuda/graph.h>

namespace ingot::cuda {

namespace {

// Recording needs a stream of its own: other threads go on using the shared one.
StreamHandle recording_stream() {
  static thread_local std::array<StreamHandle, 64> streams{};
  StreamHandle& stream = streams[static_cast<std::size_t>(current_device())];
  if (stream == nullptr) {
    INGOT_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  return stream;
}

class OnStream {
 public:
  explicit OnStream(StreamHandle stream) : outer_(thread_stream()) { set_current_stream(stream); }
  ~OnStream() { set_current_stream(outer_); }
  OnStream(const OnStream&) = delete;

 private:
  StreamHandle outer_;
};

}  // namespace

std::unique_ptr<Graph> Graph::record(const std::function<void()>& launches) {
  std::unique_ptr<Graph> made(new Graph);
  const StreamHandle stream = recording_stream();
  cudaGraph_t graph = nullptr;
  {
    const OnStream on_stream(stream);
    const ScratchHold::Use use(made->scratch_);
    // Relaxed: the allocator may need memory from the driver meanwhile.
    INGOT_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    try {
      launches();
    } catch (...) {
      (void)cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr) (void)cudaGraphDestroy(graph);
      (void)cudaGetLastError();
      throw;
    }
    if (cudaStreamEndCapture(stream, &graph) != cudaSuccess || graph == nullptr) {
      (void)cudaGetLastError();
      return nullptr;
    }
  }
  const cudaError_t status = cudaGraphInstantiate(&made->exec_, graph, 0);
  (void)cudaGraphDestroy(graph);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return made;
}

Graph::~Graph() {
  if (exec_ != nullptr) (void)cudaGraphExecDestroy(exec_);
}

void Graph::launch() const { INGOT_CUDA_CHECK(cudaGraphLaunch(exec_, current_stream())); }

}  // namespace ingot::cuda
