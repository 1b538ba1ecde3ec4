// Indices out of range that a GPU finds: which ops refuse negative ones, and where the error comes.
#include <ingot/compiler/compile.h>
#include <ingot/runtime/config.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;

class FaultsGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
  }
};

TEST_F(FaultsGpu, NegativeIndicesCountFromTheEndOnlyInPythonsIndexing) {
  using F = Tensor (*)(const Tensor&, const Tensor&, const Tensor&);
  using T = const Tensor&;
  struct Case {
    const char* start;  // "": the index counts from the end
    F f;
  };
  const Case cases[] = {
      {"embedding: index -1 is", [](T x, T i, T) { return embedding(x, i); }},
      {"index_select: index -1 is", [](T x, T i, T) { return index_select(x, 0, i); }},
      {"gather: index -1 is", [](T x, T, T pair) { return gather(x, 0, pair); }},
      {"scatter_add: index -1 is",
       [](T x, T, T pair) { return scatter_add(x, 0, pair, ones_like(x[{Slice(0, 2)}])); }},
      {"index_add: index -1 is",
       [](T x, T i, T) { return index_add(x, 0, i, ones_like(x[{Slice(0, 2)}])); }},
      {"one_hot: index -1 is", [](T, T i, T) { return one_hot(i, 3); }},
      {"cross_entropy: index -1 is",
       [](T x, T i, T) { return cross_entropy(x[{Slice(0, 2)}], i); }},
      {"", [](T x, T i, T) { return x[i] + 0.0; }},
  };
  const Tensor table = iota({3, 2}).to(kCUDA);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.start);
    const std::string start = c.start;
    const auto f = compile(c.f);
    for (const i64 last : {1, 1, 1, 1, -1, 1}) {  // recorded, run, made a graph, launched
      const Tensor index = tensor({0.0, static_cast<double>(last)}, {kInt64, kCUDA});
      const Tensor column = index.view({2, 1}).expand({2, 2}).contiguous();
      for (const bool compiled : {false, true}) {
        const std::string error = error_of(
            [&] { (void)(compiled ? f(table, index, column) : c.f(table, index, column)).cpu(); });
        if (last >= 0 || start.empty()) {
          EXPECT_EQ(error, "");
        } else {
          EXPECT_TRUE(error.starts_with(start)) << error;
          EXPECT_TRUE(contains(error, "; at faults_gpu_test.cpp:"));
        }
      }
    }
  }
}

}  // namespace
}  // namespace ingot
