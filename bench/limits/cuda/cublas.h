// One product by cublasLt with nothing around it: descriptors and algorithm are kept.
// Owns: LtCall. Must not know: tensors.
#pragma once

#include <memory>

namespace bench::gpu {

enum class LtType { f32, tf32, bf16 };
enum class LtEpilogue { none, bias, relu_bias };

struct LtShape {
  long m, n, k;
  LtType type = LtType::f32;
  LtEpilogue epilogue = LtEpilogue::none;
  long batch = 1;  // so many products, their matrices one after the other
};

// d[m, n] = a[m, k] b[k, n] (+ bias[n], relu), row-major, 256-byte aligned; f32, or bf16 operands
// and result. By the first algorithm of cublasLt's heuristic with 32 MiB of workspace.
class LtCall {
 public:
  explicit LtCall(const LtShape& shape);
  ~LtCall();
  LtCall(const LtCall&) = delete;
  void operator()(const void* a, const void* b, const void* bias, void* d) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bench::gpu
