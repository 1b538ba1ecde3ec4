#include <cstring>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <optional>
#include <utility>

#include <ingot/kernels/cuda/capture.h>
#include <ingot/kernels/cuda/check.h>
#include <ingot/kernels/cuda/driver.h>
#include <ingot/kernels/cuda/graph.h>
#include <ingot/kernels/cuda/library_nodes.h>

namespace ingot::cuda {

namespace {

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

// Notes every launch with its nodes.
class Graph::Recording final : public LaunchTape {
 public:
  explicit Recording(Graph& graph) : graph_(graph) {}

  bool takes(const KernelLaunch&) override { return false; }
  void launched(const KernelLaunch& launch) override {
    const std::size_t begin = graph_.bytes_.size();
    for (int i = 0; i < launch.n; ++i) {
      const char* from = static_cast<const char*>(launch.parameters[i]);
      graph_.bytes_.insert(graph_.bytes_.end(), from, from + launch.sizes[i]);
    }
    graph_.order_.push_back(static_cast<int>(graph_.own_.size()));
    graph_.own_.push_back({recorded().last, kept(launch), begin, graph_.bytes_.size()});
    graph_.updatable_ = graph_.updatable_ && graph_.own_.back().node != nullptr;
  }

  bool takes(const LibraryCall&) override {
    before_ = recorded().last;
    return false;
  }
  void launched(const LibraryCall& call) override {
    const auto nodes = chain(before_, recorded().last);
    graph_.order_.push_back(~static_cast<int>(graph_.library_.size()));
    graph_.library_.push_back(
        std::make_shared<LibraryNodes>(call, nodes.value_or(std::vector<cudaGraphNode_t>{})));
    graph_.updatable_ = graph_.updatable_ && nodes && graph_.library_.back()->known();
  }

  bool takes_other() override { return graph_.updatable_ = false; }

 private:
  Graph& graph_;
  cudaGraphNode_t before_ = nullptr;
};

// Takes every launch and gives the next node what differs.
class Graph::Updating final : public LaunchTape {
 public:
  explicit Updating(Graph& graph) : graph_(graph) {}

  bool takes(const KernelLaunch& launch) override {
    const int place = next();
    if (place < 0) return failed_ = true;
    Node& node = graph_.own_[static_cast<std::size_t>(place)];
    // Another kernel in the same place may have a place for its parameters of the same size only.
    if (node.begin + parameter_bytes(launch) != node.end) return failed_ = true;
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

  bool takes(const LibraryCall& call) override {
    const int place = next();
    if (place >= 0 || failed_) return failed_ = true;
    LibraryNodes& nodes = *graph_.library_[static_cast<std::size_t>(~place)];
    if (nodes.hold(call) || nodes.move(graph_.exec_, call)) return true;
    recording_ = &nodes;
    capture_.emplace();
    return false;
  }
  void launched(const LibraryCall& call) override {
    const cudaGraphNode_t last = recorded().last;
    const cudaGraph_t fresh = capture_->end();
    capture_.reset();
    if (fresh == nullptr) {
      failed_ = true;
      return;
    }
    const auto nodes = chain(nullptr, last);
    failed_ = !nodes || !recording_->replace(graph_.exec_, call, *nodes);
    (void)cudaGraphDestroy(fresh);
  }

  bool takes_other() override { return failed_ = true; }

  bool complete() const { return !failed_ && next_ == graph_.order_.size(); }

 private:
  // What was recorded in this place; past the end, or after a failure, that of no kernel of ours.
  int next() {
    failed_ = failed_ || next_ == graph_.order_.size();
    return failed_ ? -1 : graph_.order_[next_++];
  }

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
  LibraryNodes* recording_ = nullptr;
  std::optional<Capture> capture_;
};

std::size_t Graph::known_nodes() const {
  std::size_t n = own_.size();
  for (const auto& nodes : library_) n += nodes->size();
  return n;
}

std::unique_ptr<Graph> Graph::record(const std::function<void()>& launches) {
  std::unique_ptr<Graph> made(new Graph);
  made->scratch_ = std::make_unique<ScratchHold>();
  made->stream_ = thread_stream();
  {
    Recording tape(*made);
    Capture capture;
    const ScratchHold::Use use_scratch(*made->scratch_);
    const LaunchTape::Use use_tape(tape);
    launches();
    made->graph_ = capture.end();
  }
  if (made->graph_ == nullptr) return nullptr;
  made->updatable_ = made->updatable_ && count_nodes(made->graph_) == made->known_nodes();
  if (cudaGraphInstantiate(&made->exec_, made->graph_, 0) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return made;
}

bool Graph::update(const std::function<void()>& launches) {
  if (!updatable_) return false;
  // Scratch memory is of one stream. That of another goes back at the end: what still runs there
  // comes before whoever gets it.
  std::unique_ptr<ScratchHold> old;
  if (thread_stream() != stream_) {
    old = std::exchange(scratch_, std::make_unique<ScratchHold>());
    stream_ = thread_stream();
  }
  Updating tape(*this);
  const ScratchHold::Use use_scratch(*scratch_);
  const LaunchTape::Use use_tape(tape);
  launches();
  return tape.complete();
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
