// The list of structured rows; a row's place in it gives its OpInfo::id.
// Owns: structured::Rows, id_of. Must not know: the rows' contents (they are only named here).
#pragma once

#include <cstdint>
#include <type_traits>

namespace ingot::structured {

struct View;
struct Permute;
struct Slice;
struct Select;
struct Expand;
struct Unsqueeze;
struct Squeeze;
struct AsStrided;
struct Detach;
struct Clone;
struct ToCopy;
struct Copy;
struct Full;
struct Fill;
struct Arange;
struct Cat;
struct Flip;
struct SliceBackward;
struct IndexSelect;
struct IndexAdd;
struct Gather;
struct ScatterAdd;
struct Embedding;
struct EmbeddingBackward;
struct OneHot;
struct Index;
struct IndexPut;
struct Sum;
struct Mean;
struct Prod;
struct Amax;
struct Amin;
struct Any;
struct All;
struct Argmax;
struct Argmin;
struct MaxDim;
struct MinDim;
struct Topk;
struct Var;
struct Matmul;
struct Addmm;
struct Linear;
struct Softmax;
struct LogSoftmax;
struct SoftmaxBackward;
struct LogSoftmaxBackward;
struct Logsumexp;
struct LayerNorm;
struct LayerNormBackward;
struct LayerNormBackwardParams;
struct CrossEntropy;
struct CrossEntropyBackward;
struct Rand;
struct Randn;
struct Randint;
struct UniformFill;
struct NormalFill;
struct Dropout;

template <class... Row>
struct List {
  static constexpr int size = sizeof...(Row);
};

using Rows =
    List<View, Permute, Slice, Select, Expand, Unsqueeze, Squeeze, AsStrided, Detach, Clone, ToCopy,
         Copy, Full, Fill, Arange, Cat, Flip, SliceBackward, IndexSelect, IndexAdd, Gather,
         ScatterAdd, Embedding, EmbeddingBackward, OneHot, Index, IndexPut, Sum, Mean, Prod, Amax,
         Amin, Any, All, Argmax, Argmin, MaxDim, MinDim, Topk, Var, Matmul, Addmm, Linear, Softmax,
         LogSoftmax, SoftmaxBackward, LogSoftmaxBackward, Logsumexp, LayerNorm, LayerNormBackward,
         LayerNormBackwardParams, CrossEntropy, CrossEntropyBackward, Rand, Randn, Randint,
         UniformFill, NormalFill, Dropout>;

// Above every elementwise row's id (registry.cpp checks it).
inline constexpr int kFirstId = 1024;

template <class Row, class... R>
consteval int place_in(List<R...>) {
  int place = -1, i = 0;
  ((std::is_same_v<Row, R> ? void(place = i) : void(), ++i), ...);
  return place;
}

template <class Row>
consteval std::int16_t id_of() {
  return static_cast<std::int16_t>(kFirstId + place_in<Row>(Rows{}));
}

}  // namespace ingot::structured
