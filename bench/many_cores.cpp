// Many cores: small work on all of them against the same work on one.
#include <memory>

#include <fmt/format.h>

#include <ingot/ingot.h>
#include <ingot/kernels/cpu/parallel.h>

#include "benchmarks.h"

namespace bench {

using namespace ingot;

namespace {

// 12 layers, 64 wide, batch 8, Adam.
class Step {
 public:
  Step() {
    std::vector<Tensor> parameters;
    for (int i = 0; i < 12; ++i) {
      layers_.emplace_back(64, 64);
      for (const Tensor& p : layers_.back()->parameters()) parameters.push_back(p);
    }
    adam_ = std::make_unique<optim::Adam>(parameters);
  }
  Tensor operator()() {
    adam_->zero_grad();
    Tensor h = x_;
    for (const nn::Linear& layer : layers_) h = relu(layer(h));
    const Tensor loss = mean((h - y_) * (h - y_));
    loss.backward();
    adam_->step();
    return loss;
  }

 private:
  std::vector<nn::Linear> layers_;
  std::unique_ptr<optim::Adam> adam_;
  Tensor x_ = randn({8, 64}), y_ = randn({8, 64});
};

}  // namespace

std::vector<Row> many_cores() {
  const int before = num_threads(), all = available_cores();
  const auto row = [&](const char* name, const std::function<void()>& f) {
    f();
    const std::vector<Series> s = race({[&] {
                                          set_num_threads(all);
                                          f();
                                        },
                                        [&] {
                                          set_num_threads(1);
                                          f();
                                        }},
                                       {.seconds = 1, .rounds = 25});
    constexpr double kAllowed = 1.05;
    Row result{.name = name, .unit = "us"};
    result.ours = s[0];
    result.limit = s[1].median();
    result.limit_least = s[1].least();
    result.limit_name = fmt::format("one thread; this: {}", all);
    result.target = fmt::format("<= {} x", kAllowed);
    result.met = result.ratio() <= kAllowed;
    return result;
  };
  Step eager, recorded;
  const auto compiled = compile([&] { return recorded(); }, {.name = "many_cores"});
  const Tensor a = randn({256, 256}), b = randn({256, 256}), w = randn({128, 128});
  const auto chain = compile([&] { return tanh(a * b + 1) * a; }, {.name = "many_cores_chain"});
  std::vector<Row> rows = {
      row("many_cores_step", [&] { (void)eager(); }),
      row("many_cores_step_compiled", [&] { (void)compiled(); }),
      row("many_cores_add_64k", [&] { (void)(a + b); }),
      row("many_cores_tanh_64k", [&] { (void)tanh(a); }),
      row("many_cores_chain_64k", [&] { (void)chain(); }),
      row("many_cores_softmax_64k", [&] { (void)softmax(a, -1); }),
      row("many_cores_sum_64k", [&] { (void)sum(a, {1}); }),
      row("many_cores_copy_64k", [&] { (void)a.t().contiguous(); }),
      row("many_cores_matmul_128", [&] { (void)matmul(w, w); }),
      row("many_cores_matmul_256", [&] { (void)matmul(a, b); }),
  };
  set_num_threads(before);
  return rows;
}

}  // namespace bench
