#include <array>

#include <ingot/kernels/cpu/data.h>
#include <ingot/kernels/cpu/data_random.h>
#include <ingot/kernels/cpu/indexing.h>
#include <ingot/kernels/cpu/kernels.h>
#include <ingot/kernels/cpu/loops_elementwise.h>
#include <ingot/kernels/cpu/products.h>
#include <ingot/kernels/cpu/reduce.h>
#include <ingot/kernels/cpu/rowops.h>
#include <ingot/kernels/cpu/topk.h>
#include <ingot/kernels/ops/structured/list.h>

namespace ingot {

namespace {

using namespace structured;

struct Table {
  std::array<Kernel, Rows::size> kernels{};

  template <class... Row>
  constexpr void set(Kernel kernel) {
    ((kernels[static_cast<std::size_t>(id_of<Row>() - kFirstId)] = kernel), ...);
  }

  constexpr Table() {
    set<Clone, ToCopy>(cpu_clone);
    set<Copy>(cpu_copy);
    set<Full, Fill>(cpu_full);
    set<Arange>(cpu_arange);
    set<Cat>(cpu_cat);
    set<Flip>(cpu_flip);
    set<SliceBackward>(cpu_slice_backward);

    set<IndexSelect>(cpu_index_select);
    set<IndexAdd>(cpu_index_add);
    set<Gather>(cpu_gather);
    set<ScatterAdd>(cpu_scatter_add);
    set<Embedding, OneHot>(cpu_embedding);
    set<EmbeddingBackward>(cpu_embedding_backward);
    set<Index>(cpu_index);
    set<IndexPut>(cpu_index_put);

    set<Sum, Mean, Prod, Amax, Amin, Any, All, Argmax, Argmin, MaxDim, MinDim, Var>(cpu_reduce);
    set<Topk>(cpu_topk);

    set<Matmul>(cpu_matmul);
    set<Addmm>(cpu_addmm);
    set<Linear>(cpu_linear);

    set<Softmax>(cpu_softmax);
    set<LogSoftmax>(cpu_log_softmax);
    set<SoftmaxBackward>(cpu_softmax_backward);
    set<LogSoftmaxBackward>(cpu_log_softmax_backward);
    set<Logsumexp>(cpu_logsumexp);
    set<LayerNorm>(cpu_layer_norm);
    set<LayerNormBackward>(cpu_layer_norm_backward);
    set<LayerNormBackwardParams>(cpu_layer_norm_backward_params);
    set<CrossEntropy>(cpu_cross_entropy);
    set<CrossEntropyBackward>(cpu_cross_entropy_backward);

    set<Rand, UniformFill>(cpu_uniform);
    set<Randn, NormalFill>(cpu_normal);
    set<Randint>(cpu_randint);
    set<Dropout>(cpu_dropout);
  }
};

constexpr Table kTable;

}  // namespace

Kernel cpu_kernel(const OpInfo& op) {
  if (op.user != nullptr) return cpu_elementwise;
  if (op.id < 0) return nullptr;
  if (op.id < kFirstId) return cpu_elementwise;
  return kTable.kernels[static_cast<std::size_t>(op.id - kFirstId)];
}

}  // namespace ingot
