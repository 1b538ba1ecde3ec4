// Every public function that refuses names itself and ends in the line of its caller.
#include <functional>
#include <string>
#include <vector>

#include <ingot/ingot.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;

struct Refused {
  const char* op;
  int line;
  std::function<void()> call;
};

// __builtin_LINE() in both places: what the function's own default argument sees.
#define REFUSED(op, ...)                               \
  Refused {                                            \
    op, __builtin_LINE(), [&] { (void)(__VA_ARGS__); } \
  }

void expect_lines(const std::vector<Refused>& calls) {
  for (const Refused& c : calls) {
    SCOPED_TRACE(std::string(c.op) + " of line " + std::to_string(c.line));
    try {
      c.call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& e) {
      const std::string text = e.what(), line = "error_lines_test.cpp:" + std::to_string(c.line);
      EXPECT_TRUE(text.starts_with(std::string(c.op) + ": ")) << text;
      EXPECT_TRUE(text.ends_with("; at " + line)) << text;
      EXPECT_EQ(text.find("; at "), text.rfind("; at ")) << text;
      EXPECT_EQ(e.op(), c.op) << text;
      EXPECT_EQ(to_string(e.where()), line) << text;
    }
  }
}

TEST(ErrorLines, OfCreation) {
  const std::vector<float> three = {1, 2, 3};
  float values[4] = {};
  char* const odd = reinterpret_cast<char*>(values) + 1;
  const Tensor whole = zeros({2}, kInt64), none;
  constexpr i64 kHuge = i64{1} << 50;
  expect_lines({
      REFUSED("zeros", zeros({-1})),
      REFUSED("ones", ones({-1})),
      REFUSED("empty", empty({kHuge, kHuge})),
      REFUSED("empty", empty({kHuge})),
      REFUSED("full", full({-1}, 2)),
      REFUSED("zeros_like", zeros_like(none)),
      REFUSED("full_like", full_like(none, 2)),
      REFUSED("Dims", zeros({1, 1, 1, 1, 1, 1, 1, 1, 1})),
      REFUSED("Dims", zeros(std::vector<i64>(9))),
      REFUSED("arange", arange(0, 1, 0)),
      REFUSED("arange", arange(0, 1, -1)),
      REFUSED("eye", eye(-1)),
      REFUSED("eye", eye(kHuge)),
      REFUSED("rand", rand({-1})),
      REFUSED("rand", rand({2}, kInt64)),
      REFUSED("rand_like", rand_like(whole)),
      REFUSED("randn_like", randn_like(whole)),
      REFUSED("randint", randint(3, 3, {2})),
      REFUSED("randint", randint(0, 300, {2}, kUInt8)),
      REFUSED("randperm", randperm(-1)),
      REFUSED("randperm", randperm(kHuge)),
      REFUSED("from_vector", from_vector(three, {2})),
      REFUSED("from_vector", from_vector(three, {-1, 2})),
      REFUSED("from_vector", from_vector(three, {})),
      REFUSED("from_vector", from_vector(three, {-3, 1})),
      REFUSED("from_blob", from_blob(nullptr, {2})),
      REFUSED("from_blob", from_blob(odd, {2})),
      REFUSED("from_blob", from_blob(values, {-2})),
      REFUSED("zeros", zeros({2}, dtype(kInt64).requires_grad())),
      REFUSED("Device", Device("gpu")),
      REFUSED("Device", Device(kCUDA, 100)),
      REFUSED("Device", zeros({2}, "gpu")),
      REFUSED("Device", whole.to("gpu")),
      REFUSED("Device", Device(static_cast<const char*>(nullptr))),
      REFUSED("arange", arange(2, requires_grad())),
      REFUSED("eye", eye(2, dtype(kInt64).requires_grad())),
      REFUSED("randperm", randperm(2, requires_grad())),
      REFUSED("from_vector", from_vector(std::vector<int>{1}, {1}, requires_grad())),
      REFUSED("from_blob", from_blob(values, {2}, dtype(kInt64).requires_grad())),
  });
}

TEST(ErrorLines, ALiteralZeroIsANumber) {
  EXPECT_TRUE(has_values(arange(-2, 0), {-2, -1}));
  static_assert(!std::is_convertible_v<int, TensorOptions>);
  static_assert(!std::is_convertible_v<std::nullptr_t, TensorOptions>);
}

TEST(ErrorLines, OfElementwiseOps) {
  const Tensor x = ones({2, 3}), y = ones({4}), none, whole = zeros({2, 3}, kInt64);
  Tensor z = ones({2, 3}), w = zeros({2, 3}, kInt64);
  expect_lines({
      REFUSED("add", x + y),
      REFUSED("sub", x.sub(y)),
      REFUSED("mul", 2 * none),
      REFUSED("neg", -none),
      REFUSED("logical_not", !none),
      REFUSED("relu", relu(none)),
      REFUSED("add_", w.add_(0.5)),
      REFUSED("add_", z.add_(y)),
      REFUSED("gelu", gelu(x, "exact")),
      REFUSED("where", where(x, x, y)),
      REFUSED("where", where(x > 0, x, y)),
      REFUSED("clamp", clamp(x, {}, {})),
      REFUSED("clamp_", z.clamp_({}, {})),
      REFUSED("lerp", lerp(x, y, 0.5)),
      REFUSED("addcmul", addcmul(x, y, x)),
      REFUSED("copy_", z.copy_(y)),
      REFUSED("copy_", z[0] = y),
      REFUSED("mse_loss", mse_loss(x, y)),
  });
}

TEST(ErrorLines, OfViewsAndIndices) {
  const Tensor x = ones({2, 3}), deep = ones({2, 2, 2}), none, at = tensor({5}, kInt64);
  Tensor y = ones({2, 3});
  expect_lines({
      REFUSED("reshape", reshape(x, {4})),
      REFUSED("reshape", reshape(x, {-1, -1})),
      REFUSED("view", view(x, {-1, 4})),
      REFUSED("view", x.view({-2, 3})),
      REFUSED("flatten", flatten(x, 1, 0)),
      REFUSED("permute", permute(x, {0, 2})),
      REFUSED("permute", permute(x, {0, 0})),
      REFUSED("transpose", transpose(x, 0, 2)),
      REFUSED("t", deep.t()),
      REFUSED("t", none.t()),
      REFUSED("expand", expand(x, {-1, 2, 3})),
      REFUSED("expand", expand(x, {4, 3})),
      REFUSED("squeeze", squeeze(x, 2)),
      REFUSED("unsqueeze", unsqueeze(x, 3)),
      REFUSED("slice", slice(x, 2)),
      REFUSED("slice", slice(x, 0, 0, 2, -1)),
      REFUSED("narrow", narrow(x, 0, 1, 2)),
      REFUSED("select", select(x, 0, 2)),
      REFUSED("select", x[0][5]),
      REFUSED("select", x[{0, 5}]),
      REFUSED("index", x[{0, 0, 0}]),
      REFUSED("index", x[at]),
      REFUSED("index", x.index({at, at, at})),
      REFUSED("index", x.index({ones({}, kBool)})),
      REFUSED("index_put_", y.index_put_({at}, 1)),
      REFUSED("index_put_", y.index_put_({5}, 1)),
      REFUSED("index_put_", y.index_put_({0, 0, 0}, 1)),
      REFUSED("index_put_", y.index_put_({All}, ones({4}))),
      REFUSED("index_put_", y.index_put_({All}, ones({4}), true)),
      REFUSED("index_put_", y.index_put_({none}, 1)),
      REFUSED("index", x[none]),
      REFUSED("index", x.index({All, none})),
      REFUSED("index", none[{0, 0}]),
      REFUSED("size", x.size(2)),
      REFUSED("size", none.size(0)),
      REFUSED("item", x.item<float>()),
      REFUSED("data_ptr", x.data_ptr<i64>()),
      REFUSED("accessor", x.accessor<float, 1>()),
      REFUSED("to_vector", none.to_vector<float>()),
      REFUSED("cat", cat({})),
      REFUSED("cat", cat({x, deep})),
      REFUSED("stack", stack({})),
      REFUSED("stack", stack({x, deep})),
      REFUSED("stack", stack({x, x}, 5)),
      REFUSED("nonzero", nonzero(none)),
      REFUSED("zero_", Tensor().zero_()),
      REFUSED("flip", flip(x, {0, 0})),
      REFUSED("index_select", index_select(x, 0, at)),
      REFUSED("index_add", index_add(x, 0, at, x)),
      REFUSED("gather", gather(x, 0, at)),
      REFUSED("scatter_add", scatter_add(x, 0, at, at)),
      REFUSED("embedding", embedding(x, at)),
      REFUSED("one_hot", one_hot(at, 3)),
      REFUSED("one_hot", one_hot(at, -1)),
      REFUSED("masked_select", masked_select(x, x)),
      REFUSED("masked_select", masked_select(x, ones({5}, kBool))),
      REFUSED("allclose", allclose(x, ones({5}))),
      REFUSED("equal", equal(x, none)),
  });
}

TEST(ErrorLines, OfReductionsAndComposites) {
  const Tensor x = ones({2, 3}), whole = zeros({2}, kInt64), none;
  const Tensor outside = tensor({0, 7}, kInt64);
  expect_lines({
      REFUSED("sum", sum(x, {2})),
      REFUSED("sum", sum(x, {0, 0})),
      REFUSED("mean", mean(whole)),
      REFUSED("amax", amax(ones({0}))),
      REFUSED("max", max(ones({0}))),
      REFUSED("min", min(ones({0}))),
      REFUSED("argmax", argmax(x, 2)),
      REFUSED("topk", topk(x, 9)),
      REFUSED("var", var(whole)),
      REFUSED("std", whole.std()),
      REFUSED("logsumexp", logsumexp(x, 2)),
      REFUSED("matmul", matmul(x, x)),
      REFUSED("addmm", addmm(x, x, x)),
      REFUSED("linear", linear(x, x.t())),
      REFUSED("softmax", softmax(x, 2)),
      REFUSED("log_softmax", log_softmax(x, 2)),
      REFUSED("layer_norm", layer_norm(x, {2})),
      REFUSED("layer_norm", layer_norm(x, {3}, ones({2}))),
      REFUSED("layer_norm", layer_norm(whole, {2})),
      REFUSED("dropout", dropout(x, 2)),
      REFUSED("dropout", dropout(whole)),
      REFUSED("dropout", dropout(none, 0.5, false)),
      REFUSED("cross_entropy", cross_entropy(x, whole, {.reduction = "max"})),
      REFUSED("cross_entropy", cross_entropy(x, whole, {.label_smoothing = 2})),
      REFUSED("cross_entropy", cross_entropy(x, outside)),
  });
}

TEST(ErrorLines, OfGradients) {
  const auto leaf = [] { return ones({2}, requires_grad()); };
  Tensor x = leaf(), twice = (x * x).sum(), changed = leaf().exp(), whole = zeros({2}, kInt64);
  const Tensor after = (changed * changed).sum();
  twice.backward();
  changed.add_(1);
  const auto hooked = [&] {
    Tensor y = x * 2;
    y.register_hook([](const Tensor&) { return ones({5}); });
    return y.sum();
  };
  const Tensor none, wrong = hooked(), product = prod(x);
  const auto sum_of = [](const Tensor& t) { return t.sum(); };
  expect_lines({
      REFUSED("backward", x.backward()),
      REFUSED("backward", ones({2}).sum().backward()),
      REFUSED("backward", (x * 2).sum().backward(ones({3}))),
      REFUSED("backward", twice.backward()),
      REFUSED("backward", after.backward()),
      REFUSED("backward", product.backward()),
      REFUSED("backward", wrong.backward()),
      REFUSED("requires_grad_", whole.requires_grad_()),
      REFUSED("retain_grad", whole.retain_grad()),
      REFUSED("register_hook", x.register_hook(nullptr)),
      REFUSED("gradcheck", gradcheck(sum_of, whole)),
      REFUSED("gradcheck", gradcheck(sum_of, none)),
  });
}

TEST(ErrorLines, OfSettings) {
  expect_lines({
      REFUSED("set_num_threads", set_num_threads(0)),
      REFUSED("set_memory_limit", set_memory_limit(-1)),
      REFUSED("cuda::set_memory_limit", cuda::set_memory_limit(1.5)),
      REFUSED("cuda::memory_summary", cuda::memory_summary(kCPU)),
      REFUSED("cuda::empty_cache", cuda::empty_cache(kCPU)),
      REFUSED("cuda::synchronize", cuda::synchronize(kCPU)),
      REFUSED("compile", compile([] { return ones({2}); }, {.disable = {"fission"}})),
      REFUSED("compile", compile([] { return ones({2}); }, {.max_variants = -1})),
  });
}

TEST(ErrorLines, OfAGpuThatIsNotThere) {
  if (cuda::is_available()) GTEST_SKIP() << "there is a GPU";
  const Tensor x = ones({2}, kCPU);
  expect_lines({
      REFUSED("zeros", zeros({2}, kCUDA)),
      REFUSED("full", full({2}, 1, kCUDA)),
      REFUSED("randn", randn({2}, kCUDA)),
      REFUSED("arange", arange(2, kCUDA)),
      REFUSED("eye", eye(2, kCUDA)),
      REFUSED("randperm", randperm(2, kCUDA)),
      REFUSED("tensor", tensor({1, 2}, kCUDA)),
      REFUSED("from_vector", from_vector(std::vector<i64>{1}, {1}, kCUDA)),
      REFUSED("to", x.to(kCUDA)),
      REFUSED("cuda", x.cuda()),
      REFUSED("pin_memory", x.pin_memory()),
      REFUSED("memory_stats", memory_stats(kCUDA)),
      REFUSED("memory_summary", memory_summary(kCUDA)),
      REFUSED("reset_peak_memory", reset_peak_memory(kCUDA)),
      REFUSED("empty_cache", empty_cache(kCUDA)),
      REFUSED("set_memory_limit", set_memory_limit(0, kCUDA)),
      REFUSED("cuda::memory_summary", cuda::memory_summary()),
      REFUSED("cuda::empty_cache", cuda::empty_cache()),
      REFUSED("cuda::set_memory_limit", cuda::set_memory_limit(0.5)),
      REFUSED("cuda::synchronize", cuda::synchronize()),
      REFUSED("cuda::Stream", cuda::Stream()),
      REFUSED("profiler", profiler::Session({.activities = {profiler::Activity::CUDA}})),
  });
}

TEST(ErrorLines, OfModulesOptimisersAndData) {
  const Tensor x = ones({2, 3}), whole = zeros({2}, kInt64);
  std::vector<Tensor> leaves = {ones({2}, requires_grad())};
  nn::Linear layer(2, 3);
  nn::Linear none = nullptr;
  const auto compiled = compile(layer);
  expect_lines({
      REFUSED("Linear", nn::Linear(-1, 2)),
      REFUSED("requires_grad_", nn::Linear(2, 2, true, kInt64)),
      REFUSED("Embedding", nn::Embedding(-1, 2)),
      REFUSED("LayerNorm", nn::LayerNorm(Dims())),
      REFUSED("Dropout", nn::Dropout(2)),
      REFUSED("nn", none(x)),
      REFUSED("linear", layer(x)),
      REFUSED("linear", compiled(x)),
      REFUSED("load_state_dict", layer->load_state_dict({})),
      REFUSED("clip_grad_norm_", nn::utils::clip_grad_norm_(leaves, -1)),
      REFUSED("SGD", optim::SGD({})),
      REFUSED("SGD", optim::SGD(leaves, {.lr = -1})),
      REFUSED("Adam", optim::Adam(leaves, {.lr = -1})),
      REFUSED("AdamW", optim::AdamW(leaves, {.eps = -1})),
      REFUSED("Dataset", data::Dataset(x, ones({5}))),
      REFUSED("idx", data::idx("/nonexistent", true)),
      REFUSED("idx", data::read_idx("/nonexistent/x")),
      REFUSED("csv", data::csv("/nonexistent", "y")),
  });
}

TEST(ErrorLines, OfProfiles) {
  profiler::Session session({.schedule = profiler::Schedule{.wait = 0, .warmup = 0, .active = 1}});
  expect_lines({
      REFUSED("profiler", session.start()),
      REFUSED("profiler", profiler::Session()),
      REFUSED("profiler", session.key_averages()),
      REFUSED("profiler", session.export_chrome_trace("/nonexistent/x")),
  });
  (void)(ones({2}) + 1);
  session.step();
  expect_lines({
      REFUSED("key_averages", session.key_averages(true)),
      REFUSED("table", session.key_averages().table({.sort_by = "size"})),
      REFUSED("verdict", session.verdict("no such range")),
      REFUSED("export_chrome_trace", session.export_chrome_trace("/nonexistent/x")),
      REFUSED("export_stacks", session.export_stacks("/nonexistent/x")),
      REFUSED("export_stacks", session.export_stacks("/nonexistent/x", "size")),
  });
  session.stop();
  expect_lines({REFUSED("profiler", session.step())});
}

}  // namespace
}  // namespace ingot
