// Reductions and row composites as CUDA kernels on the host: against the CPU's at the lengths where
// their trees change, and the same bits whatever the layout, the address and the order of threads.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include <ingot/kernels/cuda/fault.h>
#include <ingot/kernels/cuda/kernels.h>
#include <ingot/kernels/ops/structured/composites.h>
#include <ingot/kernels/ops/structured/list.h>
#include <ingot/kernels/ops/structured/reductions.h>

#include "cuda_on_host/grid.h"
#include "kernels/op_harness.h"

namespace ingot::isa_emulated {
Kernel cuda_kernel(const OpInfo& op);
}

namespace ingot::testing {
namespace {

using namespace structured;

struct Problem {
  const OpInfo& op;
  std::vector<Buffer*> in;
  Attrs attrs;
  double size = 1;  // of what is added up for one result, times its number's root
};

std::vector<Buffer> on_cpu(const Problem& p) {
  return run_op(p.op, kernel_for(p.op, DeviceType::cpu), p.in, p.attrs);
}
std::vector<Buffer> on_device(const Problem& p) {
  return run_op(p.op, isa_emulated::cuda_kernel(p.op), p.in, p.attrs);
}

std::string text(const Problem& p) {
  std::string s = p.op.name;
  for (Buffer* b : p.in) {
    if (b != nullptr) s += " " + describe(b->meta()) + to_string(b->meta().strides);
  }
  return s + " axes " + to_string(p.attrs.dims) + " a " + std::to_string(p.attrs.a);
}

// Rounding of the compute type for the sum, and one of the result's type.
bool is_close(double a, double b, DType t, double size) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  const double allowed = last_bit_of_compute(t) * (16 * std::fabs(b) + 16 * size) +
                         (compute_type(t) == t ? 0 : 1.01 * last_bit(t) * std::fabs(b));
  return std::fabs(a - b) <= allowed;
}

void expect_close(const Problem& p) {
  std::vector<Buffer> want = on_cpu(p), got = on_device(p);
  for (std::size_t k = 0; k < want.size(); ++k) {
    const DType t = want[k].dtype();
    for (i64 i = 0; i < want[k].numel(); ++i) {
      if (!is_floating_point(t)) {
        ASSERT_EQ(got[k].integer(i), want[k].integer(i)) << text(p) << " result " << k << ", " << i;
      } else {
        ASSERT_TRUE(is_close(got[k].real(i), want[k].real(i), t, p.size))
            << text(p) << " result " << k << ", " << i << ": " << got[k].real(i) << ", CPU "
            << want[k].real(i);
      }
    }
  }
}

void expect_same_bits(const Problem& p, std::vector<Buffer>& want, const std::string& what) {
  std::vector<Buffer> got = on_device(p);
  for (std::size_t k = 0; k < want.size(); ++k) {
    for (i64 i = 0; i < want[k].numel(); ++i) {
      ASSERT_TRUE(got[k].same_bits(i, want[k].at(i)))
          << what << ": " << text(p) << " result " << k << ", " << i << ": " << got[k].real(i)
          << " and " << want[k].real(i);
    }
  }
}

// The same elements in the same order of strides, but with gaps and at an odd address.
Buffer with_gaps(Buffer& b) {
  Dims order, strides = Dims::filled(b.meta().dim(), 1);
  i64 step = 1;
  std::vector<int> axes;
  for (int d = 0; d < b.meta().dim(); ++d) axes.push_back(d);
  std::stable_sort(axes.begin(), axes.end(),
                   [&](int x, int y) { return b.meta().strides[x] > b.meta().strides[y]; });
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
    strides[*a] = step;
    step = step * b.meta().sizes[*a] + 1;
  }
  Buffer out(b.dtype(), b.meta().sizes, strides);
  for (i64 i = 0; i < b.numel(); ++i) std::memcpy(out.at(i), b.at(i), b.item());
  return out;
}

void expect_same_bits_anyhow(Problem p) {
  std::vector<Buffer> want = on_device(p);
  emulation::set_order(emulation::Order::descending);
  expect_same_bits(p, want, "threads backwards");
  emulation::set_order(emulation::Order::ascending);
  std::vector<Buffer> moved;
  moved.reserve(p.in.size());
  for (Buffer*& b : p.in) {
    if (b == nullptr || b->numel() == 0) continue;
    moved.push_back(with_gaps(*b));
    b = &moved.back();
  }
  expect_same_bits(p, want, "with gaps");
}

void check(const Problem& p) {
  expect_close(p);
  if (::testing::Test::HasFatalFailure()) return;
  expect_same_bits_anyhow(p);
}

Attrs over(const Dims& axes, bool keepdim = false) {
  Attrs attrs;
  attrs.dims = axes;
  attrs.a = keepdim;
  return attrs;
}

const OpInfo* const kReductions[] = {
    &structured_op<Sum>,    &structured_op<Mean>, &structured_op<Prod>, &structured_op<Amax>,
    &structured_op<Amin>,   &structured_op<Any>,  &structured_op<All>,  &structured_op<Argmax>,
    &structured_op<Argmin>, &structured_op<Var>};

bool exists_for(const OpInfo& op, DType t) {
  return is_floating_point(t) || (op.id != id_of<Mean>() && op.id != id_of<Var>());
}

void check_reduction(const OpInfo& op, Buffer& x, Rng& rng, const Dims& axes, bool keepdim) {
  i64 n = 1;
  for (i64 a : axes) n *= x.meta().dim() > 0 ? x.meta().sizes[static_cast<int>(a)] : 1;
  if (n == 0 && op.id != id_of<Sum>() && op.id != id_of<Prod>() && op.id != id_of<Any>() &&
      op.id != id_of<All>()) {
    return;
  }
  const bool prod = op.id == id_of<Prod>();
  x.fill_random(rng, prod ? 0.9 : -3, prod ? 1.1 : 3);
  const double size = prod || op.id == id_of<Sum>() ? 3 * std::sqrt(static_cast<double>(n)) : 3;
  Attrs attrs = over(axes, keepdim);
  attrs.b = op.id == id_of<Var>() ? 1 : 0;
  check({op, {&x}, attrs, size});
}

TEST(CudaReductions, AnyAxesOfAnyLayout) {
  Rng rng(1);
  for (int round = 0; round < 400; ++round) {
    const OpInfo& op = *kReductions[draw(rng, 0, 9)];
    const DType t = kAllDTypes[draw(rng, 0, 7)];
    if (!exists_for(op, t)) continue;
    Buffer x(t, random_sizes(rng, 5, 7), rng);
    Dims axes;
    for (int d = 0; d < x.meta().dim(); ++d) {
      if (draw(rng, 0, 1)) axes.push_back(d);
    }
    check_reduction(op, x, rng, axes, draw(rng, 0, 1) == 1);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(CudaReductions, RowsOfEveryLength) {
  Rng rng(2);
  for (DType t : {DType::f32, DType::bf16, DType::f64, DType::i64}) {
    for (i64 n : {0,   1,   3,   4,    16,   31,   64,   128,   129,   255,   256,
                  300, 640, 768, 2048, 2052, 3072, 8192, 12288, 16384, 16385, 70000}) {
      for (const OpInfo* op : kReductions) {
        if (!exists_for(*op, t)) continue;
        Buffer x(t, {n > 5000 ? 2 : n > 300 ? 5 : 37, n});
        check_reduction(*op, x, rng, {1}, false);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(CudaReductions, ColumnsOfEveryHeight) {
  Rng rng(3);
  for (DType t : {DType::f32, DType::f16, DType::i32}) {
    for (i64 cols : {1, 2, 3, 16, 33, 130}) {
      for (i64 n : {2, 31, 32, 300, 1100, 5000}) {
        if (n * cols > 100000) continue;
        for (const OpInfo* op : kReductions) {
          if (!exists_for(*op, t)) continue;
          Buffer x(t, {n, cols});
          check_reduction(*op, x, rng, {0}, false);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(CudaReductions, MiddleAxesAndManySmallMatrices) {
  Rng rng(4);
  for (const OpInfo* op : kReductions) {
    Buffer x(DType::f32, {3, 40, 5, 37}), small(DType::f32, {70, 4, 3});
    check_reduction(*op, x, rng, {1}, true);
    check_reduction(*op, x, rng, {0, 2}, false);
    check_reduction(*op, x, rng, {1, 3}, false);
    check_reduction(*op, small, rng, {1}, false);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(CudaReductions, OfNoElements) {
  Rng rng(8);
  for (const OpInfo* op : {&structured_op<Sum>, &structured_op<Prod>, &structured_op<Any>,
                           &structured_op<All>, &structured_op<Mean>, &structured_op<Var>}) {
    for (const Dims& sizes : {Dims{0, 5}, Dims{5, 0}, Dims{40, 0, 3}, Dims{0, 3, 0}}) {
      Buffer x(DType::f32, sizes);
      for (int axis = 0; axis < sizes.size(); ++axis) {
        Attrs attrs = over({axis});
        attrs.b = op->id == id_of<Var>() ? 1 : 0;
        expect_close({*op, {&x}, attrs});
      }
    }
  }
  Buffer x(DType::f32, {3, 0}), y(DType::f32, {0, 3});
  for (Buffer* b : {&x, &y}) {
    Attrs attrs;
    attrs.a = 1;
    expect_close({structured_op<Softmax>, {b}, attrs});
    expect_close({structured_op<Logsumexp>, {b}, over({1})});
    attrs.c = 1;
    attrs.add_scalar(1e-5);
    expect_close({structured_op<LayerNorm>, {b, nullptr, nullptr}, attrs});
  }
}

TEST(CudaReductions, TheFirstExtremeWins) {
  for (i64 n : {5, 100, 40000}) {
    Values values(static_cast<std::size_t>(2 * n), 1.0);
    for (i64 i : {n / 2, n - 1}) values[static_cast<std::size_t>(i)] = 7;
    for (i64 i : {n / 2 + 1, n - 1}) values[static_cast<std::size_t>(n + i)] = kNaN;
    values[static_cast<std::size_t>(n)] = kInf;
    Buffer rows = buffer_of({2, n}, values), columns(DType::f32, {2, n}, {1, 2});
    for (i64 i = 0; i < 2 * n; ++i) columns.set(i, values[static_cast<std::size_t>(i)]);
    for (Buffer* x : {&rows, &columns}) {
      std::vector<Buffer> most = on_device({structured_op<MaxDim>, {x}, over({1})});
      EXPECT_EQ(most[0].real(0), 7);
      EXPECT_EQ(most[1].integer(0), n / 2);
      EXPECT_TRUE(std::isnan(most[0].real(1)));
      EXPECT_EQ(most[1].integer(1), n / 2 + 1);
      std::vector<Buffer> least = on_device({structured_op<MinDim>, {x}, over({1})});
      EXPECT_EQ(least[0].real(0), 1);
      EXPECT_EQ(least[1].integer(0), 0);
      EXPECT_EQ(least[1].integer(1), n / 2 + 1);
    }
  }
}

TEST(CudaReductions, ExtremesOfIntegersReachTheirEnds) {
  Buffer x(DType::i64, {3});
  const i64 values[] = {INT64_MIN, INT64_MAX, -1};
  for (i64 i = 0; i < 3; ++i) x.set_raw(i, values[i]);
  for (const OpInfo* op : {&structured_op<Amax>, &structured_op<Amin>, &structured_op<Argmax>,
                           &structured_op<Argmin>, &structured_op<Sum>, &structured_op<Prod>}) {
    expect_close({*op, {&x}, over({0})});
  }
}

// Softmax and its kin along every axis.
TEST(CudaRowops, SoftmaxOfEveryLengthAndLayout) {
  Rng rng(5);
  for (DType t : kFloating) {
    for (i64 n : {1, 2, 10, 127, 128, 256, 264, 1000, 2048, 4096, 8192, 16384, 20000}) {
      for (int axis : {1, 0}) {
        const i64 rows = n > 3000 ? 1 : 3;
        Buffer x(t, axis == 1 ? Dims{rows, n} : Dims{n, rows}), dy(x.meta());
        x.fill_random(rng, -4, 4);
        dy.fill_random(rng, -2, 2);
        Attrs attrs;
        attrs.a = axis;
        const double root = std::sqrt(static_cast<double>(n));
        Buffer y = on_cpu({structured_op<Softmax>, {&x}, attrs})[0];
        Buffer log_y = on_cpu({structured_op<LogSoftmax>, {&x}, attrs})[0];
        check({structured_op<Softmax>, {&x}, attrs, 0.1});
        check({structured_op<LogSoftmax>, {&x}, attrs, 8});
        check({structured_op<SoftmaxBackward>, {&dy, &y}, attrs, 1});
        check({structured_op<LogSoftmaxBackward>, {&dy, &log_y}, attrs, 2 * root});
        check({structured_op<Logsumexp>, {&x}, over({axis}), 8});
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(CudaRowops, SoftmaxOfExtremes) {
  const Values values = {kInf, 1, 2, 3, -kInf, -kInf, -kInf, -kInf, 1, kNaN, 2, 3, 1, -kInf, 2, 3};
  Buffer x = buffer_of({4, 4}, values);
  Attrs attrs;
  attrs.a = 1;
  check({structured_op<Softmax>, {&x}, attrs});
  check({structured_op<LogSoftmax>, {&x}, attrs});
  check({structured_op<Logsumexp>, {&x}, over({1})});
}

TEST(CudaRowops, LayerNormAndItsGradients) {
  Rng rng(6);
  for (DType t : kFloating) {
    for (i64 n : {1, 3, 64, 100, 256, 768, 1024, 4096, 17000}) {
      for (int parameters = 0; parameters < 4; ++parameters) {
        const i64 rows = n > 3000 ? 2 : n == 64 ? 1200 : 7;
        if ((n > 256 || rows > 100) && parameters < 3) continue;
        Buffer x(t, {rows, n}), dy(t, {rows, n}), weight(t, {n}), bias(t, {n});
        x.fill_random(rng, -1, 3);
        for (Buffer* b : {&dy, &weight, &bias}) b->fill_random(rng, -2, 2);
        Buffer* w = parameters & 1 ? &weight : nullptr;
        Buffer* b = parameters & 2 ? &bias : nullptr;
        Attrs attrs;
        attrs.c = 1;
        attrs.add_scalar(1e-5);
        // A row of one or of few has no spread that would say how exact its moments are.
        const double size = n < 4 ? 2000 : 4;
        const Problem forward{structured_op<LayerNorm>, {&x, w, b}, attrs, size};
        check(forward);
        std::vector<Buffer> y = on_cpu(forward);
        check({structured_op<LayerNormBackward>, {&dy, &x, &y[1], &y[2], w}, attrs, size});
        check({structured_op<LayerNormBackwardParams>,
               {&dy, &x, &y[1], &y[2]},
               attrs,
               size * std::sqrt(static_cast<double>(rows))});
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(CudaRowops, CrossEntropyAndItsGradient) {
  Rng rng(7);
  for (DType t : kFloating) {
    for (i64 classes : {1, 2, 10, 128, 1000, 17000}) {
      for (int form = 0; form<12; form += classes> 500 ? 4 : 1) {
        const i64 rows = classes > 5000 ? 2 : 9;
        Buffer x(t, {rows, classes}), weight(t, {classes}), target(DType::i64, {rows});
        x.fill_random(rng, -3, 3);
        weight.fill_random(rng, 0.5, 2);
        for (i64 r = 0; r < rows; ++r) target.set_raw<i64>(r, draw(rng, 0, classes - 1));
        if (form % 2) target.set_raw<i64>(1, -100);
        Attrs attrs;
        attrs.a = form % 3;
        attrs.b = -100;
        attrs.add_scalar(form % 4 > 1 ? 0.1 : 0.0);
        Buffer* w = form >= 6 ? &weight : nullptr;
        const Problem forward{structured_op<CrossEntropy>, {&x, &target, w}, attrs, 60};
        check(forward);
        std::vector<Buffer> y = on_cpu(forward);
        Buffer dy(y[0].meta());
        dy.fill_random(rng, -2, 2);
        check({structured_op<CrossEntropyBackward>, {&dy, &x, &target, w, &y[1], &y[2]}, attrs, 4});
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(CudaRowops, LossesOfFewRowsAddUpToTheBitsOfASum) {
  Rng rng(8);
  for (i64 rows : {1, 2, 31, 64, 100, 128, 129}) {
    Buffer x(DType::f32, {rows, 10}), weight(DType::f32, {10}), target(DType::i64, {rows});
    x.fill_random(rng, -3, 3);
    weight.fill_random(rng, 0.5, 2);
    for (i64 r = 0; r < rows; ++r) target.set_raw<i64>(r, draw(rng, 0, 9));
    const auto forward = [&](Reduction reduction) {
      Attrs attrs;
      attrs.a = static_cast<i64>(reduction);
      attrs.b = -100;
      return on_device({structured_op<CrossEntropy>, {&x, &target, &weight}, attrs});
    };
    std::vector<Buffer> each = forward(Reduction::none);
    const double total = on_device({structured_op<Sum>, {&each[0]}, over({0})})[0].real(0);
    std::vector<Buffer> sum = forward(Reduction::sum), mean = forward(Reduction::mean);
    EXPECT_EQ(sum[0].real(0), total) << rows;
    EXPECT_EQ(mean[2].real(0), each[2].real(0)) << rows;
    EXPECT_EQ(mean[0].real(0),
              static_cast<double>(static_cast<float>(total) / static_cast<float>(mean[2].real(0))))
        << rows;
  }
}

TEST(CudaRowops, ATargetThatIsNoClassIsReported) {
  for (i64 wrong : {5ll, -1ll}) {
    Buffer x = buffer_of({3, 5}, Values(15, 1.0)), target(DType::i64, {3});
    for (i64 r = 0; r < 3; ++r) target.set_raw<i64>(r, r == 1 ? wrong : r);
    Attrs attrs;
    attrs.a = static_cast<i64>(Reduction::none);
    attrs.b = -100;
    std::vector<Buffer> y = on_device({structured_op<CrossEntropy>, {&x, &target, nullptr}, attrs});
    try {
      cuda::check_fault(0);
      FAIL() << "no fault for target " << wrong;
    } catch (const IndexError& e) {
      const std::string sentence =
          "cross_entropy: index " + std::to_string(wrong) + " is out of range for 5 classes";
      EXPECT_NE(std::string(e.what()).find(sentence), std::string::npos) << e.what();
    }
    EXPECT_NEAR(y[0].real(0), std::log(5.0), 1e-6);
    EXPECT_EQ(y[0].real(1), 0);
    EXPECT_EQ(y[2].real(0), 2);
  }
  cuda::check_fault(0);
}

}  // namespace
}  // namespace ingot::testing
