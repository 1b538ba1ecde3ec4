#include <array>
#include <cstring>
#include <cublasLt.h>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/setup_phase.h>
#include <ingot/kernels/cuda/cublas_lt.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/kernel_launch.h>
#include <ingot/kernels/cuda/library.h>
#include <ingot/kernels/cuda/scratch.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// The functions of the library that are used here.
struct Api {
  const cuda::Library library{{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
                              "libcublas"};
#define INGOT_LT(name) decltype(&::name) name = load<decltype(&::name)>(#name);
  INGOT_LT(cublasLtCreate)
  INGOT_LT(cublasLtMatmul)
  INGOT_LT(cublasLtMatmulAlgoCheck)
  INGOT_LT(cublasLtMatmulAlgoGetHeuristic)
  INGOT_LT(cublasLtMatmulDescCreate)
  INGOT_LT(cublasLtMatmulDescDestroy)
  INGOT_LT(cublasLtMatmulDescSetAttribute)
  INGOT_LT(cublasLtMatrixLayoutCreate)
  INGOT_LT(cublasLtMatrixLayoutDestroy)
  INGOT_LT(cublasLtMatrixLayoutSetAttribute)
  INGOT_LT(cublasLtMatmulPreferenceCreate)
  INGOT_LT(cublasLtMatmulPreferenceDestroy)
  INGOT_LT(cublasLtMatmulPreferenceSetAttribute)
  INGOT_LT(cublasLtGetStatusString)
#undef INGOT_LT

 private:
  template <class F>
  F load(const char* function) const {
    return reinterpret_cast<F>(library.require(function));
  }
};

const Api& api() {
  static const Api loaded;
  return loaded;
}

void check(cublasStatus_t status, const char* call) {
  INGOT_CHECK_AS(DeviceError, status == CUBLAS_STATUS_SUCCESS, "cublasLt: {} in {}",
                 api().cublasLtGetStatusString(status), call);
}
#define INGOT_LT_CHECK(call, ...) check(api().call(__VA_ARGS__), #call)

// NVIDIA's advice for Hopper; smaller GPUs never need as much.
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

// What selects the algorithm, as words to hash and to compare.
struct Key {
  std::array<i64, 12> words;
  bool operator==(const Key&) const = default;
};

// No algorithm asks for more than 16 bytes. A larger one counts as that, so that a part of a tensor
// has the algorithm, and with it the bits, of any other.
i64 alignment_of(const void* p) {
  constexpr std::uintptr_t kMost = 16;
  const auto address = reinterpret_cast<std::uintptr_t>(p) | kMost;
  return static_cast<i64>(address & (~address + 1));
}

Key key_of(const LtProduct& p) {
  const i64 flags = static_cast<i64>(p.dtype) | i64{p.tf32} << 8 | i64{p.a_transposed} << 9 |
                    i64{p.b_transposed} << 10 | i64{p.bias != nullptr} << 11 |
                    i64{p.beta != 0} << 12 | static_cast<i64>(p.activation) << 13 |
                    i64{p.plain_algorithm} << 16 | i64{cuda::current_device()} << 20;
  const i64 alignments = alignment_of(p.a) | alignment_of(p.b) << 16 | alignment_of(p.d) << 32 |
                         (p.bias == nullptr ? 0 : alignment_of(p.bias)) << 48;
  return {{flags, alignments, p.m, p.n, p.k, p.lda, p.ldb, p.ldd, p.batch, p.a_step, p.b_step,
           p.d_step}};
}

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t h = 0x9e3779b97f4a7c15u;
    for (i64 w : key.words) {
      h ^= static_cast<std::uint64_t>(w);
      h *= 0xff51afd7ed558ccdu;
      h ^= h >> 32;
    }
    return h;
  }
};

struct Ready {
  bool exists = false;  // whether there is an algorithm
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm;
  std::size_t workspace = 0;
};

cudaDataType_t data_type(DType t) {
  return t == DType::f64    ? CUDA_R_64F
         : t == DType::f16  ? CUDA_R_16F
         : t == DType::bf16 ? CUDA_R_16BF
                            : CUDA_R_32F;
}

cublasLtMatrixLayout_t layout(DType t, i64 rows, i64 columns, i64 ld, i64 batch, i64 step) {
  cublasLtMatrixLayout_t made = nullptr;
  INGOT_LT_CHECK(cublasLtMatrixLayoutCreate, &made, data_type(t), static_cast<std::uint64_t>(rows),
                 static_cast<std::uint64_t>(columns), ld);
  if (batch > 1) {
    const auto count = static_cast<std::int32_t>(batch);
    INGOT_LT_CHECK(cublasLtMatrixLayoutSetAttribute, made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                   &count, sizeof count);
    INGOT_LT_CHECK(cublasLtMatrixLayoutSetAttribute, made,
                   CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step);
  }
  return made;
}

template <class T>
void describe_as(cublasLtMatmulDesc_t to, cublasLtMatmulDescAttributes_t what, const T& value) {
  INGOT_LT_CHECK(cublasLtMatmulDescSetAttribute, to, what, &value, sizeof value);
}

// What all threads share. Products on one stream run one after the other, whoever launches them, so
// they share its workspace too. Handles are thread-safe.
struct Shared {
  std::mutex mutex;
  std::array<cublasLtHandle_t, cuda::kMaxDevices> handles{};
  std::map<std::pair<int, cuda::StreamHandle>, std::unique_ptr<DeviceScratch>> workspaces;
};

// Kept for the life of the process: the library may be gone when statics are destroyed.
Shared& shared() {
  static auto* made = new Shared;
  return *made;
}

cublasLtHandle_t handle_of(int device) {
  const std::lock_guard lock(shared().mutex);
  cublasLtHandle_t& handle = shared().handles[static_cast<std::size_t>(device)];
  if (handle == nullptr) {
    const SetupPhase phase("cublasLt: library and handle");
    (void)cuda::current_stream();  // the context exists from here on
    INGOT_LT_CHECK(cublasLtCreate, &handle);
  }
  return handle;
}

// From the device's pool, which gives back what it only caches before there is no memory.
void* workspace_of(int device, cuda::StreamHandle stream) {
  const std::lock_guard lock(shared().mutex);
  std::unique_ptr<DeviceScratch>& workspace = shared().workspaces[{device, stream}];
  if (workspace == nullptr) {
    const SetupPhase phase("cublasLt: workspace");
    workspace = std::make_unique<DeviceScratch>(kWorkspaceBytes);
  }
  return workspace->data();
}

// Each thread keeps what it made ready, and what it found: no lock in the hot path.
struct ThreadState {
  std::array<cublasLtHandle_t, cuda::kMaxDevices> handles{};
  std::array<void*, cuda::kMaxDevices> workspaces{};  // of the shared stream, by device
  std::unordered_map<cuda::StreamHandle, void*> other_workspaces;
  std::unordered_map<Key, Ready, KeyHash> ready;
};

ThreadState& thread_state() {
  static thread_local auto* state = new ThreadState;  // kept, as what is shared
  return *state;
}

cublasLtEpilogue_t epilogue_of(const LtProduct& p) {
  const bool bias = p.bias != nullptr;
  switch (p.activation) {
    case ProductEpilogue::relu:
      return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case ProductEpilogue::gelu:
      return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case ProductEpilogue::none:
      break;
  }
  return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

// The description and the layouts. cublasLt is column-major: a row-major product is the product of
// the transposes, B first.
Ready describe(const LtProduct& p) {
  Ready r;
  const bool f64 = p.dtype == DType::f64;
  const cublasComputeType_t compute = f64      ? CUBLAS_COMPUTE_64F
                                      : p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                               : CUBLAS_COMPUTE_32F;
  INGOT_LT_CHECK(cublasLtMatmulDescCreate, &r.description, compute, f64 ? CUDA_R_64F : CUDA_R_32F);
  describe_as(r.description, CUBLASLT_MATMUL_DESC_TRANSA,
              p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  describe_as(r.description, CUBLASLT_MATMUL_DESC_TRANSB,
              p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (const cublasLtEpilogue_t epilogue = epilogue_of(p); epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
    describe_as(r.description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  }
  // Each call sets its own.
  if (p.bias != nullptr) describe_as(r.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  r.a = p.b_transposed ? layout(p.dtype, p.k, p.n, p.ldb, p.batch, p.b_step)
                       : layout(p.dtype, p.n, p.k, p.ldb, p.batch, p.b_step);
  r.b = p.a_transposed ? layout(p.dtype, p.m, p.k, p.lda, p.batch, p.a_step)
                       : layout(p.dtype, p.k, p.m, p.lda, p.batch, p.a_step);
  r.d = layout(p.dtype, p.n, p.m, p.ldd, p.batch, p.d_step);
  return r;
}

void choose_algorithm(const LtProduct& p, cublasLtHandle_t handle, Ready& r) {
  cublasLtMatmulPreference_t preference = nullptr;
  INGOT_LT_CHECK(cublasLtMatmulPreferenceCreate, &preference);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
    INGOT_LT_CHECK(cublasLtMatmulPreferenceSetAttribute, preference, what, &value, sizeof value);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(alignment_of(p.b)));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(alignment_of(p.a)));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(alignment_of(p.d)));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(alignment_of(p.d)));
  // Partial sums stay in the compute type.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE |
                                    CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  cublasLtMatmulHeuristicResult_t found;
  std::memset(&found, 0, sizeof found);
  int count = 0;
  const cublasStatus_t status = api().cublasLtMatmulAlgoGetHeuristic(
      handle, r.description, r.a, r.b, r.d, r.d, preference, 1, &found, &count);
  (void)api().cublasLtMatmulPreferenceDestroy(preference);
  r.exists = status == CUBLAS_STATUS_SUCCESS && count == 1;
  r.algorithm = found.algo;
  r.workspace = found.workspaceSize;
}

void free_descriptions(const Ready& r) {
  for (cublasLtMatrixLayout_t made : {r.a, r.b, r.d}) {
    (void)api().cublasLtMatrixLayoutDestroy(made);
  }
  (void)api().cublasLtMatmulDescDestroy(r.description);
}

Ready make_ready(const LtProduct& p, cublasLtHandle_t handle) {
  Ready r = describe(p);
  if (!p.plain_algorithm) {
    choose_algorithm(p, handle, r);
    return r;
  }
  LtProduct plain = p;
  plain.activation = ProductEpilogue::none;
  plain.bias = nullptr;
  Ready of_plain = describe(plain);
  choose_algorithm(plain, handle, of_plain);
  free_descriptions(of_plain);
  if (!of_plain.exists) return r;
  r.algorithm = of_plain.algorithm;
  cublasLtMatmulHeuristicResult_t checked;
  std::memset(&checked, 0, sizeof checked);
  r.exists = api().cublasLtMatmulAlgoCheck(handle, r.description, r.a, r.b, r.d, r.d, &r.algorithm,
                                           &checked) == CUBLAS_STATUS_SUCCESS &&
             checked.workspaceSize <= kWorkspaceBytes;
  r.workspace = checked.workspaceSize;
  return r;
}

}  // namespace

bool lt_product(const LtProduct& p) {
  ThreadState& state = thread_state();
  const auto device = static_cast<std::size_t>(cuda::current_device());
  cublasLtHandle_t& handle = state.handles[device];
  if (handle == nullptr) [[unlikely]]
    handle = handle_of(cuda::current_device());
  const Key key = key_of(p);
  auto [at, fresh] = state.ready.try_emplace(key);
  if (fresh) [[unlikely]] {
    const SetupPhase phase("cublasLt: choice of an algorithm");
    try {
      at->second = make_ready(p, handle);
    } catch (...) {
      state.ready.erase(at);
      throw;
    }
  }
  const Ready& r = at->second;
  if (!r.exists) return false;
  // Products on two streams run at the same time; while a graph is recorded the stream is that of
  // its launch.
  const cuda::StreamHandle own_stream = cuda::thread_stream();
  void*& workspace =
      own_stream == nullptr ? state.workspaces[device] : state.other_workspaces[own_stream];
  if (r.workspace > 0 && workspace == nullptr) [[unlikely]]
    workspace = workspace_of(cuda::current_device(), own_stream);
  void* const scratch = r.workspace > 0 ? workspace : nullptr;
  struct {
    Key key;
    double alpha, beta;
  } const kind{key, p.alpha, p.beta};
  const cuda::LibraryCall call{std::as_bytes(std::span(&kind, 1)),
                               {p.a, p.b, p.d, p.bias, scratch}};
  cuda::launch_library(call, [&] {
    if (p.bias != nullptr) describe_as(r.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    const float alpha32 = static_cast<float>(p.alpha), beta32 = static_cast<float>(p.beta);
    const bool f64 = p.dtype == DType::f64;
    const void* alpha = f64 ? static_cast<const void*>(&p.alpha) : &alpha32;
    const void* beta = f64 ? static_cast<const void*>(&p.beta) : &beta32;
    INGOT_LT_CHECK(cublasLtMatmul, handle, r.description, alpha, p.b, r.a, p.a, r.b, beta, p.d, r.d,
                   p.d, r.d, &r.algorithm, scratch, r.workspace, cuda::current_stream());
  });
  return true;
}

}  // namespace INGOT_ISA
}  // namespace ingot
