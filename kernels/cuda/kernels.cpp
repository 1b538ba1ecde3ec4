#include <array>

#include <ingot/kernels/cuda/data.h>
#include <ingot/kernels/cuda/elementwise.h>
#include <ingot/kernels/cuda/indexing.h>
#include <ingot/kernels/cuda/kernels.h>
#include <ingot/kernels/cuda/products.h>
#include <ingot/kernels/cuda/random.h>
#include <ingot/kernels/cuda/reduce.h>
#include <ingot/kernels/cuda/rowops.h>
#include <ingot/kernels/cuda/topk.h>
#include <ingot/kernels/ops/structured/list.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

using namespace structured;

struct Table {
  std::array<Kernel, Rows::size> kernels{};

  template <class... Row>
  constexpr void set(Kernel kernel) {
    ((kernels[static_cast<std::size_t>(id_of<Row>() - kFirstId)] = kernel), ...);
  }

  constexpr Table() {
    set<Clone, ToCopy>(cuda_clone);
    set<Copy>(cuda_copy);
    set<Full, Fill>(cuda_full);
    set<Arange>(cuda_arange);
    set<Cat>(cuda_cat);
    set<Flip>(cuda_flip);
    set<SliceBackward>(cuda_slice_backward);

    set<Matmul, Addmm, Linear>(cuda_product);

    set<Sum, Mean, Prod, Amax, Amin, Any, All, Argmax, Argmin, MaxDim, MinDim, Var>(cuda_reduce);
    set<Topk>(cuda_topk);
    set<Softmax>(cuda_softmax);
    set<LogSoftmax>(cuda_log_softmax);
    set<SoftmaxBackward>(cuda_softmax_backward);
    set<LogSoftmaxBackward>(cuda_log_softmax_backward);
    set<Logsumexp>(cuda_logsumexp);
    set<LayerNorm>(cuda_layer_norm);
    set<LayerNormBackward>(cuda_layer_norm_backward);
    set<LayerNormBackwardParams>(cuda_layer_norm_backward_params);
    set<CrossEntropy>(cuda_cross_entropy);
    set<CrossEntropyBackward>(cuda_cross_entropy_backward);
    set<IndexSelect>(cuda_index_select);
    set<IndexAdd>(cuda_index_add);
    set<Gather>(cuda_gather);
    set<ScatterAdd>(cuda_scatter_add);
    set<Embedding, OneHot>(cuda_embedding);
    set<EmbeddingBackward>(cuda_embedding_backward);
    set<Index>(cuda_index);
    set<IndexPut>(cuda_index_put);
    set<Rand, UniformFill>(cuda_uniform);
    set<Randn, NormalFill>(cuda_normal);
    set<Randint>(cuda_randint);
    set<Dropout>(cuda_dropout);
  }
};

constexpr Table kTable;

}  // namespace

Kernel cuda_kernel(const OpInfo& op) {
  if (op.user != nullptr || op.id < 0) return nullptr;
  if (op.id < kFirstId) return cuda_elementwise;
  return kTable.kernels[static_cast<std::size_t>(op.id - kFirstId)];
}

}  // namespace INGOT_ISA
}  // namespace ingot
