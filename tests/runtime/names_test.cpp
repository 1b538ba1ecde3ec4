// Errors name what was called: in-place ops with their underscore, products by their own name.
#include <functional>

#include <ingot/runtime/nn/nn.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;

struct Named {
  std::string op;
  std::function<void()> call;
};

void expect_named(const std::vector<Named>& calls) {
  for (const Named& c : calls) {
    std::string text, op;
    try {
      c.call();
    } catch (const Error& e) {
      text = e.what(), op = e.op();
    }
    EXPECT_EQ(op, c.op) << text;
    EXPECT_EQ(text.substr(0, c.op.size() + 2), c.op + ": ");
    EXPECT_TRUE(contains(text, "; at names_test.cpp:")) << text;
  }
}

TEST(Names, OfInPlaceOpsHaveTheirUnderscore) {
  const Tensor x = ones({3, 1}), five = ones({5}), none;
  Tensor wide = x.expand({3, 3}), y = ones({3}), whole = ones({3}, kInt64), undefined;
  Tensor leaf = ones({3}).requires_grad_();
  expect_named({
      {"mul_", [&] { wide.mul_(2); }},
      {"add_", [&] { y.add_(five); }},
      {"sub_", [&] { y -= five; }},
      {"div_", [&] { y /= five; }},
      {"mul_", [&] { x[0] *= five; }},
      {"add_",
       [&] {
         y.add_(ones({2, 3}));
       }},
      {"add_", [&] { y.add_(none); }},
      {"add_", [&] { undefined.add_(1); }},
      {"pow_", [&] { wide.pow_(2); }},
      {"div_", [&] { whole.div_(2); }},
      {"add_", [&] { whole += 0.5; }},
      {"exp_", [&] { whole.exp_(); }},
      {"exp_", [&] { wide.exp_(); }},
      {"relu_", [&] { leaf.relu_(); }},
      {"neg_", [&] { undefined.neg_(); }},
      {"clamp_", [&] { wide.clamp_(0, 1); }},
      {"clamp_", [&] { wide.clamp_({}, 1); }},
      {"lerp_", [&] { y.lerp_(five, 0.5); }},
      {"addcmul_", [&] { y.addcmul_(five, y); }},
      {"addcdiv_", [&] { y.addcdiv_(five, y); }},
      {"fill_", [&] { wide.fill_(1); }},
      {"zero_", [&] { wide.zero_(); }},
      {"copy_", [&] { y.copy_(five); }},
      {"uniform_", [&] { wide.uniform_(); }},
      {"normal_", [&] { whole.normal_(); }},
      {"index_put_", [&] { y.index_put_({Slice(0, 2)}, five); }},
      {"add", [&] { (void)(y + five); }},
  });
  EXPECT_TRUE(has_values(y, {1, 1, 1}));
}

TEST(Names, OfProductsAreWhatWasCalled) {
  const Tensor x = ones({2, 3}), y = ones({4, 5}), none;
  const nn::Linear layer(4, 2);
  expect_named({
      {"matmul", [&] { (void)matmul(x, y); }},
      {"matmul", [&] { (void)x.matmul(y.to(kFloat64)); }},
      {"linear", [&] { (void)linear(x, y); }},
      {"linear",
       [&] {
         (void)linear(x, ones({4, 3}), ones({3}));
       }},
      {"linear", [&] { (void)layer(x); }},
      {"addmm",
       [&] {
         (void)addmm(ones({2, 5}), x, y);
       }},
      {"addmm",
       [&] {
         (void)addmm(ones({3}), x, ones({3, 5}));
       }},
      {"addmm", [&] { (void)addmm(x, ones({3}), y); }},
      {"mse_loss", [&] { (void)mse_loss(x, ones({7})); }},
      {"std", [&] { (void)x.std({5}); }},
  });
}

// What the process writes to stderr while f runs.
template <class F>
std::string stderr_of(F f) {
  ::testing::internal::CaptureStderr();
  f();
  return ::testing::internal::GetCapturedStderr();
}

TEST(Warnings, OfLossesNameShapesThatDifferOncePerLine) {
  const Tensor column = ones({3, 1}), row = ones({3});
  const auto loss = [&] { (void)mse_loss(column, row); };
  const std::string first = stderr_of(loss);
  EXPECT_TRUE(contains(first, "warning: mse_loss: the shapes [3, 1] and [3] differ")) << first;
  EXPECT_TRUE(contains(first, "; at names_test.cpp:")) << first;
  EXPECT_EQ(stderr_of(loss), "");
  EXPECT_NE(stderr_of([&] { (void)mse_loss(row, column); }), "");
  EXPECT_EQ(stderr_of([&] { (void)mse_loss(row, row); }), "");
}

}  // namespace
}  // namespace ingot
