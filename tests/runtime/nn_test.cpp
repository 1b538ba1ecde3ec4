#include <cmath>
#include <functional>
#include <span>
#include <type_traits>

#include <gtest/gtest.h>

#include <ingot/runtime/generator.h>
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/nn/nn.h>
#include <ingot/runtime/ops.h>
#include <ingot/runtime/optim/optim.h>

#include "nn_golden.h"

namespace ingot {
namespace {

struct Block : nn::Module {
  nn::Linear in, out;
  nn::Dropout drop{0.5};
  explicit Block(i64 width) : in(width, 2 * width), out(2 * width, width) {}
  INGOT_MODULE(Block, in, out, drop)
  Tensor forward(const Tensor& x) { return x + out(drop(relu(in(x)))); }
};

struct Net : nn::Module {
  nn::Linear stem{3, 4};
  std::vector<nn::Handle<Block>> blocks;
  Block tail{4};
  Tensor scale = ones({4}).requires_grad_();
  Tensor ticks = zeros({1}, kInt64);
  INGOT_MODULE(Net, stem, blocks, tail, scale, ticks)

  Net() {
    blocks.emplace_back(4);
    blocks.emplace_back(4);
  }
  Tensor operator()(const Tensor& x) {
    Tensor y = stem(x);
    for (auto& block : blocks) y = block(y);
    return tail.forward(y) * scale;
  }
};

static_assert(!std::is_copy_constructible_v<Net>);

std::vector<std::string> names(const nn::NamedTensors& named) {
  std::vector<std::string> result;
  for (const auto& [name, t] : named) result.push_back(name);
  return result;
}

void expect_error(const std::function<void()>& act, const std::string& part) {
  try {
    act();
    ADD_FAILURE() << "accepted; expected: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("; at nn_test.cpp:"), std::string::npos)
        << error.what();
  }
}

void expect_near(const Tensor& got, std::span<const double> want, double tolerance) {
  const std::vector<double> values = got.to_vector<double>();
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(values[i], want[i], tolerance) << "element " << i;
  }
}

TEST(Module, NamesAreDottedAndInOrder) {
  Net net;
  EXPECT_EQ(names(net.named_parameters()),
            (std::vector<std::string>{"scale", "stem.weight", "stem.bias", "blocks.0.in.weight",
                                      "blocks.0.in.bias", "blocks.0.out.weight",
                                      "blocks.0.out.bias", "blocks.1.in.weight", "blocks.1.in.bias",
                                      "blocks.1.out.weight", "blocks.1.out.bias", "tail.in.weight",
                                      "tail.in.bias", "tail.out.weight", "tail.out.bias"}));
  EXPECT_EQ(names(net.named_buffers()), std::vector<std::string>{"ticks"});
  EXPECT_EQ(net.parameters().size(), 15u);
  EXPECT_EQ(net.state_dict().size(), 16u);
}

TEST(Module, MembersAreReferences) {
  Net net;
  net.stem = nn::Linear(3, 4, false);
  net.scale = zeros({4}).requires_grad_();
  const auto named = net.named_parameters();
  EXPECT_EQ(named.size(), 14u);
  EXPECT_EQ(named[0].second.impl(), net.scale.impl());
  EXPECT_EQ(named[1].second.impl(), net.stem->weight.impl());
  EXPECT_EQ(named[2].first, "blocks.0.in.weight");
}

TEST(Module, HandlesShare) {
  nn::Linear a{2, 3};
  nn::Linear b = a;
  EXPECT_EQ(a->weight.impl(), b->weight.impl());
  struct Tied : nn::Module {
    nn::Linear first{2, 2}, second = first;
    INGOT_MODULE(Tied, first, second)
  } tied;
  EXPECT_EQ(tied.parameters().size(), 2u);
  EXPECT_EQ(tied.state_dict().size(), 4u);
}

TEST(Module, RegisteredMembersCount) {
  struct Ported : nn::Module {
    nn::Linear fc{nullptr};
    Block block{2};
    Tensor gain, offset;
    Ported() {
      fc = register_module("fc", nn::Linear(2, 2));
      register_module("block", block);
      gain = register_parameter("gain", ones({2}));
      offset = register_buffer("offset", zeros({2}));
    }
  } ported;
  EXPECT_EQ(names(ported.state_dict()),
            (std::vector<std::string>{"gain", "offset", "fc.weight", "fc.bias", "block.in.weight",
                                      "block.in.bias", "block.out.weight", "block.out.bias"}));
  EXPECT_TRUE(ported.gain.requires_grad());
  EXPECT_EQ(ported.buffers().size(), 1u);
  expect_error([&] { ported.register_module("fc", nn::Linear(1, 1)); },
               "Module has a member \"fc\" already");
  expect_error([&] { ported.register_buffer("a.b", zeros({1})); }, "holds no dot, got \"a.b\"");
  expect_error([&] { ported.register_module("x", nn::Linear(nullptr)); }, "\"x\" is empty");
  expect_error([&] { ported.register_parameter("n", zeros({1}, kInt64)); },
               "\"n\" is i64; only floating tensors");
}

struct Scaled : nn::Module {
  Tensor scale = ones({2});
  Tensor frozen = ones({2}).requires_grad_(false);
  Tensor trained = ones({2}).requires_grad_();
  Tensor steps = zeros({}, kInt64);
  Tensor absent;
  INGOT_MODULE(Scaled, scale, frozen, trained, steps, absent)
};

// A listed tensor about which nothing was said is named once, with what to do; others are not.
TEST(Module, AParameterThatCannotTrainIsNamedOnce) {
  struct Outer : nn::Module {
    Scaled inner;
    std::vector<Tensor> gains{ones({2}), ones({2}).requires_grad_()};
    INGOT_MODULE(Outer, inner, gains)
  };
  testing::internal::CaptureStderr();
  Outer net, again;
  (void)net.state_dict();
  net.to(kFloat64);
  net.train();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  const std::vector<Tensor> parameters = net.parameters();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_NE(text.find("ingot: inner.scale, f64[2], is listed as a parameter of Scaled and does not "
                      "require grad, so it will not train"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("list it as buffer(scale)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("ingot: gains.0, "), std::string::npos) << text;
  EXPECT_NE(text.find("list it as buffer(gains)\n"), std::string::npos) << text;
  EXPECT_EQ(parameters.size(), 5);
  testing::internal::CaptureStderr();
  (void)net.parameters();
  (void)again.named_parameters();
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Module, BuffersAreSaidInTheList) {
  struct Norm : nn::Module {
    Tensor weight = ones({2}).requires_grad_();
    Tensor running_mean = zeros({2}), count = zeros({}, kInt64);
    std::vector<Tensor> history{zeros({2}), ones({2})};
    INGOT_MODULE(Norm, weight, buffer(running_mean), count, buffer(history))
    Tensor operator()(const Tensor& x) {
      {
        const NoGradGuard no_grad;
        running_mean.lerp_(x.mean(Dims{0}), 0.5);
      }
      return (x - running_mean) * weight;
    }
  };
  struct Net : nn::Module {
    Norm norm;
    INGOT_MODULE(Net, norm)
  } net;
  testing::internal::CaptureStderr();
  EXPECT_EQ(names(net.named_parameters()), (std::vector<std::string>{"norm.weight"}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const std::vector<std::string> buffers{"norm.running_mean", "norm.count", "norm.history.0",
                                         "norm.history.1"};
  EXPECT_EQ(names(net.named_buffers()), buffers);
  const auto state = net.state_dict();
  EXPECT_EQ(names(state),
            (std::vector<std::string>{"norm.weight", "norm.running_mean", "norm.count",
                                      "norm.history.0", "norm.history.1"}));
  net.norm(ones({3, 2})).sum().backward();
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  sgd.step();
  EXPECT_EQ(state[1].second.to_vector<double>(), (std::vector<double>{0.5, 0.5}));
  net.to(kFloat64);
  EXPECT_EQ(net.norm.running_mean.dtype(), kFloat64);
  EXPECT_EQ(net.norm.history[1].dtype(), kFloat64);
  Net other;
  other.load_state_dict(net.state_dict());
  EXPECT_EQ(other.norm.running_mean.to_vector<double>(), (std::vector<double>{0.5, 0.5}));
}

TEST(Module, StateRoundTrip) {
  manual_seed(3);
  Net a, b;
  const Tensor x = randn({5, 3});
  a.eval();
  b.eval();
  EXPECT_FALSE(equal(a(x), b(x)));
  b.load_state_dict(a.state_dict());
  EXPECT_TRUE(equal(a(x), b(x)));
  EXPECT_NE(a.stem->weight.impl(), b.stem->weight.impl());
  EXPECT_TRUE(b.stem->weight.requires_grad());
}

TEST(Module, StateMistakesChangeNothing) {
  Net net;
  const Tensor before = net.stem->weight.detach().clone();
  auto state = net.state_dict();
  for (auto& [name, t] : state) t = t + 1;

  auto missing = state;
  missing.erase(missing.begin());
  expect_error([&] { net.load_state_dict(missing); }, "load_state_dict: the state lacks scale");
  auto unknown = state;
  unknown.emplace_back("head.weight", zeros({1}));
  expect_error([&] { net.load_state_dict(unknown); }, "the module has no head.weight");
  auto shaped = state;
  shaped.back().second = zeros({7});
  expect_error([&] { net.load_state_dict(shaped); },
               "tail.out.bias has shape [4], the state's has [7]");
  EXPECT_TRUE(equal(net.stem->weight.detach(), before));

  unknown.erase(unknown.begin());
  net.load_state_dict(unknown, false);
  EXPECT_TRUE(equal(net.stem->weight.detach(), before + 1));
  EXPECT_TRUE(equal(net.scale.detach(), ones({4})));
}

TEST(Module, TrainingFlagReachesAll) {
  Net net;
  EXPECT_TRUE(net.is_training());
  net.eval();
  EXPECT_FALSE(net.blocks[1]->drop->is_training());
  EXPECT_FALSE(net.tail.is_training());
  const Tensor x = randn({2, 3});
  EXPECT_TRUE(equal(net(x), net(x)));
  net.train();
  EXPECT_TRUE(net.blocks[1]->drop->is_training());
  EXPECT_FALSE(equal(net(x), net(x)));
}

TEST(Module, ToKeepsTheTensors) {
  Net net;
  net.eval();
  const Tensor x = randn({5, 3});
  const Tensor y = net(x).detach();
  net.scale.mutable_grad() = ones({4});
  const std::vector<Tensor> params = net.parameters();
  optim::SGD sgd(params, {.lr = 0.5, .momentum = 0.9});

  net.to(kFloat64);
  EXPECT_EQ(net.scale.impl(), params[0].impl());
  EXPECT_EQ(params[0].dtype(), kFloat64);
  EXPECT_EQ(net.scale.grad().dtype(), kFloat64);
  EXPECT_EQ(net.ticks.dtype(), kInt64);
  EXPECT_TRUE(net.scale.requires_grad());
  EXPECT_TRUE(allclose(net(x.to(kFloat64)), y.to(kFloat64), 1e-4, 1e-5));

  sgd.step();
  EXPECT_EQ(net.scale.to_vector<double>(), std::vector<double>(4, 0.5));
  expect_error([&] { net.to(kInt64); }, "Module::to: the dtype must be a floating one, got i64");
}

TEST(Module, ZeroGrad) {
  Net net;
  net(randn({2, 3})).sum().backward();
  ASSERT_TRUE(net.scale.grad().defined());
  net.zero_grad(false);
  EXPECT_TRUE(equal(net.scale.grad(), zeros({4})));
  net.zero_grad();
  for (const Tensor& p : net.parameters()) EXPECT_FALSE(p.grad().defined());
}

TEST(Handle, EmptyOneIsNamed) {
  nn::Linear fc{nullptr};
  EXPECT_FALSE(static_cast<bool>(fc));
  expect_error([&] { (void)fc(zeros({1, 2})); }, "nn: the module handle is empty");
}

TEST(Handle, ErrorsNameTheCallersLine) {
  nn::Linear fc{3, 4};
  expect_error([&] { (void)fc(zeros({2, 5})); }, "linear: ");
  nn::Sequential net(nn::Flatten(), fc);
  expect_error([&] { (void)net(zeros({2, 5})); }, "linear: ");
}

TEST(Handle, OtherSignaturesAreForwarded) {
  struct ScaleImpl : nn::Module {
    double factor;
    explicit ScaleImpl(double f) : factor(f) {}
    std::pair<Tensor, int> forward(const Tensor& x, const Tensor& bias, int n) {
      return {x * factor + bias, n};
    }
  };
  nn::Handle<ScaleImpl> scale(2.5);
  const auto [y, n] = scale(tensor({2}), tensor({1}), 7);
  EXPECT_EQ(y.item<double>(), 6);
  EXPECT_EQ(n, 7);
}

TEST(Sequential, TakesModulesAndFunctions) {
  manual_seed(1);
  nn::Linear first{4, 8}, last{8, 2};
  nn::Sequential net(
      nn::Flatten(), first, relu, [](const Tensor& x) { return x * 2; }, last);
  const Tensor x = randn({3, 2, 2});
  const Tensor want = last(relu(first(x.reshape({3, 4}))) * 2);
  EXPECT_TRUE(equal(net(x), want));
  EXPECT_EQ(names(net->named_parameters()),
            (std::vector<std::string>{"1.weight", "1.bias", "4.weight", "4.bias"}));
  EXPECT_EQ(net->size(), 5);

  nn::Sequential copy = net;
  EXPECT_EQ(copy.ptr(), net.ptr());
  copy->push_back(nn::Dropout(0.25));
  EXPECT_EQ(net->size(), 6);
  nn::Sequential outer(copy, nn::Tanh());
  EXPECT_EQ(outer->named_parameters()[2].first, "0.4.weight");
}

TEST(Layers, InitialBoundsArePyTorchs) {
  manual_seed(0);
  for (const golden::LinearBounds& want : golden::kLinearBounds) {
    nn::Linear fc(want.in, 200000 / want.in);
    const double weight = fc->weight.abs().max().item<double>();
    const double bias = fc->bias.abs().max().item<double>();
    EXPECT_LE(weight, static_cast<float>(want.weight) * (1 + 1e-7)) << want.in;
    EXPECT_GT(weight, 0.999 * want.weight) << want.in;
    EXPECT_LE(bias, static_cast<float>(want.bias) * (1 + 1e-7)) << want.in;
    EXPECT_GT(bias, 0.97 * want.bias) << want.in;
    // Uniform: the variance is a third of the bound's square, the mean 0.
    const double variance = fc->weight.square().mean().item<double>();
    EXPECT_NEAR(variance / (want.weight * want.weight / 3), 1, 0.02) << want.in;
    EXPECT_NEAR(fc->weight.mean().item<double>() / want.weight, 0, 0.01) << want.in;
  }
  nn::Embedding rows(1000, 200);
  EXPECT_NEAR(rows->weight.mean().item<double>(), 0, 0.01);
  EXPECT_NEAR(rows->weight.square().mean().item<double>(), 1, 0.02);
  nn::LayerNorm norm({3, 4});
  EXPECT_TRUE(equal(norm->weight.detach(), ones({3, 4})));
  EXPECT_TRUE(equal(norm->bias.detach(), zeros({3, 4})));
}

TEST(Layers, SeedFixesThem) {
  manual_seed(7);
  nn::Linear a{5, 6};
  manual_seed(7);
  nn::Linear b{5, 6};
  manual_seed(8);
  nn::Linear c{5, 6};
  EXPECT_TRUE(equal(a->weight, b->weight));
  EXPECT_TRUE(equal(a->bias, b->bias));
  EXPECT_FALSE(equal(a->weight, c->weight));
}

TEST(Layers, MistakesAreNamed) {
  expect_error([] { nn::Linear fc(-1, 4); }, "Linear: the sizes must not be negative, got -1 -> 4");
  expect_error([] { nn::Embedding e(4, -2); }, "Embedding: the sizes must not be negative");
  expect_error([] { nn::Dropout d(1.5); }, "Dropout: p must lie in [0, 1], got 1.5");
  expect_error([] { nn::LayerNorm n(Dims{}); }, "LayerNorm: there is no axis");
  expect_error([] { nn::GELU g("fast"); },
               "GELU: approximate is \"none\" or \"tanh\", got \"fast\"");
}

TEST(Layers, DropoutScalesWhatItKeeps) {
  manual_seed(5);
  nn::Dropout drop(0.25);
  const Tensor x = ones({100000});
  const Tensor y = drop(x);
  const double kept = y.ne(0).to(kFloat64).mean().item<double>();
  EXPECT_NEAR(kept, 0.75, 0.01);
  EXPECT_NEAR(y.max().item<double>(), 1 / 0.75, 1e-6);
  drop->eval();
  EXPECT_TRUE(equal(drop(x), x));
}

// Values that f32 holds exactly, as in tests/golden/nn.py.
void fill(const Tensor& t, int salt) {
  std::vector<double> flat(static_cast<std::size_t>(t.numel()));
  for (int i = 0; i < static_cast<int>(flat.size()); ++i) {
    flat[static_cast<std::size_t>(i)] = ((i * 5 + salt * 3) % 13 - 6) / 8.0;
  }
  NoGradGuard no_grad;
  Tensor(t).copy_(from_vector(flat, t.sizes(), kFloat64));
}

TEST(Layers, NetworkMatchesPyTorch) {
  for (DType dtype : {kFloat64, kFloat32}) {
    const double tolerance = dtype == kFloat64 ? 1e-13 : 2e-6;
    nn::Embedding embed(7, 6);
    nn::Sequential net(nn::Linear(6, 5), nn::LayerNorm(5), nn::GELU(), nn::Linear(5, 4, false),
                       nn::SiLU(), nn::Tanh(), nn::Linear(4, 3), nn::Sigmoid(), nn::ReLU());
    embed->to(dtype);
    net->to(dtype);
    std::vector<Tensor> params = embed->parameters();
    for (const Tensor& p : net->parameters()) params.push_back(p);
    for (std::size_t i = 0; i < params.size(); ++i) fill(params[i], static_cast<int>(i));

    const Tensor index = from_vector(std::vector<i64>{1, 4, 6, 0, 1, 1}, {3, 2});
    const Tensor logits = net(embed(index)).flatten(1);
    const Tensor loss = cross_entropy(logits, from_vector(std::vector<i64>{5, 0, 2}, {3}));
    loss.backward();
    expect_near(logits.detach(), golden::kLogits, tolerance);
    EXPECT_NEAR(loss.item<double>(), golden::kLoss, tolerance);
    const std::span<const double> want[] = {golden::kGrad0, golden::kGrad1, golden::kGrad2,
                                            golden::kGrad3, golden::kGrad4, golden::kGrad5,
                                            golden::kGrad6, golden::kGrad7};
    ASSERT_EQ(params.size(), std::size(want));
    for (std::size_t i = 0; i < params.size(); ++i) {
      SCOPED_TRACE("parameter " + std::to_string(i));
      expect_near(params[i].grad(), want[i], tolerance);
    }
  }
}

class Ranges final : public Observer {
 public:
  Ranges() { g_observer = this; }
  ~Ranges() { g_observer = nullptr; }
  void begin(const Event& event) override {
    open.emplace_back(event.kind == EventKind::range ? event.name : "");
    if (event.kind == EventKind::range) names.emplace_back(event.name);
  }
  void end() override { open.pop_back(); }
  void memory(const MemoryEvent&) override {}
  std::vector<std::string> names, open;
};

TEST(Ranges, CallsCarryDottedNames) {
  Net net;
  (void)net.tail.parameters();
  {
    Ranges ranges;
    (void)net(zeros({1, 3}));
    // Walked from `tail` alone: its layers have their name below it, the others their type.
    EXPECT_EQ(ranges.names.front(), "Linear");
    EXPECT_EQ(ranges.names.back(), "out");
    EXPECT_TRUE(ranges.open.empty());
  }
  (void)net.parameters();
  (void)net.tail.parameters();
  Ranges ranges;
  (void)net(zeros({1, 3}));
  EXPECT_EQ(ranges.names,
            (std::vector<std::string>{"stem", "blocks.0", "blocks.0.in", "blocks.0.drop",
                                      "blocks.0.out", "blocks.1", "blocks.1.in", "blocks.1.drop",
                                      "blocks.1.out", "tail.in", "tail.drop", "tail.out"}));
  EXPECT_TRUE(ranges.open.empty());
}

TEST(Ranges, NamesOutliveTheModule) {
  const char* name = nullptr;
  {
    Net net;
    (void)net.parameters();
    name = net.blocks[1]->out->name();
  }
  EXPECT_STREQ(name, "blocks.1.out");
}

}  // namespace
}  // namespace ingot
