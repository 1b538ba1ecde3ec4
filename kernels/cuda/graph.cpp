#include <array>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <mutex>
#include <optional>

#include <ingot/kernels/cuda/check.h>
#include <ingot/kernels/cuda/driver.h>
#include <ingot/kernels/cuda/graph.h>
#include <ingot/kernels/cuda/stream.h>

namespace ingot::cuda {

namespace {

// Recording needs a stream of its own: other threads go on using the shared one. As many are made
// as record at a time.
class RecordingStream {
 public:
  RecordingStream() : device_(current_device()) {
    {
      const std::lock_guard lock(idle().mutex);
      if (std::vector<StreamHandle>& streams = list(); !streams.empty()) {
        handle_ = streams.back();
        streams.pop_back();
        return;
      }
    }
    INGOT_CUDA_CHECK(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking));
  }
  ~RecordingStream() {
    const std::lock_guard lock(idle().mutex);
    list().push_back(handle_);
  }
  RecordingStream(const RecordingStream&) = delete;
  StreamHandle handle() const { return handle_; }

 private:
  struct Idle {
    std::mutex mutex;
    std::array<std::vector<StreamHandle>, kMaxDevices> streams;
  };
  // Never destroyed, as the streams: CUDA may be gone when statics are.
  static Idle& idle() {
    static auto* made = new Idle;
    return *made;
  }
  std::vector<StreamHandle>& list() const {
    return idle().streams[static_cast<std::size_t>(device_)];
  }

  int device_;
  StreamHandle handle_ = nullptr;
};

// What the current stream has recorded so far: the graph, and its last node (null: none yet).
struct Recorded {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t last = nullptr;
};

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

std::size_t count_nodes(cudaGraph_t graph) {
  std::size_t n = 0;
  INGOT_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &n));
  return n;
}

std::size_t parameter_bytes(const KernelLaunch& launch) {
  std::size_t bytes = 0;
  for (int i = 0; i < launch.n; ++i) bytes += launch.sizes[i];
  return bytes;
}

// What outlives the launch: all but where its parameters were.
KernelLaunch kept(KernelLaunch launch) {
  launch.parameters = nullptr;
  launch.sizes = nullptr;
  return launch;
}

CUkernel kernel_of(const KernelLaunch& launch) {
  if (launch.kernel != nullptr) return launch.kernel;
  cudaKernel_t kernel = nullptr;
  INGOT_CUDA_CHECK(cudaGetKernel(&kernel, launch.symbol));
  return kernel;
}

}  // namespace

// Notes every kernel of ours with its node.
class Graph::Recording final : public LaunchTape {
 public:
  explicit Recording(Graph& graph) : graph_(graph) {}
  bool takes(const KernelLaunch&) override { return false; }
  bool takes_other() override { return false; }
  void launched(const KernelLaunch& launch) override {
    graph_.nodes_.push_back({recorded().last, kept(launch), graph_.bytes_.size()});
    for (int i = 0; i < launch.n; ++i) {
      const char* from = static_cast<const char*>(launch.parameters[i]);
      graph_.bytes_.insert(graph_.bytes_.end(), from, from + launch.sizes[i]);
    }
  }

 private:
  Graph& graph_;
};

// Takes every launch and gives the next node what differs.
class Graph::Updating final : public LaunchTape {
 public:
  explicit Updating(Graph& graph) : graph_(graph) {}

  bool takes(const KernelLaunch& launch) override {
    if (failed_ || next_ == graph_.nodes_.size()) {
      failed_ = true;
      return true;
    }
    Node& node = graph_.nodes_[next_++];
    const std::size_t end =
        next_ < graph_.nodes_.size() ? graph_.nodes_[next_].begin : graph_.bytes_.size();
    // Another kernel in the same place may have a place for its parameters of the same size only.
    if (node.begin + parameter_bytes(launch) != end) {
      failed_ = true;
      return true;
    }
    bool same = node.launch.symbol == launch.symbol && node.launch.kernel == launch.kernel &&
                node.launch.blocks == launch.blocks && node.launch.threads == launch.threads &&
                node.launch.shared == launch.shared;
    char* at = graph_.bytes_.data() + node.begin;
    for (int i = 0; i < launch.n; ++i) {
      if (std::memcmp(at, launch.parameters[i], launch.sizes[i]) != 0) {
        std::memcpy(at, launch.parameters[i], launch.sizes[i]);
        same = false;
      }
      at += launch.sizes[i];
    }
    if (!same) set(node, launch);
    return true;
  }
  void launched(const KernelLaunch&) override {}
  bool takes_other() override { return failed_ = true; }

  bool complete() const { return !failed_ && next_ == graph_.nodes_.size(); }

 private:
  void set(Node& node, const KernelLaunch& launch) {
    CUDA_KERNEL_NODE_PARAMS p{};
    p.kern = kernel_of(launch);
    p.gridDimX = static_cast<unsigned>(launch.blocks);
    p.gridDimY = p.gridDimZ = 1;
    p.blockDimX = launch.threads;
    p.blockDimY = p.blockDimZ = 1;
    p.sharedMemBytes = launch.shared;
    p.kernelParams = const_cast<void**>(launch.parameters);
    if (driver().set_node(graph_.exec_, node.node, &p) != CUDA_SUCCESS) failed_ = true;
    node.launch = kept(launch);
  }

  Graph& graph_;
  std::size_t next_ = 0;
  bool failed_ = false;
};

CUgraph_st* Graph::capture(const std::function<void()>& launches, LaunchTape* tape) {
  const RecordingLock recording;
  const RecordingStream own;
  const StreamHandle stream = own.handle();
  const CaptureStream on_stream(stream);
  const ScratchHold::Use use_scratch(*scratch_);
  std::optional<LaunchTape::Use> use_tape;
  if (tape != nullptr) use_tape.emplace(*tape);
  cudaGraph_t graph = nullptr;
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
  if (cudaStreamEndCapture(stream, &graph) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return graph;
}

std::unique_ptr<Graph> Graph::record(const std::function<void()>& launches) {
  std::unique_ptr<Graph> made(new Graph);
  made->scratch_ = std::make_unique<ScratchHold>();
  Recording tape(*made);
  made->graph_ = made->capture(launches, &tape);
  if (made->graph_ == nullptr) return nullptr;
  made->only_ours_ = count_nodes(made->graph_) == made->nodes_.size();
  for (const Node& node : made->nodes_) made->only_ours_ &= node.node != nullptr;
  if (!made->only_ours_) made->forget_nodes();
  if (cudaGraphInstantiate(&made->exec_, made->graph_, 0) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return made;
}

bool Graph::update(const std::function<void()>& launches) {
  // The old scratch memory goes back at the end: what still runs comes before whoever gets it.
  const std::unique_ptr<ScratchHold> old = std::move(scratch_);
  scratch_ = std::make_unique<ScratchHold>();
  if (only_ours_) {
    Updating tape(*this);
    const ScratchHold::Use use_scratch(*scratch_);
    const LaunchTape::Use use_tape(tape);
    launches();
    return tape.complete();
  }
  CUgraph_st* fresh = capture(launches, nullptr);
  if (fresh == nullptr) return false;
  cudaGraphExecUpdateResultInfo info{};
  const bool same = cudaGraphExecUpdate(exec_, fresh, &info) == cudaSuccess;
  (void)cudaGraphDestroy(fresh);
  (void)cudaGetLastError();
  return same;
}

void Graph::forget_nodes() {
  nodes_ = {};
  bytes_ = {};
}

Graph::~Graph() {
  if (exec_ != nullptr) (void)cudaGraphExecDestroy(exec_);
  if (graph_ != nullptr) (void)cudaGraphDestroy(graph_);
}

void Graph::launch() const { INGOT_CUDA_CHECK(cudaGraphLaunch(exec_, current_stream())); }

int Graph::nodes_recorded() {
  const cudaGraph_t graph = recorded().graph;
  return graph == nullptr ? 0 : static_cast<int>(count_nodes(graph));
}

}  // namespace ingot::cuda
