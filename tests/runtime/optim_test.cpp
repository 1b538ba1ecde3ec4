#include <cmath>
#include <functional>
#include <span>

#include <gtest/gtest.h>

#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/generator.h>
#include <ingot/runtime/nn/clip_grad.h>
#include <ingot/runtime/observer.h>
#include <ingot/runtime/ops.h>
#include <ingot/runtime/optim/optim.h>

#include "optim_golden.h"

namespace ingot {
namespace {

using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(const std::vector<Tensor>&)>;

template <class O, class Options>
MakeOptimizer maker(Options options) {
  return [options](const std::vector<Tensor>& p) { return std::make_unique<O>(p, options); };
}

// Two parameters, [3, 4] and [5]; the numbers are those of tests/golden/optim.py.
std::vector<Tensor> start(DType dtype) {
  std::vector<double> flat(17);
  for (int i = 0; i < 17; ++i) flat[i] = ((i * 3) % 7 - 3) / 4.0;
  Tensor all = from_vector(flat, {17}, kFloat64).to(dtype);
  Tensor a = all.slice(0, 0, 12).reshape({3, 4}).clone(), b = all.slice(0, 12).clone();
  return {a.requires_grad_(), b.requires_grad_()};
}

void set_gradients(std::vector<Tensor>& params, int t) {
  std::vector<double> flat(17);
  for (int i = 0; i < 17; ++i) flat[i] = ((i * 7 + t * 5) % 11 - 5) / 8.0;
  Tensor all = from_vector(flat, {17}, kFloat64).to(params[0].dtype());
  params[0].mutable_grad() = all.slice(0, 0, 12).reshape({3, 4}).clone();
  params[1].mutable_grad() = t == 3 ? Tensor() : all.slice(0, 12).clone();
}

std::vector<double> values(const std::vector<Tensor>& params) {
  std::vector<double> all;
  for (const Tensor& p : params) {
    for (double v : p.to_vector<double>()) all.push_back(v);
  }
  return all;
}

void run_steps(optim::Optimizer& optimizer, std::vector<Tensor>& params, int from, int to) {
  for (int t = from; t < to; ++t) {
    set_gradients(params, t);
    if (t == 6) optimizer.set_lr(optimizer.lr() / 2);
    optimizer.step();
  }
}

void expect_near(const std::vector<double>& got, std::span<const double> want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], tolerance) << "element " << i;
  }
}

struct GoldenRun {
  const char* name;
  MakeOptimizer make;
  std::span<const double> want;
};

const optim::AdamOptions kAdamDecay = {
    .lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-4, .weight_decay = 0.1};
const optim::AdamWOptions kAdamWDecay = {
    .lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-4, .weight_decay = 0.1};

std::vector<GoldenRun> golden_runs() {
  using optim::SGD, optim::Adam, optim::AdamW, optim::SGDOptions;
  return {
      {"sgd", maker<SGD>(SGDOptions{.lr = 0.1}), golden::kSgd},
      {"sgd decay", maker<SGD>(SGDOptions{.lr = 0.1, .weight_decay = 0.05}), golden::kSgdDecay},
      {"sgd momentum", maker<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9}), golden::kSgdMomentum},
      {"sgd dampening",
       maker<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.8, .dampening = 0.25, .weight_decay = 0.01}),
       golden::kSgdDampening},
      {"sgd nesterov",
       maker<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true}),
       golden::kSgdNesterov},
      {"adam", maker<Adam>(optim::AdamOptions{.lr = 0.05}), golden::kAdam},
      {"adam decay", maker<Adam>(kAdamDecay), golden::kAdamDecay},
      {"adamw", maker<AdamW>(optim::AdamWOptions{.lr = 0.05}), golden::kAdamW},
      {"adamw decay", maker<AdamW>(kAdamWDecay), golden::kAdamWDecay},
  };
}

TEST(Optim, TenStepsMatchPyTorchInF64) {
  for (const GoldenRun& run : golden_runs()) {
    SCOPED_TRACE(run.name);
    std::vector<Tensor> params = start(kFloat64);
    const auto optimizer = run.make(params);
    run_steps(*optimizer, params, 0, 10);
    expect_near(values(params), run.want, 1e-13);
  }
}

TEST(Optim, TenStepsMatchPyTorchInF32) {
  for (const GoldenRun& run : golden_runs()) {
    SCOPED_TRACE(run.name);
    std::vector<Tensor> params = start(kFloat32);
    const auto optimizer = run.make(params);
    run_steps(*optimizer, params, 0, 10);
    expect_near(values(params), run.want, 2e-6);
  }
}

TEST(Optim, ClippedStepsMatchPyTorch) {
  for (DType dtype : {kFloat64, kFloat32}) {
    const double tolerance = dtype == kFloat64 ? 1e-13 : 1e-6;
    std::vector<Tensor> params = start(dtype);
    optim::SGD sgd(params, {.lr = 0.1});
    std::vector<double> norms;
    for (int t = 0; t < 10; ++t) {
      set_gradients(params, t);
      norms.push_back(nn::utils::clip_grad_norm_(params, 1.0).item<double>());
      if (t == 6) sgd.set_lr(0.05);
      sgd.step();
    }
    expect_near(values(params), golden::kClipped, tolerance);
    expect_near(norms, golden::kClipNorms, 4 * tolerance);
  }
}

TEST(Optim, ClippingLeavesSmallGradientsAndTakesAnyMix) {
  Tensor a = zeros({2}, requires_grad()), b = zeros({2}, dtype(kFloat64).requires_grad());
  EXPECT_EQ(nn::utils::clip_grad_norm_({a, b}, 1.0).item<double>(), 0);
  a.mutable_grad() = tensor({0.25, 0});
  b.mutable_grad() = tensor({0, 0.5}, kFloat64);
  nn::utils::clip_grad_norm_({a, b}, 1.0);
  EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{0.25f, 0}));
  EXPECT_EQ(b.grad().to_vector<double>(), (std::vector<double>{0, 0.5}));
  EXPECT_THROW(nn::utils::clip_grad_norm_({a, b}, -1), Error);
}

TEST(Optim, ZeroGradDropsOrClears) {
  std::vector<Tensor> params = start(kFloat32);
  optim::SGD sgd(params, {.lr = 0.1});
  set_gradients(params, 0);
  const Tensor grad = params[0].grad();
  sgd.zero_grad(false);
  EXPECT_TRUE(equal(grad, zeros({3, 4})));
  sgd.zero_grad();
  EXPECT_FALSE(params[0].grad().defined());
  EXPECT_FALSE(params[1].grad().defined());
}

TEST(Optim, AParameterWithoutGradientStays) {
  std::vector<Tensor> params = start(kFloat32);
  const Tensor before = params[1].detach().clone();
  optim::AdamW adam(params, {.lr = 0.1});
  set_gradients(params, 3);
  adam.step();
  EXPECT_TRUE(equal(params[1].detach(), before));
}

TEST(Optim, StepsAreNoHistory) {
  std::vector<Tensor> params = start(kFloat32);
  optim::SGD sgd(params, {.lr = 0.1, .momentum = 0.9});
  params[0].sum().backward();
  sgd.step();
  EXPECT_TRUE(params[0].is_leaf());
  EXPECT_TRUE(params[0].requires_grad());
  for (const auto& [name, t] : sgd.state_dict()) EXPECT_FALSE(t.requires_grad()) << name;
}

// A saved state continues to the same bits as the run that it was taken from.
TEST(Optim, StateContinuesBitForBit) {
  for (const GoldenRun& run : golden_runs()) {
    SCOPED_TRACE(run.name);
    std::vector<Tensor> params = start(kFloat32);
    const auto optimizer = run.make(params);
    run_steps(*optimizer, params, 0, 7);
    std::vector<Tensor> later = start(kFloat32);
    {
      NoGradGuard no_grad;
      for (std::size_t i = 0; i < later.size(); ++i) later[i].copy_(params[i]);
    }
    const auto resumed = run.make(later);
    resumed->load_state_dict(optimizer->state_dict());
    EXPECT_EQ(resumed->lr(), optimizer->lr());
    run_steps(*optimizer, params, 7, 10);
    run_steps(*resumed, later, 7, 10);
    EXPECT_EQ(values(later), values(params));
  }
}

TEST(Optim, AWrongStateChangesNothing) {
  std::vector<Tensor> params = start(kFloat32);
  optim::AdamW adam(params, {.lr = 0.1});
  run_steps(adam, params, 0, 2);
  const auto before = adam.state_dict();
  const auto expect_refused = [&](optim::NamedTensors state, const std::string& part) {
    try {
      adam.load_state_dict(state);
      ADD_FAILURE() << "accepted; expected: " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("optim_test.cpp:"), std::string::npos);
    }
    const auto after = adam.state_dict();
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_TRUE(equal(after[i].second, before[i].second)) << before[i].first;
    }
  };
  auto state = before;
  state.pop_back();
  expect_refused(state, "AdamW: the state lacks 1.exp_avg_sq");
  state = before;
  state.emplace_back("2.step", scalar_tensor(1));
  expect_refused(state, "AdamW: the optimiser has no 2.step");
  state = before;
  for (auto& [name, t] : state) {
    if (name == "0.exp_avg") t = zeros({4, 3});
  }
  expect_refused(state, "0.exp_avg has shape [3, 4], the state's has [4, 3]");
}

// What compile() needs of a step: the same ops each time, differing in scalars alone, and no look
// at any bytes.
class Watch final : public Interceptor {
 public:
  Watch() { t_interceptor = this; }
  ~Watch() { t_interceptor = nullptr; }
  Match match(const Call&, Tensor*) override { return Match::no; }
  void executed(const Call& call, const Tensor*, Ticket) override {
    ops.emplace_back(call.op.name);
    structure.push_back(call.attrs);
  }
  void observe(Access, const TensorImpl*, const char*, Loc) override { ++observations; }
  void leave(const char*, Loc) override {}

  std::vector<std::string> ops;
  std::vector<Attrs> structure;
  int observations = 0;
};

TEST(Optim, EveryStepHasTheSameOpsAndReadsNothing) {
  for (const GoldenRun& run : golden_runs()) {
    SCOPED_TRACE(run.name);
    std::vector<Tensor> params = start(kFloat32);
    const auto optimizer = run.make(params);
    std::vector<std::string> first;
    std::vector<Attrs> first_structure;
    for (int t = 0; t < 3; ++t) {
      set_gradients(params, t);
      Watch watch;
      nn::utils::clip_grad_norm_(params, 1.0);
      optimizer->step();
      optimizer->zero_grad();
      EXPECT_EQ(watch.observations, 0);
      if (t == 0) {
        first = watch.ops;
        first_structure = watch.structure;
      }
      EXPECT_EQ(watch.ops, first);
      for (std::size_t i = 0; i < std::min(first.size(), watch.ops.size()); ++i) {
        EXPECT_TRUE(watch.structure[i].same_structure(first_structure[i])) << first[i];
      }
    }
    EXPECT_GT(first.size(), 4u);
  }
}

class Ranges final : public Observer {
 public:
  Ranges() { g_observer = this; }
  ~Ranges() { g_observer = nullptr; }
  void begin(const Event& event) override {
    if (event.kind == EventKind::range) names.emplace_back(event.name);
  }
  void end() override {}
  void memory(const MemoryEvent&) override {}
  std::vector<std::string> names;
};

TEST(Optim, StepsAreNamedRanges) {
  std::vector<Tensor> params = start(kFloat32);
  optim::SGD sgd(params, {.lr = 0.1});
  set_gradients(params, 0);
  Ranges ranges;
  sgd.step();
  sgd.zero_grad();
  EXPECT_EQ(ranges.names, (std::vector<std::string>{"Optimizer.step#SGD.step",
                                                    "Optimizer.zero_grad#SGD.zero_grad"}));
}

TEST(Optim, MistakesAreNamed) {
  const std::vector<Tensor> params = start(kFloat32);
  const auto expect = [](const std::function<void()>& act, const std::string& part) {
    try {
      act();
      ADD_FAILURE() << "accepted; expected: " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("; at optim_test.cpp:"), std::string::npos);
    }
  };
  using namespace optim;
  expect([&] { SGD s({}); }, "SGD: the parameter list is empty");
  expect([&] { SGD s({Tensor()}); }, "SGD: parameter 0 is undefined");
  expect([&] { SGD s({params[0], params[0]}); }, "SGD: parameter 1 is listed twice");
  expect([&] { SGD s({params[0] * 2}); }, "SGD: parameter 0 is the result of an op");
  expect([&] { SGD s(params, {.lr = -1}); }, "SGD: lr must not be negative, got -1");
  expect([&] { SGD s(params, {.lr = std::nan("")}); }, "SGD: lr must not be negative, got nan");
  expect([&] { SGD s(params, {.momentum = -0.5}); }, "SGD: momentum must not be negative");
  expect([&] { SGD s(params, {.nesterov = true}); }, "SGD: nesterov needs a momentum above 0");
  const std::vector<Tensor> whole = {params[0], zeros({2}, kInt64)};
  expect([&] { AdamW a(whole); }, "AdamW: parameter 1 is ");
  expect([&] { AdamW a(whole); }, "i64[2], not floating");
  expect([&] { AdamW a(params, {.beta1 = 1}); }, "AdamW: beta1 must lie in [0, 1), got 1");
  expect([&] { Adam a(params, {.beta2 = -0.1}); }, "Adam: beta2 must lie in [0, 1), got -0.1");
  expect([&] { Adam a(params, {.eps = -1}); }, "Adam: eps must not be negative");
  expect([&] { AdamW(params).set_lr(-2); }, "AdamW: lr must not be negative, got -2");
}

TEST(Optim, AStepThatIsRefusedChangesNothing) {
  Tensor p = ones({2}, requires_grad()), q = ones({2}, requires_grad());
  optim::AdamW optimizer({p, q});
  p.mutable_grad() = ones({2});
  q.mutable_grad() = ones({3});
  EXPECT_THROW(optimizer.step(), Error);
  EXPECT_TRUE(equal(p.detach(), ones({2})));
  q.mutable_grad() = ones({2}, kInt64);
  EXPECT_THROW(optimizer.step(), Error);
  EXPECT_EQ(optimizer.state_dict()[1].second.item<i64>(), 0);
}

}  // namespace
}  // namespace ingot
