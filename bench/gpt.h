// The small decoder-only transformer whose training step is measured: pre-norm blocks, learned
// positions, no weight shared; the same network as the peers' programs train.
// Owns: its sizes and layers, what is computed in bf16. Must not know: devices, how it is timed.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include <ingot/ingot.h>

namespace bench::gpt {

struct Sizes {
  ingot::i64 layers = 6, wide = 384, heads = 6, batch = 64, length = 256, vocabulary = 65;

  ingot::i64 rows() const { return batch * length; }
  ingot::i64 head() const { return wide / heads; }
};

// The dtype of the products and of what lies between them inside a block. With bf16 the parameters,
// the residual stream, the norms and the loss stay f32, as under autocast.
using Precision = ingot::DType;

inline ingot::Tensor in_precision(const ingot::Tensor& x, Precision t) {
  return x.dtype() == t ? x : x.to(t);
}

inline ingot::Tensor apply(const ingot::nn::Linear& layer, const ingot::Tensor& x, Precision t) {
  if (t == ingot::kFloat) return layer(x);
  return linear(in_precision(x, t), in_precision(layer->weight, t), in_precision(layer->bias, t));
}

struct BlockImpl : ingot::nn::Module {
  BlockImpl(const Sizes& s, Precision t)
      : sizes(s),
        precision(t),
        norm1(ingot::Dims{s.wide}),
        qkv(s.wide, 3 * s.wide),
        out(s.wide, s.wide),
        norm2(ingot::Dims{s.wide}),
        up(s.wide, 4 * s.wide),
        down(4 * s.wide, s.wide) {}

  // x: [batch, length, wide]; mask: [length, length], -inf where a position must not look.
  ingot::Tensor forward(const ingot::Tensor& x, const ingot::Tensor& mask) const {
    const ingot::Tensor y =
        x + apply(out, attention(apply(qkv, norm1(x), precision), mask), precision);
    const ingot::Tensor wide = gelu(apply(up, norm2(y), precision), "tanh");
    return y + apply(down, wide, precision);
  }

  ingot::Tensor attention(const ingot::Tensor& all, const ingot::Tensor& mask) const {
    const ingot::i64 b = all.size(0), t = all.size(1);
    const auto part = [&](ingot::i64 i) {
      return all.slice(2, i * sizes.wide, (i + 1) * sizes.wide)
          .view({b, t, sizes.heads, sizes.head()})
          .transpose(1, 2);
    };
    const double scale = 1 / std::sqrt(static_cast<double>(sizes.head()));
    const ingot::Tensor scores = matmul(part(0), part(1).transpose(2, 3)) * scale + mask;
    return matmul(softmax(scores, 3), part(2)).transpose(1, 2).reshape({b, t, sizes.wide});
  }

  Sizes sizes;
  Precision precision;
  ingot::nn::LayerNorm norm1;
  ingot::nn::Linear qkv, out;
  ingot::nn::LayerNorm norm2;
  ingot::nn::Linear up, down;
  INGOT_MODULE(Block, norm1, qkv, out, norm2, up, down)
};
using Block = ingot::nn::Handle<BlockImpl>;

struct Net : ingot::nn::Module {
  Net(const Sizes& s, Precision t, ingot::Device device)
      : precision(t),
        tokens(s.vocabulary, s.wide),
        places(s.length, s.wide),
        norm(ingot::Dims{s.wide}),
        head(s.wide, s.vocabulary) {
    for (ingot::i64 i = 0; i < s.layers; ++i) blocks.emplace_back(s, t);
    to(device);
    positions = ingot::arange(s.length, device);
    const ingot::Tensor later = positions.unsqueeze(0) > positions.unsqueeze(1);
    mask = where(later, ingot::full({1}, -std::numeric_limits<double>::infinity(), {t, device}),
                 ingot::zeros({1}, {t, device}));
  }

  // index, target: i64 [batch, length]. The mean cross-entropy.
  ingot::Tensor operator()(const ingot::Tensor& index, const ingot::Tensor& target) const {
    ingot::Tensor x = tokens(index) + places(positions);
    for (const Block& block : blocks) x = block(x, mask);
    const ingot::Tensor logits = in_precision(apply(head, norm(x), precision), ingot::kFloat);
    return cross_entropy(logits.flatten(0, 1), target.flatten());
  }

  Precision precision;
  ingot::nn::Embedding tokens, places;
  std::vector<Block> blocks;
  ingot::nn::LayerNorm norm;
  ingot::nn::Linear head;
  ingot::Tensor positions, mask;
  INGOT_MODULE(GPT, tokens, places, blocks, norm, head)
};

// A network with its optimiser and a batch to train on.
struct Training {
  Training(const Sizes& s, Precision t, ingot::Device device)
      : net(s, t, device),
        adam(net.parameters(), {.lr = 1e-3}),
        index(ingot::randint(0, s.vocabulary, {s.batch, s.length}, device)),
        target(ingot::randint(0, s.vocabulary, {s.batch, s.length}, device)) {}

  ingot::Tensor step(const ingot::Tensor& x, const ingot::Tensor& y) {
    adam.zero_grad();
    ingot::Tensor loss = net(x, y);
    loss.backward();
    adam.step();
    return loss;
  }

  Net net;
  ingot::optim::AdamW adam;
  ingot::Tensor index, target;
};

}  // namespace bench::gpt
