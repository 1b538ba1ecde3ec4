// A GPU converts between 16-bit floats and f32 by instructions of its own: the CPU's bits, for
// every value and around every rounding. NaN stays NaN.
#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include <ingot/ingot.h>
#include <ingot/kernels/cuda/device.h>

namespace ingot {
namespace {

// Every f32 whose upper 16 bits are all there are of it (each bf16), every f16, the points halfway
// to its neighbour where a rounding decides, and those just beside them.
std::vector<float> grid() {
  std::vector<float> values;
  const auto around = [&](std::uint32_t bits) {
    for (const std::uint32_t near : {bits - 1, bits, bits + 1}) {
      values.push_back(std::bit_cast<float>(near));
    }
  };
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    around(upper << 16);
    around(upper << 16 | 0x8000u);
  }
  // Ties of f16: normal ones at bit 12 of the f32, and those of its subnormals.
  for (std::uint32_t upper = 0x38000000u >> 12; upper <= 0x47800000u >> 12; ++upper) {
    around(upper << 12);
    around(upper << 12 | 0x80000000u);
  }
  for (int i = 0; i <= 4096; ++i) {
    around(std::bit_cast<std::uint32_t>(std::ldexp(static_cast<float>(i), -25)));
    around(std::bit_cast<std::uint32_t>(-std::ldexp(static_cast<float>(i), -25)));
  }
  return values;
}

void expect_same_bits(const Tensor& gpu, const Tensor& cpu, const Tensor& from) {
  const std::vector<float> a = gpu.cpu().to(DType::f32).to_vector<float>();
  const std::vector<float> b = cpu.to(DType::f32).to_vector<float>();
  const std::vector<float> x = from.to(DType::f32).to_vector<float>();
  int wrong = 0;
  for (std::size_t i = 0; i < a.size() && wrong < 10; ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i])) continue;
    ++wrong;
    ADD_FAILURE() << "of " << std::hexfloat << x[i] << ": " << a[i] << ", the CPU's is " << b[i];
  }
}

TEST(HalfGpu, ConvertsAsTheCpuDoes) {
  if (!cuda::is_available()) GTEST_SKIP() << cuda::unavailable_reason();
  const std::vector<float> values = grid();
  const Tensor x = from_vector(values, {static_cast<i64>(values.size())});
  for (const DType t : {DType::f16, DType::bf16}) {
    const Tensor narrow = x.to(t);
    expect_same_bits(x.cuda().to(t), narrow, x);
    expect_same_bits(narrow.cuda().to(DType::f32), narrow, narrow);
    // The dense kernels of rows store whole vectors; strided ones an element.
    expect_same_bits(mul(narrow.cuda(), 1.0), narrow, narrow);
    expect_same_bits(slice(x.cuda(), 0, 1, x.size(0), 2).to(t), slice(narrow, 0, 1, x.size(0), 2),
                     slice(x, 0, 1, x.size(0), 2));
  }
}

// Every bf16 through the rows that a GPU approximates for bf16: the f32 result rounded.
TEST(HalfGpu, ApproximationsRoundRight) {
  if (!cuda::is_available()) GTEST_SKIP() << cuda::unavailable_reason();
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    values.push_back(std::bit_cast<float>(upper << 16));
  }
  const Tensor f32 = from_vector(values, {static_cast<i64>(values.size())}).cuda();
  const Tensor x = f32.to(DType::bf16);
  const Tensor strided = slice(stack({x, x}, 1), 1, 0, 1);
  for (const auto& function :
       {+[](const Tensor& t) { return tanh(t); }, +[](const Tensor& t) { return sigmoid(t); }}) {
    const Tensor right = function(f32).to(DType::bf16).cpu();
    expect_same_bits(function(x), right, x.cpu());
    expect_same_bits(function(strided).flatten(), right, x.cpu());
  }
}

// Sums, differences and products of two elements at a time are those of one at a time.
TEST(HalfGpu, PackedArithmeticRoundsOnce) {
  if (!cuda::is_available()) GTEST_SKIP() << cuda::unavailable_reason();
  for (const DType t : {DType::f16, DType::bf16}) {
    manual_seed(3);
    const Tensor bits = randint(-0x8000, 0x8000, {2, 1 << 16}).to(DType::i32);
    std::vector<float> all;
    for (const float b : bits.to(DType::f32).to_vector<float>()) {
      const auto upper = static_cast<std::uint32_t>(static_cast<int>(b)) & 0xffffu;
      all.push_back(t == DType::bf16 ? std::bit_cast<float>(upper << 16)
                                     : std::ldexp(b, static_cast<int>(upper % 40) - 40));
    }
    const Tensor both = from_vector(all, {2, 1 << 16}).to(t);
    const Tensor a = select(both, 0, 0).clone(), b = select(both, 0, 1).clone();
    const auto chain = [](const Tensor& x, const Tensor& y) { return (x + y) * (x - y) + x * y; };
    const Tensor eager = chain(a.cuda(), b.cuda());
    expect_same_bits(eager, chain(a, b), a);
    const auto compiled = compile(chain);
    (void)compiled(a.cuda(), b.cuda());
    expect_same_bits(compiled(a.cuda(), b.cuda()), eager.cpu(), a);
  }
}

}  // namespace
}  // namespace ingot
