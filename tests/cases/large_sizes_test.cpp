// Beyond 2^31 elements, bytes or offsets: small parts of large tensors, and whole ones where there
// is a GPU with the memory. A test that there is no memory for is skipped.
#include <optional>

#include <ingot/runtime/allocator.h>
#include <ingot/runtime/config.h>

#include "cases/both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;

constexpr i64 k2G = i64{1} << 31;

// None: there is no memory for it.
std::optional<Tensor> room_for(const Dims& sizes, DType t) {
  try {
    return empty(sizes, t);
  } catch (const OutOfMemoryError&) {
    return std::nullopt;
  }
}
#define SKIP_WITHOUT(tensor) \
  if (!tensor) GTEST_SKIP() << "no memory for it"

// Eagerly; op by op; by the interpreter (CPU); by generated code.
template <class F, class... A>
Tensor in_all_modes(F f, const A&... args) {
  const Tensor eager = f(args...);
  for (const CompileOptions& options :
       {CompileOptions{.disable = {"fusion"}}, interpreted(), CompileOptions{}}) {
    const auto compiled = compile(f, options);
    for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(eager, compiled(args...))) << call;
  }
  return eager;
}

// A small view far from the start of its storage.
TEST(LargeSizes, Sz02AViewBeyond2To31) {
  for (const DType t : {kByte, kHalf}) {
    if (t == kHalf && !default_device().is_cuda()) continue;
    const auto base = room_for({k2G + 64}, t);
    SKIP_WITHOUT(base);
    Tensor v = base->slice(0, k2G + 48, k2G + 64);
    v.copy_(arange(16).to(t));
    const Tensor small = arange(16).to(t);
    const auto check = [&](const auto& f) {
      EXPECT_TRUE(same_bits(in_all_modes(f, v).to(kFloat), f(small).to(kFloat))) << name(t);
    };
    check([](const Tensor& x) { return x + 1; });
    check([](const Tensor& x) { return (x + 1) * x - 2; });
    check([](const Tensor& x) { return cat({x, x}, 0); });
    check([](const Tensor& x) { return x.sum(); });
    check([](const Tensor& x) { return softmax(x.to(kFloat), 0); });
    check([](const Tensor& x) { return matmul(x.view({1, 16}), x.view({16, 1})); });
    check([](const Tensor& x) { return matmul(x.view({4, 4}), x.view({4, 4}).t()); });
    check([](const Tensor& x) { return matmul(x.view({1, 16}).to(kFloat), ones({16, 300})); });
    check([](const Tensor& x) { return x.index_select(0, tensor({15, 0, 3}).to(kLong)); });
  }
}

// Few elements, whose places are far apart.
// 33 rows are enough to leave 31 bits, 64 to leave 32.
TEST(LargeSizes, Sz04StridesThatReachBeyond2To31) {
  const i64 rows = default_device().is_cuda() ? 64 : 34;
  const auto base = room_for({rows, i64{1} << 26}, kByte);
  SKIP_WITHOUT(base);
  Tensor part = base->slice(1, 0, 1024);
  const Tensor pattern = remainder(arange(rows * 1024), 251).to(kByte).view({rows, 1024});
  part.copy_(pattern);
  ASSERT_TRUE(equal(part.clone(), pattern));
  const auto check = [&](const auto& f) {
    EXPECT_TRUE(same_bits(in_all_modes(f, part).to(kDouble), f(pattern).to(kDouble)));
  };
  const Tensor some = tensor({static_cast<double>(rows - 1), 32, 0}).to(kLong);
  check([](const Tensor& x) { return x + 1; });
  check([](const Tensor& x) { return (x + 1) * 3 - x; });
  check([](const Tensor& x) { return x.sum({1}); });
  check([](const Tensor& x) { return x.sum({0}); });
  check([](const Tensor& x) { return (x + 1).sum(); });
  check([](const Tensor& x) { return x.t() + 1; });
  check([](const Tensor& x) { return softmax(x.to(kFloat) * 0.01, 1); });
  check([&](const Tensor& x) { return x.index_select(0, some); });
  check([](const Tensor& x) { return x.amax({0}); });
}

class LargeSizesGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
    empty_cache(kCUDA);
    manual_seed(21);
  }
  void TearDown() override {
    if (cuda::is_available()) empty_cache(kCUDA);
  }
  static std::optional<Tensor> room(const Dims& sizes, DType t) {
    try {
      return empty(sizes, {t, kCUDA});
    } catch (const OutOfMemoryError&) {
      return std::nullopt;
    }
  }
  // Whether so many bytes are there beside what is held.
  static bool room_beside(i64 bytes) { return room({bytes}, kByte).has_value(); }
};

// A flat index of more than 31 bits.
TEST_F(LargeSizesGpu, Sz01MoreThan2To31Elements) {
  constexpr i64 kNumel = k2G + 4096, kChannels = 64, kInner = 16, kOuter = kNumel / 1024;
  for (const DType t : {kByte, kHalf}) {
    const auto x = room({kOuter, kChannels, kInner}, t);
    SKIP_WITHOUT(x);
    if (!room_beside(4 * kNumel * item_size(t))) GTEST_SKIP() << "no memory for the results";
    Tensor whole = *x;
    whole.copy_((remainder(arange(kOuter, kCUDA), 199)).view({kOuter, 1, 1}).to(t) +
                remainder(arange(kInner, kCUDA), 7).to(t));
    const Tensor channel = arange(kChannels, kCUDA).view({kChannels, 1}).to(t);
    const auto f = [](const Tensor& a, const Tensor& c) { return (a - c) * 2 + 1; };
    const auto expect_probes = [&](const Tensor& y, const char* mode) {
      for (const i64 row : {i64{0}, k2G / 1024 - 2, k2G / 1024, kOuter - 2}) {
        const Tensor part = f(whole.slice(0, row, row + 2).cpu(), channel.cpu());
        EXPECT_TRUE(same_bits(y.slice(0, row, row + 2).cpu().to(kFloat), part.to(kFloat)))
            << mode << " " << name(t) << " from " << row;
      }
    };
    expect_probes(f(whole, channel), "eager");
    const auto compiled = compile(f);
    for (int call = 0; call < 3; ++call) expect_probes(compiled(whole, channel), "compiled");
    // Of all elements, not of the probes alone.
    const auto sums = [](const Tensor& a) { return a.to(kFloat).sum({1, 2}); };
    const Tensor some = sums(whole.slice(0, kOuter - 5000, kOuter));
    EXPECT_TRUE(same_bits(compile(sums)(whole).slice(0, kOuter - 5000, kOuter), some)) << name(t);
  }
}

// A factor of more than 2^31 elements: by the whole, and by blocks of columns.
TEST_F(LargeSizesGpu, Sz10AFactorBeyond2To31) {
  constexpr i64 kRows = 12347, kDepth = 174000, kBlocks = 4;
  for (const DType t : {kHalf, kFloat}) {
    auto a = room({kRows, kDepth}, t);
    SKIP_WITHOUT(a);
    if (!room_beside(kRows * kDepth * item_size(t) / 8)) GTEST_SKIP() << "no memory beside it";
    a->uniform_(0, 0.5);
    const Tensor v = rand({kDepth, 1}, kCUDA).to(t);
    const auto product = [](const Tensor& x, const Tensor& y) { return matmul(x, y); };
    const Tensor y = product(*a, v).to(kDouble);
    Tensor sum = zeros({kRows, 1}, {kDouble, kCUDA});
    for (i64 i = 0; i < kBlocks; ++i) {
      const i64 from = i * kDepth / kBlocks, to = (i + 1) * kDepth / kBlocks;
      sum = sum + matmul(a->slice(1, from, to), v.slice(0, from, to)).to(kDouble);
    }
    EXPECT_LE((abs(y - sum) / sum).max().item<double>(), 1.1e-3) << name(t);
    EXPECT_GT(y.min().item<double>(), 0.0) << name(t);
    const auto compiled = compile([&](const Tensor& x, const Tensor& w) { return product(x, w); });
    for (int call = 0; call < 3; ++call) {
      EXPECT_TRUE(same_bits(compiled(*a, v).to(kDouble), y)) << name(t);
    }
  }
}

// A result of more than 2^31 elements.
TEST_F(LargeSizesGpu, Sz10AResultBeyond2To31) {
  constexpr i64 kRows = 4 * 6479, kDepth = 256, kColumns = 256000;
  for (const DType t : {kHalf, kFloat}) {
    if (!room_beside(2 * kRows * kColumns * item_size(t))) GTEST_SKIP() << "no memory for it";
    const Tensor a = randn({kRows, kDepth}, kCUDA).to(t),
                 b = randn({kDepth, kColumns}, kCUDA).to(t);
    const auto expect_probes = [&](const Tensor& y, const char* what) {
      const double rounding = t == kHalf ? 1e-2 : 1e-4;
      for (const i64 row : {i64{0}, k2G / kColumns, k2G / kColumns + 1, kRows - 1}) {
        const Tensor direct = matmul(a.select(0, row).to(kDouble).unsqueeze(0), b.to(kDouble));
        const Tensor got = y.select(0, row).to(kDouble);
        EXPECT_LE(abs(got - direct.squeeze(0)).max().item<double>(), 20 * rounding)
            << what << " " << name(t) << " row " << row;
      }
      for (const i64 column : {i64{0}, kColumns - 1}) {
        const Tensor direct = matmul(a.to(kDouble), b.select(1, column).to(kDouble).unsqueeze(1));
        const Tensor got = y.select(1, column).to(kDouble);
        EXPECT_LE(abs(got - direct.squeeze(1)).max().item<double>(), 20 * rounding)
            << what << " " << name(t) << " column " << column;
      }
    };
    expect_probes(matmul(a, b), "eager");
    const auto compiled = compile([](const Tensor& x, const Tensor& y) { return matmul(x, y); });
    for (int call = 0; call < 2; ++call) expect_probes(compiled(a, b), "compiled");
    // Heads of attention whose scores are as many.
    const Tensor q = a.slice(0, 0, 16384).view({2, 8192, 16, 16}).transpose(1, 2);
    const Tensor scores = matmul(q, q.transpose(2, 3));
    const Tensor last = matmul(q[1][15].to(kDouble), q[1][15].to(kDouble).t());
    EXPECT_LE(abs(scores[1][15].to(kDouble) - last).max().item<double>(), t == kHalf ? 0.5 : 1e-2)
        << name(t);
  }
}

}  // namespace
}  // namespace ingot
