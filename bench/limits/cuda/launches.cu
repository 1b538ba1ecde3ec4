#include <cuda_runtime.h>

#include <ingot/kernels/cuda/check.h>

#include "launches.h"

namespace bench::gpu {

namespace {

__global__ void add_kernel(const float* a, const float* b, float* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = a[i] + b[i];
}

// Eight vectors of 16 bytes on their way per thread; the store only keeps the loads.
constexpr int kReads = 8, kReadThreads = 256;

__global__ void __launch_bounds__(kReadThreads) read_kernel(const float4* __restrict__ from,
                                                            std::size_t n, float* sink) {
  const std::size_t first =
      static_cast<std::size_t>(blockIdx.x) * kReadThreads * kReads + threadIdx.x;
  float4 v[kReads];
#pragma unroll
  for (int i = 0; i < kReads; ++i) {
    const std::size_t at = first + static_cast<std::size_t>(i) * kReadThreads;
    v[i] = at < n ? from[at] : make_float4(0, 0, 0, 0);
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kReads; ++i) sum += v[i].x + v[i].y + v[i].z + v[i].w;
  if (sum == 1.2345e30F) *sink = sum;  // of no data that is measured here
}

__global__ void spin_kernel(unsigned long long nanoseconds) {
  unsigned long long start = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

void check_launch() { INGOT_CUDA_CHECK(cudaGetLastError()); }

cudaStream_t stream() { return ingot::cuda::current_stream(); }

constexpr int kThreads = 256;

}  // namespace

void add(const float* a, const float* b, float* out, int n) {
  add_kernel<<<static_cast<unsigned>((n + kThreads - 1) / kThreads), kThreads, 0, stream()>>>(
      a, b, out, n);
  check_launch();
}

void read_only(const float* from, std::size_t n, float* sink) {
  constexpr std::size_t kVector = 4, kBlock = std::size_t{kReadThreads} * kReads;
  const std::size_t vectors = n / kVector;
  read_kernel<<<static_cast<unsigned>((vectors + kBlock - 1) / kBlock), kReadThreads, 0,
                stream()>>>(reinterpret_cast<const float4*>(from), vectors, sink);
  check_launch();
}

void copy(void* to, const void* from, std::size_t bytes) {
  INGOT_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()));
}

void spin(double us) {
  spin_kernel<<<1, 1, 0, stream()>>>(static_cast<unsigned long long>(us * 1000));
  check_launch();
}

struct KernelGraph::Impl {
  static constexpr int kElements = 64 * 64;
  float* memory = nullptr;  // a, b and their sum
  cudaStream_t recording = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphNode_t first = nullptr;
  cudaKernelNodeParams parameters{};

  explicit Impl(int nodes) {
    INGOT_CUDA_CHECK(cudaMalloc(&memory, 3 * kElements * sizeof(float)));
    INGOT_CUDA_CHECK(cudaMemsetAsync(memory, 0, 3 * kElements * sizeof(float), stream()));
    add(memory, memory + kElements, memory + 2 * kElements, kElements);  // its code is loaded
    INGOT_CUDA_CHECK(cudaStreamCreateWithFlags(&recording, cudaStreamNonBlocking));
    INGOT_CUDA_CHECK(cudaStreamBeginCapture(recording, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < nodes; ++i) {
      add_kernel<<<kElements / kThreads, kThreads, 0, recording>>>(
          memory, memory + kElements, memory + 2 * kElements, int{kElements});
    }
    INGOT_CUDA_CHECK(cudaStreamEndCapture(recording, &graph));
    INGOT_CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    std::size_t count = 1;
    INGOT_CUDA_CHECK(cudaGraphGetRootNodes(graph, &first, &count));
    INGOT_CUDA_CHECK(cudaGraphKernelNodeGetParams(first, &parameters));
  }
  ~Impl() {
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
    (void)cudaStreamDestroy(recording);
    (void)cudaFree(memory);
  }
};

KernelGraph::KernelGraph(int nodes) : impl_(std::make_unique<Impl>(nodes)) {}
KernelGraph::~KernelGraph() = default;

void KernelGraph::launch() const { INGOT_CUDA_CHECK(cudaGraphLaunch(impl_->exec, stream())); }

void KernelGraph::launch_patched() const {
  INGOT_CUDA_CHECK(
      cudaGraphExecKernelNodeSetParams(impl_->exec, impl_->first, &impl_->parameters));
  launch();
}

}  // namespace bench::gpu
