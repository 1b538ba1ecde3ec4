#include "cublas.h"

#include <cstdint>
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdexcept>
#include <string>

#include <ingot/kernels/cuda/check.h>
#include <ingot/kernels/cuda/library.h>

namespace bench::gpu {

namespace {

const ingot::cuda::Library& library() {
  static const ingot::cuda::Library opened{
      {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, "libcublas"};
  return opened;
}

// A function of the library by its own name.
#define FIND(function) reinterpret_cast<decltype(&::function)>(library().require(#function))
#define LT(function, ...) check(FIND(function)(__VA_ARGS__), #function)

void check(cublasStatus_t status, const char* name) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(name) + " failed: status " + std::to_string(status));
  }
}

constexpr std::size_t kWorkspace = std::size_t{32} << 20;

}  // namespace

struct LtCall::Impl {
  decltype(&::cublasLtMatmul) matmul = FIND(cublasLtMatmul);
  decltype(&::cublasLtMatmulDescSetAttribute) set_attribute = FIND(cublasLtMatmulDescSetAttribute);
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulHeuristicResult_t found{};
  void* workspace = nullptr;
  bool has_bias;

  explicit Impl(const LtShape& s) : has_bias(s.epilogue != LtEpilogue::none) {
    const cudaDataType_t type = s.type == LtType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
    (void)ingot::cuda::current_stream();  // the context exists from here on
    INGOT_CUDA_CHECK(cudaMalloc(&workspace, kWorkspace));
    LT(cublasLtCreate, &handle);
    LT(cublasLtMatmulDescCreate, &description,
       s.type == LtType::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (has_bias) {
      const cublasLtEpilogue_t epilogue =
          s.epilogue == LtEpilogue::bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_RELU_BIAS;
      LT(cublasLtMatmulDescSetAttribute, description, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
         sizeof epilogue);
    }
    // Column-major: the product of the transposes, B first.
    const auto m = static_cast<std::uint64_t>(s.m), n = static_cast<std::uint64_t>(s.n),
               k = static_cast<std::uint64_t>(s.k);
    LT(cublasLtMatrixLayoutCreate, &b, type, n, k, std::int64_t{s.n});
    LT(cublasLtMatrixLayoutCreate, &a, type, k, m, std::int64_t{s.k});
    LT(cublasLtMatrixLayoutCreate, &d, type, n, m, std::int64_t{s.n});
    if (s.batch > 1) {
      set_batch(b, s.batch, s.k * s.n);
      set_batch(a, s.batch, s.m * s.k);
      set_batch(d, s.batch, s.m * s.n);
    }
    cublasLtMatmulPreference_t preference = nullptr;
    LT(cublasLtMatmulPreferenceCreate, &preference);
    LT(cublasLtMatmulPreferenceSetAttribute, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
       &kWorkspace, sizeof kWorkspace);
    int count = 0;
    LT(cublasLtMatmulAlgoGetHeuristic, handle, description, b, a, d, d, preference, 1, &found,
       &count);
    LT(cublasLtMatmulPreferenceDestroy, preference);
    if (count != 1) throw std::runtime_error("cublasLt has no algorithm for a limit's product");
  }
  static void set_batch(cublasLtMatrixLayout_t layout, long batch, long step) {
    const auto count = static_cast<std::int32_t>(batch);
    const auto elements = static_cast<std::int64_t>(step);
    LT(cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
       sizeof count);
    LT(cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
       &elements, sizeof elements);
  }
  ~Impl() {
    for (cublasLtMatrixLayout_t layout : {a, b, d}) {
      (void)FIND(cublasLtMatrixLayoutDestroy)(layout);
    }
    (void)FIND(cublasLtMatmulDescDestroy)(description);
    (void)FIND(cublasLtDestroy)(handle);
    (void)cudaFree(workspace);
  }
};

LtCall::LtCall(const LtShape& shape) : impl_(std::make_unique<Impl>(shape)) {}
LtCall::~LtCall() = default;

void LtCall::operator()(const void* a, const void* b, const void* bias, void* d) const {
  const Impl& at = *impl_;
  if (at.has_bias) {
    (void)at.set_attribute(at.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
  }
  const float one = 1, zero = 0;
  const cublasStatus_t status = at.matmul(at.handle, at.description, &one, b, at.b, a, at.a, &zero,
                                          d, at.d, d, at.d, &at.found.algo, at.workspace,
                                          at.found.workspaceSize, ingot::cuda::current_stream());
  check(status, "cublasLtMatmul");
}

}  // namespace bench::gpu
